#!/bin/bash
# A waiter that is stopped and continued waits on, and gets the lock.
. "$(dirname "$0")/lib.sh"
mount_fs

expect_ok touch "$MNT/custom/x@holder"
cat "$MNT/wait/custom/x@sleepy" >"$T/out" 2>"$T/err" &
waiter=$!
wait_until '[ "$(field "$MNT/custom/x" waiters)" -eq 1 ]'
kill -STOP $waiter
wait_until '[ "$(ps -o stat= -p $waiter | cut -c 1)" = T ]' 5
kill -CONT $waiter
wait_until '[ "$(ps -o stat= -p $waiter | cut -c 1)" != T ]' 5
wait_until '[ "$(field "$MNT/custom/x" waiters)" -eq 1 ]'
expect_ok rm "$MNT/custom/x@holder"
expect_ok wait $waiter
expect_equal "$(field "$T/out" who)" sleepy
