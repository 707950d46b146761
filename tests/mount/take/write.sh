#!/bin/bash
# What is written to a lock: the user's keys, notes, lease, limits, and lines that are refused.
# timeout: 360
. tests/mount/lib.sh

# `>` replaces the user's keys and `>>` merges them; fixed keys come first and user keys in the order they were made.
keys() {
	mount_fs

	lock=$MNT/custom/x
	own() { sed '1,/^waiters=/d' "$lock"; }
	expect_ok touch "$lock"
	token=$(field "$lock" token)
	printf 'b=1\na=2\n' >>"$lock"
	expect_equal "$(own)" $'b=1\na=2'
	printf 'c=3\nb=9\n' >>"$lock"
	expect_equal "$(own)" $'b=9\na=2\nc=3'
	echo reason=upgrade >"$lock"
	expect_equal "$(own)" reason=upgrade
	printf 'x=1\n' >"$lock"
	expect_equal "$(own)" x=1 'the second > in a row'
	{ echo y=1; echo z=2; } >"$lock"
	expect_equal "$(own)" $'y=1\nz=2' 'two writes of one >'
	printf 'url=https://example.org/?a=b&c=d\npull=7\n' >>"$lock"
	expect_equal "$(own)" $'y=1\nz=2\nurl=https://example.org/?a=b&c=d\npull=7'

	# A token in the address is not kept.
	echo 'url=https://bot:token@example.org/?a=b&c=d' >>"$lock"
	expect_equal "$(own)" $'y=1\nz=2\nurl=https://example.org/?a=b&c=d\npull=7'
	setfattr -n user.url -v 'https://bot:token@example.org/x' "$lock"
	expect_equal "$(field "$lock" url)" 'https://example.org/x'
	echo 'url=bot:token@example.org:acme/infra.git' >>"$lock"
	expect_equal "$(field "$lock" url)" 'example.org:acme/infra.git'
	setfattr -n user.url -v 'bot:token@example.org:acme/infra.git' "$lock"
	expect_equal "$(field "$lock" url)" 'example.org:acme/infra.git'
	echo 'url=git@example.org:acme/infra.git' >>"$lock"
	expect_equal "$(field "$lock" url)" 'git@example.org:acme/infra.git' 'a user without a password'
	setfattr -n user.url -v 'https://example.org/?a=b&c=d' "$lock"
	printf 'y=\n' >>"$lock"
	expect_equal "$(field "$lock" y)" ''
	expect_equal "$(cut -d= -f1 "$lock" | head -n 20 | tr '\n' ' ')" 'id state type repo dir workspace project owner who uid host pid priority token version acquired_at renewed_at expires_at ttl waiters '
	expect_equal "$(field "$lock" token)" "$token"

	# An empty write and an empty line are nothing; truncating alone loses nothing.
	before=$(own)
	: >>"$lock"
	: >"$lock"
	truncate -s 0 "$lock"
	echo >>"$lock"
	expect_equal "$(own)" "$before"
	expect_errno EINVAL truncate "$lock" 5

	# A line may come in pieces; the last one needs no newline.
	{ printf 'when='; printf 'to'; printf 'day'; } >>"$lock"
	expect_equal "$(field "$lock" when)" today
	{ printf 'k1=a\nk2='; printf 'b\n'; printf 'k3=c'; } >>"$lock"
	expect_equal "$(field "$lock" k1),$(field "$lock" k2),$(field "$lock" k3)" a,b,c
	printf 'last=1' >>"$lock"
	expect_equal "$(field "$lock" last)" 1

	# Offsets mean nothing: this is text that is said, not a file that is filled.
	expect_ok "$SYS" open "$lock" wronly + pwrite $'far=1\n' 100000
	expect_equal "$(field "$lock" far)" 1
	expect_ok "$SYS" open "$lock" rdwr + write $'far=2\n' + lseek 0 + read >"$T/read"
	grep -qx far=2 "$T/read" || fail "$(cat "$T/read")"

	# Tools that write.
	echo tee=1 | tee -a "$lock" >"$T/out"
	expect_equal "$(field "$lock" tee)" 1
	printf 'dd=1\n' | dd of="$lock" conv=notrunc status=none
	expect_equal "$(field "$lock" dd)" 1
}

