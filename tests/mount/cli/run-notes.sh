#!/bin/bash
# What atlock run notes in its locks: a reason, keys, under which name; and what its command may note there itself.
# root
. tests/mount/lib.sh
mount_fs

lock=custom/x
run() {
	"$ATLOCK" run -m "$MNT" --lock $lock "$@"
}
reason() {
	expect_status 0 run "$@"
	field "$T/out" reason
}

# The reason, or else the command line. A secret in it is left out: of an option, of a variable, of a URL.
expect_equal "$(reason --reason 'release 4711' -- cat "$MNT/$lock")" 'release 4711'
expect_equal "$(reason -- cat "$MNT/$lock")" "cat $MNT/$lock"
expect_equal "$(reason -- sh -c 'cat "$0"' "$MNT/$lock" --password=hunter2 --api-token hunter3 PGPASSWORD=hunter4 \
	https://bob:hunter5@example.com/x -v)" \
	"sh -c cat \"\$0\" $MNT/$lock --password=*** --api-token *** PGPASSWORD=*** https://example.com/x -v"
expect_equal "$(reason -- sh -c 'cat "$0"' "$MNT/$lock" $'two\nowner=nobody\tlines')" \
	"sh -c cat \"\$0\" $MNT/$lock two\\x0aowner=nobody\\x09lines"
expect_status 0 run -- sh -c 'cat "$0"' "$MNT/$lock" "$(printf 'é%.0s' $(seq 500))"
bytes=$(field "$T/out" reason | iconv -f utf-8 -t utf-8 | wc -c)
[ "$bytes" -gt 690 ] && [ "$bytes" -le 701 ] || fail "$bytes bytes of a reason"
expect_status 64 run --reason $'two\nlines' -- true

# Keys of one's own.
expect_status 0 run --key build=17 --key 'url=https://bob:hunter2@example.com/17' -- cat "$MNT/$lock"
expect_equal "$(field "$T/out" build),$(field "$T/out" url)" 17,https://example.com/17
for bad in build =17 ttl=1h owner=root $'a=b\nc=d'; do
	expect_status 64 run --key "$bad" -- true
done
expect_status 0 "$ATLOCK" lock -m "$MNT" --key build=17 --who build-17 custom/y
expect_equal "$(field "$MNT/custom/y" build)" 17

# A name, with a lease; a lock that this name holds already stays held.
expect_status 0 run --who build-17 -- cat "$MNT/$lock"
expect_equal "$(field "$T/out" who),$(field "$T/out" ttl)" build-17,30m
[ ! -e "$MNT/$lock" ] || fail "left behind"
expect_status 0 run --lock custom/y --who build-17 -- true
[ -e "$MNT/custom/y" ] && [ ! -e "$MNT/$lock" ] || fail "released what it did not take, or left what it took"
expect_status 1 run --lock custom/y --who build-18 -- true
expect_ok touch "$MNT/custom/z@other"
expect_status 1 "$ATLOCK" lock -m "$MNT" --who build-17 custom/y custom/z
[ -e "$MNT/custom/y" ] || fail "released what it did not take"
expect_status 64 run --who '' -- true
expect_ok rm "$MNT/custom/y@build-17" "$MNT/custom/z@other"

# The command notes things by the plain name, also from a session of its own.
expect_status 0 run -- sh -c 'echo note=x >>"$ATLOCKFS/$ATLOCK_LOCK" && setsid -w sh -c "echo step=2 >>\"\$ATLOCKFS/\$ATLOCK_LOCK\"" &&
	cat "$ATLOCKFS/$ATLOCK_LOCK"'
expect_equal "$(field "$T/out" note),$(field "$T/out" step)" x,2
expect_equal "$(field "$T/out" who | cut -d: -f1)" pid

# It can do no more by that name: others who run below it are other holders, and none of them takes what is held.
cat >"$T/tries" <<'END2'
f=$ATLOCKFS/$ATLOCK_LOCK
for try in 'touch "$f"' ': >"$f"' 'touch -c "$f"' 'rm "$f"' '(set -C; : >"$f")'; do
	if eval "$try" 2>/dev/null; then echo "not refused: $try"; fi
done
[ -e "$f" ] && echo held
END2
expect_status 0 run -- setsid -w bash "$T/tries"
expect_equal "$(cat "$T/out")" held
# Nor can one that is not below it, or is another user.
run -- sh -c ': >"$0"; until [ -e "$1" ]; do sleep 0.02; done' "$T/started" "$T/end" &
holder=$!
wait_until '[ -e "$T/started" ]'
expect_fail 'busy' bash -c 'echo note=y >>"$1"' - "$MNT/$lock"
expect_fail 'ermission denied' as_user atlt1 bash -c 'echo note=y >>"$1"' - "$MNT/$lock"
touch "$T/end"
expect_ok wait $holder
expect_status 0 run -- setpriv --reuid=atlt1 --clear-groups sh -c 'echo note=y >>"$ATLOCKFS/$ATLOCK_LOCK" || cat "$ATLOCKFS/$ATLOCK_LOCK"'
expect_equal "$(field "$T/out" note)" ''
