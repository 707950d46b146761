#!/bin/bash
# `>` replaces the user's keys and `>>` merges them; fixed keys come first and user keys in the order they were made.
. "$(dirname "$0")/lib.sh"
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