# Text without '=' is kept as a note: `echo $$ > lock`, the oldest idiom there is, works, also with noclobber.
note() {
	mount_fs

	lock=$MNT/custom/x
	echo $$ >"$lock"
	expect_equal "$(field "$lock" note)" $$
	echo another >"$lock"
	expect_equal "$(field "$lock" note)" another
	expect_ok "$SYS" open "$lock" wronly,trunc + write $'two\nlines\n'
	expect_equal "$(field "$lock" note)" 'two; lines'
	echo 'note=with = in it' >>"$lock"
	expect_equal "$(field "$lock" note)" 'with = in it'
	expect_ok rm "$lock"

	# The lock is held by the open, whatever becomes of the text.
	expect_ok bash -c 'set -C; echo mine > "$1"' sh "$lock"
	expect_equal "$(field "$lock" note)" mine
	expect_fail 'cannot overwrite existing file' bash -c 'set -C; echo again > "$1"' sh "$lock"
	expect_fail 'cannot overwrite existing file' in_session bash -c 'set -C; echo other > "$1"' sh "$lock"
	expect_equal "$(field "$lock" note)" mine
	expect_ok rm "$lock"
	expect_fail 'Invalid argument' bash -c 'set -C; echo "bad key=1" > "$1"' sh "$lock"
	expect_equal "$(field "$lock" state)" acquired
	expect_fail 'Device or resource busy' in_session touch "$lock"
}

# ttl= sets the lease from now, renew= adds to the expiry, priority=, reason= and what else is understood.
lease() {
	mount_fs

	lock=$MNT/custom/x
	left() { echo $(($(date -d "$(field "$lock" expires_at)" +%s) - $(date +%s))); }
	near() { [ "$1" -ge $(($2 - 5 * TIME_FACTOR)) ] && [ "$1" -le $(($2 + 1)) ] || fail "$1 s left instead of $2"; }
	echo ttl=90m >"$lock"
	expect_equal "$(field "$lock" ttl)" 90m
	near "$(left)" 5400
	was=$(date -d "$(field "$lock" expires_at)" +%s%3N)
	echo renew=60s >>"$lock"
	expect_equal "$(($(date -d "$(field "$lock" expires_at)" +%s%3N) - was))" 60000 'renew= adds to the expiry exactly'
	expect_equal "$(field "$lock" ttl)" 91m
	touch "$lock"
	near "$(left)" 5460
	echo ttl=10s >>"$lock"
	near "$(left)" 10
	echo ttl=2h >>"$lock"
	expect_fail 'Invalid argument' bash -c 'echo renew=1h >> "$1"' sh "$lock"
	near "$(left)" 7200
	printf 'priority=high\nreason=db migration\nttl=5m\n' >>"$lock"
	expect_equal "$(field "$lock" priority),$(field "$lock" reason),$(field "$lock" ttl)" 'high,db migration,5m'
	! grep -qx 'renew=.*' "$lock" || fail "renew= was kept as a key"
	expect_equal "$(grep -c '^ttl=' "$lock")" 1

	# A lease that is too long is refused with the number of its line.
	printf 'reason=x\nttl=99d\n' >"$T/long"
	expect_fail 'Invalid argument' dd if="$T/long" of="$lock" oflag=append conv=notrunc status=none
	grep -q 'line 2: .*max_ttl' "$MNT/why" || fail "why says: $(cat "$MNT/why")"

	# An administrator may ask for no end at all; the next renewal keeps it.
	if [ "$(id -u)" -eq 0 ]; then
		echo ttl=never >>"$lock"
		expect_equal "$(field "$lock" ttl)" never
		touch "$lock"
		expect_equal "$(field "$lock" expires_at)" never
		expect_ok as_user atlt1 touch "$MNT/custom/y"
		expect_fail 'Invalid argument' as_user atlt1 bash -c 'echo ttl=never >> "$1"' sh "$MNT/custom/y"
	fi
}

