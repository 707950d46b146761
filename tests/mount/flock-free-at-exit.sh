#!/bin/bash
# The lock is free when the process that held it by flock(2) has been waited for, or has closed the file: whoever comes next
# gets it.
. "$(dirname "$0")/lib.sh"
mount_fs -o sync=off

lock=$MNT/custom/x
for _ in $(seq "${ROUNDS:-300}"); do
	expect_ok flock -n "$lock" true
	expect_ok flock -n "$lock" true
	expect_ok touch "$lock"
	expect_ok rm "$lock"
	expect_ok "$SYS" open "$lock" rdonly,creat + flock ex,nb + close
	expect_ok "$SYS" open "$lock" rdonly,creat + flock ex,nb + close + open "$lock" wronly,creat,excl + unlink "$lock"
	expect_ok bash -c 'set -C; : > "$1"' sh "$lock"
	expect_ok rm "$lock"
	expect_ok flock -n "$lock" true
	! [ -e "$lock" ] || fail "still there"
done
