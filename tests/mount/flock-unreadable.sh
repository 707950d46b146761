#!/bin/bash
# root
# Who may not read a lock may wait for it with flock all the same, and reads nothing of it by that.
. "$(dirname "$0")/lib.sh"
mount_fs -o allow_other
lock=$MNT/custom/x
session_start holder
expect_ok session holder as_user atlt1 bash -c 'umask 077; echo secret=mine >"$1@build-17"' - "$lock"
expect_equal "$(stat -c %a "$lock")" 600

# Not to be had at once, and not to be read in any way.
expect_status 1 as_user atlt2 flock -n "$lock" true
expect_equal "$(cat "$T/err")" ''
expect_fail 'Permission denied' as_user atlt2 cat "$lock"
as_user atlt2 cat "$MNT/why" >"$T/why"
grep -qF 'its mode 600 does not let you' "$T/why" || fail "$(cat "$T/why")"
expect_fail 'Permission denied' as_user atlt2 cp "$lock" "$T/copy"
expect_fail 'EACCES' as_user atlt2 "$SYS" open "$lock" rdonly,creat + read
expect_fail 'EACCES' as_user atlt2 "$SYS" open "$lock" rdwr
expect_fail '' as_user atlt2 "$SYS" open "$lock" rdonly,trunc
expect_fail 'denied' as_user atlt2 getfattr -n user.secret "$lock"
! as_user atlt2 test -r "$lock" || fail 'access says that it can be read'
! grep -q secret "$T/copy" 2>/dev/null || fail 'copied'

# In the queue, and served.
as_user atlt2 flock "$lock" bash -c 'sed -n "s/^owner=//p" "$1" >"$2"' - "$lock" "$T/ran" &
waiter=$!
wait_until '[ "$(field "$lock" waiters)" = 1 ]'
expect_ok session holder as_user atlt1 rm "$lock@build-17"
expect_ok wait $waiter
expect_equal "$(cat "$T/ran")" atlt2

# A directory that cannot be searched still hides its locks from flock.
expect_ok as_user atlt1 mkdir -m 700 "$MNT/custom/closed"
expect_ok as_user atlt1 touch "$MNT/custom/closed/x@a"
expect_fail 'Permission denied' as_user atlt2 flock -n "$MNT/custom/closed/x" true
