#!/bin/bash
# fcntl, lockf and OFD locks and LOCK_SH are refused with a clear errno, never silently granted.
. "$(dirname "$0")/lib.sh"
mount_fs

lock=$MNT/custom/x
refused() {
	local flags=$1 steps
	shift
	for steps; do
		# shellcheck disable=SC2086 # a step and its arguments
		expect_errno EOPNOTSUPP open "$lock" "$flags" + $steps
		grep -q '^INVALID_REQUEST: ' "$MNT/why" || fail "$steps: $(cat "$MNT/why")"
	done
}
refused rdonly,creat 'fcntl rd' 'fcntl rd setlkw' 'fcntl rd ofd' 'fcntl rd getlk' 'flock sh' 'flock sh,nb'
! [ -e "$lock" ] || fail "taken"
expect_ok touch "$lock"
refused rdwr 'fcntl wr' 'fcntl rd' 'fcntl wr setlkw' 'fcntl wr ofd' 'fcntl wr getlk' 'flock sh' 'flock sh,nb'
grep -q LOCK_EX "$MNT/why" || fail "$(cat "$MNT/why")"
expect_fail 'not supported' flock -s "$lock" true
expect_fail 'not supported' flock -s -n "$MNT/custom/free" true
! [ -e "$MNT/custom/free" ] || fail "taken"
for file in "$MNT/README" "$MNT/locks.jsonl" "$MNT/wait/custom/x"; do
	expect_fail '' flock -n "$file" true
done
