#!/bin/bash
# A flock belongs to the open file: it ends with the last descriptor, through dup and fork, or with LOCK_UN on any of them.
. "$(dirname "$0")/lib.sh"
mount_fs

lock=$MNT/custom/x
started() {
	rm -f "$T"/mark*
	"$SYS" "$@" &
	pid=$!
	wait_until '[ -e "$T/mark1" ]'
}

# A copy keeps it when the original is closed.
started open "$lock" rdonly,creat + flock ex + dup + mark "$T/mark1" + await "$T/mark2" + close + mark "$T/mark3" + pause
expect_errno EAGAIN open "$lock" rdonly,creat + flock ex,nb
touch "$T/mark2"
wait_until '[ -e "$T/mark3" ]'
expect_errno EAGAIN open "$lock" rdonly,creat + flock ex,nb
kill -TERM $pid
wait $pid 2>/dev/null || true
wait_until '[ ! -e "$lock" ]'

# A child keeps it when its parent is gone.
started open "$lock" rdonly,creat + flock ex + leave + mark "$T/mark1" + await "$T/mark2" + close + mark "$T/mark3" + \
	await "$T/end"
expect_ok wait $pid
expect_errno EAGAIN open "$lock" rdonly,creat + flock ex,nb
touch "$T/mark2"
wait_until '[ -e "$T/mark3" ]'
wait_until '[ ! -e "$lock" ]'
touch "$T/end"

# LOCK_UN in the child is LOCK_UN for the parent as well, and the open file can take the lock again.
started open "$lock" rdonly,creat + flock ex + fork + flock un + mark "$T/mark1" + await "$T/mark2" + flock ex + \
	mark "$T/mark3" + pause
[ ! -e "$lock" ] || fail "held after LOCK_UN"
expect_ok "$SYS" open "$lock" rdonly,creat + flock ex,nb
touch "$T/mark2"
wait_until '[ -e "$T/mark3" ]'
expect_errno EAGAIN open "$lock" rdonly,creat + flock ex,nb
child=$(pgrep -P $pid)
kill -KILL "$child"
wait $pid || true
wait_until '[ ! -e "$lock" ]'

# Taking it twice through one open file is taking it once; through two, they are strangers.
expect_ok "$SYS" open "$lock" rdonly,creat + flock ex + flock ex + flock ex,nb + flock un + flock un
[ ! -e "$lock" ] || fail "held after LOCK_UN"
expect_errno EAGAIN open "$lock" rdonly,creat + flock ex + open "$lock" rdonly + flock ex,nb
# Conversion to shared is refused and leaves what is held.
started open "$lock" rdonly,creat + flock ex + mark "$T/mark1" + await "$T/mark2" + flock sh
expect_errno EAGAIN open "$lock" rdonly,creat + flock ex,nb
touch "$T/mark2"
! wait $pid || fail "LOCK_SH was granted"
wait_until '[ ! -e "$lock" ]'
