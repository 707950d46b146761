#!/bin/bash
# How atlock finds the mount, and what it says about itself.
. tests/mount/lib.sh

# atlock tells what it can do, and what a mistyped word was meant to be. Each help fits a screen.
help() {
	expect_status 0 "$ATLOCK" --version
	grep -q '^atlock [0-9]' "$T/out" || fail "no version"
	expect_status 0 "$ATLOCK" --help
	cp "$T/out" "$T/help"
	expect_status 0 "$ATLOCK" help
	cmp -s "$T/out" "$T/help" || fail "help is not --help"
	expect_status 64 "$ATLOCK"
	cmp -s "$T/err" "$T/help" || fail "no help without words"

	fits() {
		[ "$(wc -L <"$1")" -le 80 ] || fail "$2 is too wide: $(cat "$1")"
		! grep -n ' $' "$1" || fail "$2 has blanks at the end of a line"
		[ "$(wc -l <"$1")" -le "$3" ] || fail "$2 does not fit a screen: $(cat "$1")"
	}
	fits "$T/help" help 24

	# Every command has its line in the long list, its place in the short one and in the manual, and a screen of its own.
	expect_status 0 "$ATLOCK" help --all
	[ "$(wc -L <"$T/out")" -le 80 ] || fail "$(cat "$T/out")"
	commands=$(sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p' "$T/out")
	[ "$(wc -w <<<"$commands")" -ge 2 ] || fail "no commands are listed"
	for command in $commands; do
		expect_equal "$(sed -n '/^  [a-zA-Z ]\{10\}  /p' "$T/help" | cut -c15- | tr ' ' '\n' | grep -cx -- "$command")" 1 "$command in help"
		grep -qE "^(\.It )?\.?Cm $command( |\$)|^\.It Cm $command( |\$)" docs/atlock.1 || fail "$command is not in atlock(1)"
		expect_status 0 "$ATLOCK" help "$command"
		grep -qE "^usage: atlock $command( |\$)" "$T/out" || fail "help $command does not begin with its usage"
		fits "$T/out" "help $command" 30
		grep -q "^Example: .*atlock $command\\b" <(tail -n 2 "$T/out") || fail "help $command does not end with an example"
		sed -n 's/^  -\([a-zA-Z]\), --\([a-z0-9.-]*\).*/\1 \2/p' "$T/out" >>"$T/letters"
		cp "$T/out" "$T/one"
		expect_status 0 "$ATLOCK" "$command" --help
		cmp -s "$T/out" "$T/one" || fail "$command --help is not help $command"
		expect_status 64 "$ATLOCK" "$command" --no-such-option
		expect_status 64 "$ATLOCK" "$command" -m
		[ -z "$(tr -d '[:print:][:space:]' <"$T/err")" ] || fail "colours without a terminal"
	done

	# A short option means the same in every command, but that -l is what people know from ls(1) there.
	expect_equal "$(sort -u "$T/letters" | grep -vx 'l long' | cut -c1 | uniq -d)" ''

	# Options: what was meant, what it may be, what it lacks.
	wrong() {
		local text=$1
		shift
		expect_status 64 "$ATLOCK" "$@"
		expect_equal "$(cat "$T/err")" "atlock $text"
	}
	wrong 'lock: there is no option "--wiat": did you mean "--wait"?' lock custom/x --wiat 3m
	wrong 'run: there is no option "--lokc": did you mean "--lock"?' run --lokc=custom/x -- true
	wrong 'lock: "--w" may be --wait or --who; try '"'atlock lock --help'" lock --w 3m custom/x
	wrong 'ls: there is no option "-json": did you mean "--json"?' ls -json
	wrong 'ls: there is no option "-J"; try '"'atlock ls --help'" ls -J
	wrong 'graph: there is no option "--frobnicate"; try '"'atlock graph --help'" graph --frobnicate
	wrong 'graph: --dot takes no value; try '"'atlock graph --help'" graph --dot=x
	wrong 'lock: --wait lacks its value; try '"'atlock lock --help'" lock --wait
	wrong 'lock: -w lacks its value; try '"'atlock lock --help'" lock -w
	wrong 'audit: there is no option "--lokc": did you mean "--lock"?' audit show --lokc custom/x
	wrong 'audit: --before is not for show; try '"'atlock audit --help'" audit show --before 2h
	wrong 'policy: there is no option "--fiel": did you mean "--file"?' policy test --fiel x a b c
	wrong 'help: there is no option "--lal": did you mean "--all"?' help --lal
	expect_status 64 "$ATLOCK" --versoin
	expect_equal "$(cat "$T/err")" 'atlock: there is no option "--versoin": did you mean "--version"?'
	expect_status 64 "$ATLOCK" help lock run

	expect_status 64 "$ATLOCK" sttaus
	expect_equal "$(cat "$T/err")" 'atlock: there is no command "sttaus": did you mean "status"?'
	expect_status 64 "$ATLOCK" help hlep
	expect_equal "$(cat "$T/err")" 'atlock: there is no command "hlep": did you mean "help"?'
	expect_status 64 "$ATLOCK" nope
	expect_equal "$(cat "$T/err")" "atlock: there is no command \"nope\"; try 'atlock help'"
	expect_status 64 "$ATLOCK" frobnicate
	expect_equal "$(cat "$T/err")" "atlock: there is no command \"frobnicate\"; try 'atlock help'"
	expect_status 74 sh -c 'exec "$1" --help > /dev/full' sh "$ATLOCK"
}

# atlock finds the mount: by -m before or after the command, by $ATLOCKFS, as the one it is called in,
# or as the only one there is; it never guesses.
mounts() {
	needs_root
	mount_fs

	expect_status 0 "$ATLOCK" -m "$MNT" status
	expect_equal "$(sed -n 's/^mount=//p' "$T/out")" "$MNT"
	grep -qx ok "$T/out" || fail "no health"
	expect_status 0 "$ATLOCK" status --mount "$MNT/."
	expect_status 0 env ATLOCKFS="$MNT" "$ATLOCK" status
	expect_status 0 env ATLOCKFS=/nonexistent "$ATLOCK" status -m "$MNT"
	expect_status 0 as_user atlt1 "$ATLOCK" status -m "$MNT"

	expect_status 69 env ATLOCKFS=/nonexistent "$ATLOCK" status
	expect_status 69 "$ATLOCK" -m "$T" status
	grep -qF "$T: no atlockfs is mounted there" "$T/err" || fail "$(cat "$T/err")"
	expect_status 69 "$ATLOCK" -m "$MNT/global" status

	# In a mount namespace of its own nothing else that runs here is seen.
	cat >"$T/alone" <<'END'
for other in $(awk '/ - fuse.atlockfs / { print $5 }' /proc/self/mountinfo); do
	[ "$other" = "$MNT" ] || umount -l "$other"
done
exec "$@"
END
	export MNT
	expect_status 0 unshare -m sh "$T/alone" "$ATLOCK" status
	expect_equal "$(sed -n 's/^mount=//p' "$T/out")" "$MNT"

	mkdir "$T/a space"
	expect_ok "$ATLOCKFS_BUILD/atlockfs" --store "$T/second" "$T/a space"
	expect_status 0 "$ATLOCK" -m "$T/a space" status
	expect_status 64 "$ATLOCK" status
	grep -qF "$T/a space" "$T/err" || fail "the second is not named: $(cat "$T/err")"
	grep -qF "choose one with -m" "$T/err" || fail "$(cat "$T/err")"
	# Of several it is the one that the caller is in; what was said counts more.
	for dir in "$T/a space" "$T/a space/custom" "$MNT" "$MNT/global"; do
		expect_status 0 env -C "$dir" "$ATLOCK" status
		mount=${dir%/custom}
		expect_equal "$(sed -n 's/^mount=//p' "$T/out")" "${mount%/global}"
	done
	expect_status 0 env -C "$T/a space" ATLOCKFS="$MNT" "$ATLOCK" status
	expect_equal "$(sed -n 's/^mount=//p' "$T/out")" "$MNT"
	expect_status 0 env -C "$T/a space" "$ATLOCK" status -m "$MNT"
	expect_equal "$(sed -n 's/^mount=//p' "$T/out")" "$MNT"
	mkdir "$T/a space2"
	expect_status 64 env -C "$T/a space2" "$ATLOCK" status
	fusermount3 -u "$T/a space"
	expect_status 69 unshare -m sh -c 'umount -l "$MNT" && exec sh "$@"' sh "$T/alone" "$ATLOCK" status
	grep -qF "no atlockfs is mounted here" "$T/err" || fail "$(cat "$T/err")"

	crash_daemon
	expect_status 69 "$ATLOCK" -m "$MNT" status
	grep -qF "the daemon is dead" "$T/err" || fail "$(cat "$T/err")"
	fusermount3 -uz "$MNT"
}

# In a chroot that has nothing but the program and the mount, no /proc and no /dev, atlock works with -m, with ATLOCKFS and from
# inside the mount.
chroot() {
	needs_root
	nm -D "$ATLOCK" | grep -E '__(asan|tsan)_init' >/dev/null && skip 'sanitizers need /proc'
	mount_fs

	root=$T/root
	mkdir -p "$root/locks" "$root/empty"
	cp "$ATLOCK" "$root/atlock"
	ldd "$ATLOCK" | grep -o '/[^ ]*' | while read -r library; do
		mkdir -p "$root${library%/*}"
		cp -L "$library" "$root$library"
	done
	# Runs atlock there, with the mount in /locks.
	inside() {
		unshare --mount --propagation private sh -c 'mount --bind "$1" "$2/locks"; shift; exec chroot "$@"' - "$MNT" "$root" /atlock "$@"
	}
	expect_status 0 inside -m /locks status
	expect_equal "$(head -n 2 "$T/out")" $'mount=/locks\nok'
	expect_status 0 inside -m /locks lock --who job custom/x
	expect_equal "$(field "$MNT/custom/x" who)" job
	expect_status 0 inside -m /locks ls
	grep -q '^custom/x	' "$T/out" || fail "$(cat "$T/out")"
	expect_status 1 inside -m /locks lock custom/x
	grep -q 'custom/x is held by root@job' "$T/err" || fail "$(cat "$T/err")"
	expect_status 0 env ATLOCKFS=/locks bash -c "$(declare -f inside); root=$root; inside unlock custom/x@job"
	expect_status 69 inside -m /empty status
	grep -q '/empty: no atlockfs is mounted there' "$T/err" || fail "$(cat "$T/err")"
	expect_status 69 inside -m /locks/custom status
	expect_status 69 inside status
	grep -q 'choose a mount with -m DIR' "$T/err" || fail "$(cat "$T/err")"

	# From inside the mount none need be named.
	expect_status 0 unshare --mount --propagation private sh -c 'mount --bind "$1" "$2/locks"
	exec python3 -c "import os, sys; os.chroot(sys.argv[1]); os.chdir(\"/locks/custom\"); os.execv(\"/atlock\", [\"atlock\", \"status\"])" "$2"' - \
		"$MNT" "$root"
	expect_equal "$(head -n 1 "$T/out")" mount=/locks

	# The daemon is gone.
	crash_daemon
	expect_status 69 inside -m /locks status
	grep -q 'the daemon is dead' "$T/err" || fail "$(cat "$T/err")"
	fusermount3 -uz "$MNT"
}

behaviours help mounts chroot
