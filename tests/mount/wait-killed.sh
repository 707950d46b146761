#!/bin/bash
# A waiter that gets SIGTERM, SIGINT or SIGKILL is gone at once, has left the queue, and never gets the lock.
. "$(dirname "$0")/lib.sh"
mount_fs

expect_ok touch "$MNT/custom/x@holder"
expect_ok touch "$MNT/queue/custom/x/low@patient"
for signal in TERM KILL HUP USR1; do
	for how in read write flock; do
		case $how in
		read) cat "$MNT/wait/custom/x@victim" >/dev/null & ;;
		write) bash -c 'echo priority=high >"$1"' - "$MNT/wait/custom/x@victim" & ;;
		flock) flock "$MNT/custom/x" true & ;;
		esac
		victim=$!
		wait_until '[ "$(field "$MNT/custom/x" waiters)" -eq 2 ]'
		kill -$signal $victim
		wait_until "! kill -0 $victim 2>/dev/null" 2
		wait_until '[ "$(field "$MNT/custom/x" waiters)" -eq 1 ]' 2
		! wait $victim 2>/dev/null || fail "$how ended well after SIG$signal"
	done
done
expect_ok rm "$MNT/custom/x@holder"
expect_equal "$(field "$MNT/custom/x" who)" patient