# At most 64 keys and 16 KiB of one's own; up to that, writes of any size and in any pieces arrive whole.
limits() {
	mount_fs

	lock=$MNT/custom/x
	own() { sed '1,/^waiters=/d' "$lock"; }
	expect_ok touch "$lock"

	for i in $(seq 64); do echo "key$i=value$i"; done >"$T/64"
	cat "$T/64" >"$lock"
	expect_equal "$(own)" "$(cat "$T/64")"
	expect_fail 'Disk quota exceeded' bash -c 'echo key65=1 >> "$1"' sh "$lock"
	grep -q 64 "$MNT/why" || fail "$(cat "$MNT/why")"
	expect_equal "$(own)" "$(cat "$T/64")" 'a key too many'
	echo key64=other >>"$lock"
	expect_equal "$(field "$lock" key64)" other 'a key that is there may change'

	# Sixteen keys of a thousand bytes, in one write(2), by cat, by dd in small and odd blocks, and by stdio.
	for i in $(seq 16); do printf 'big%d=%0995d\n' "$i" "$i"; done >"$T/big"
	[ "$(stat -c %s "$T/big")" -le 16384 ] || fail "bad test"
	for how in '"$SYS" open "$1" wronly,trunc + writefile "$2"' 'cat "$2" >"$1"' 'dd if="$2" of="$1" bs=512 status=none' \
		'dd if="$2" of="$1" bs=777 status=none' 'dd if="$2" of="$1" bs=4096 status=none' 'sed "" "$2" >"$1"' \
		'awk 1 "$2" >"$1"' 'while read -r l; do echo "$l"; done <"$2" >"$1"' 'cp "$2" "$1"'; do
		echo x=1 >"$lock"
		SYS=$SYS expect_ok bash -c "$how" sh "$lock" "$T/big"
		expect_equal "$(own | md5sum)" "$(md5sum <"$T/big")" "$how"
	done
	expect_equal "$(cat "$lock" | wc -c)" "$(stat -c %s "$lock")"

	# One byte too many changes nothing.
	expect_fail 'Disk quota exceeded' bash -c 'printf "more=%0500d\n" 1 >> "$1"' sh "$lock"
	expect_equal "$(own | md5sum)" "$(md5sum <"$T/big")"
	head -c 100000 /dev/zero | tr '\0' x >"$T/huge"
	expect_errno EDQUOT open "$lock" wronly,append + writefile "$T/huge"
	expect_fail 'Disk quota exceeded' sh -c 'cat "$2" > "$1"' sh "$lock" "$T/huge"
	expect_equal "$(own | md5sum)" "$(md5sum <"$T/big")"
	head -c 4000000 /dev/urandom >"$T/noise"
	expect_fail '' sh -c 'cat "$2" > "$1"' sh "$lock" "$T/noise"
	expect_equal "$(own | md5sum)" "$(md5sum <"$T/big")" 'random bytes'
	expect_equal "$(field "$lock" state)" acquired

	# A block without its newline may have been cut: it is taken at the close, or just after it where nobody said to write.
	block=$(printf 'whole=%04090d' 7)
	expect_equal ${#block} 4096
	expect_ok "$SYS" open "$lock" wronly,trunc + write "$block"
	expect_equal "$(field "$lock" whole)" "${block#whole=}"
	expect_errno EINVAL open "$lock" wronly,append + write "bad key=$(printf '%04088d' 7)" + close
	expect_ok "$SYS" open "$MNT/custom/y" wronly,creat,excl + write "$block"
	wait_until '[ "$(field "$MNT/custom/y" whole)" = "${block#whole=}" ]'
	expect_ok "$SYS" open "$MNT/custom/z" wronly,creat,excl + write "bad key=$(printf '%04088d' 7)" + close
	wait_until 'grep -q "^INVALID_REQUEST: line 1" "$MNT/why"'
	expect_equal "$(field "$MNT/custom/z" state)" acquired
}

# A bad line fails the whole write with EINVAL and changes nothing; why names the line; the lock stays held.
bad_line() {
	mount_fs

	lock=$MNT/repos/acme/infra/-/modules/vpc/-/production
	expect_ok touch "$lock"
	echo color=red >>"$lock"
	before=$(cat "$lock")
	refused() {
		local text=$1 line=$2
		for how in trunc append; do
			expect_errno EINVAL open "$lock" wronly,creat,$how + write "$text"
			expect_equal "$(cat "$lock")" "$before" "after $text"
			grep -q "^INVALID_REQUEST: line $line[: ]" "$MNT/why" || fail "$text: $(cat "$MNT/why")"
		done
	}
	refused $'ok=1\nbad key=2\n' 2
	refused $'ok=1\nok2=1\n=nothing\n' 3
	refused $'9lives=1\n' 1
	refused $'a=1\nb=\x01\n' 2
	refused $'a=1\nnote with \x1b[31m escape\n' 2
	refused $'token=5\n' 1
	refused $'a=1\nb=2\nid=x\n' 3
	refused $'ttl=soon\n' 1
	refused $'ttl=-5m\n' 1
	refused $'ttl=0\n' 1
	refused $'ttl=99999999999h\n' 1
	refused $'x=1\nrenew=never\n' 2
	refused $'priority=urgent\n' 1
	refused $'pull=abc\n' 1
	refused $'a=b\nwho=\n' 2
	refused $'owner=\n' 1
	refused "$(printf 'k%.0s' $(seq 65))=1" 1

	# Not one line, but the request as a whole.
	for text in $'ttl=10m\nrenew=1m\n' ttl=3h renew=3h; do
		expect_errno EINVAL open "$lock" wronly,append + write $'a=1\n'"$text"
		expect_equal "$(cat "$lock")" "$before" "after $text"
		grep -q '^INVALID_REQUEST: ' "$MNT/why" || fail "$(cat "$MNT/why")"
	done

	expect_fail 'Invalid argument' bash -c 'echo ttl=3h >> "$1"' sh "$lock"
	expect_equal "$(cat "$lock")" "$before"

	# Each write call stands alone: those before the bad one stay.
	expect_fail 'Invalid argument' bash -c '{ echo good=1 && echo "bad key=1"; } >> "$1"' sh "$lock"
	expect_equal "$(field "$lock" good)" 1
	expect_equal "$(field "$lock" state)" acquired
	expect_ok touch "$lock"
}

# An open file speaks of the lock it was opened for: after that has ended, ESTALE; after it was given away, EPERM or EACCES.
stale_handle() {
	needs_root
	mount_fs

	lock=$MNT/custom/x
	exec {stale}>>"$lock"
	expect_ok rm "$lock"
	expect_fail 'Stale file handle' bash -c 'echo a=1 >&'"$stale"
	grep -q '^LOCK_EXPIRED: ' "$MNT/why" || fail "$(cat "$MNT/why")"
	! [ -e "$lock" ] || fail "the write took it again"

	# A later lock of the same name, even of the same holder, is not touched through the old file.
	expect_ok touch "$lock"
	before=$(cat "$lock")
	expect_fail 'Stale file handle' bash -c 'echo a=1 >&'"$stale"
	expect_equal "$(cat "$lock")" "$before"
	exec {stale}>&-
	expect_errno ESTALE open "$lock" rdonly + read + unlink "$lock" + lseek 0 + read
	expect_errno ESTALE open "$lock" rdwr,creat + unlink "$lock" + read
	expect_errno ESTALE open "$lock" rdwr,creat + unlink "$lock" + ftruncate 0
	# The kernel does not say which open file a time is set through.
	expect_errno ENOENT open "$lock" rdwr,creat + unlink "$lock" + futimens now now

	# Given to another who of the same user, and to another user.
	exec {mine}>>"$lock"
	echo who=build-17 >>"$lock"
	expect_fail 'Operation not permitted' bash -c 'echo a=1 >&'"$mine"
	chown atlt1 "$lock@build-17"
	expect_fail 'Permission denied' bash -c 'echo a=1 >&'"$mine"
	! grep -q '^a=' "$lock" || fail "written"
	exec {mine}>&-
}

behaviours keys note lease limits bad_line stale_handle
