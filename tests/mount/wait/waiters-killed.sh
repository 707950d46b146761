#!/bin/bash
# timeout: 240
# A thousand waiters that are killed at once have all left the queue soon, and the lock goes to none of them.
. tests/mount/lib.sh
mount_fs -o max_queue=100000,queue_timeout=1h

count=${ROUNDS:-1000}
lock=$MNT/custom/x
expect_ok touch "$lock@holder"
"${SYS%/*}/waiters" "$MNT/wait/custom/x" "$lock" "$count" >"$T/served" &
waiters=$!
wait_until '[ "$(field "$lock" waiters)" -eq $count ]' 60
expect_ok touch "$MNT/queue/custom/x/low@patient"
kill -KILL $waiters
wait $waiters 2>/dev/null || true
wait_until '[ "$(field "$lock" waiters)" -eq 1 ]' 20
expect_ok rm "$lock@holder"
expect_equal "$(field "$lock" who)" patient
[ ! -s "$T/served" ] || fail "served: $(cat "$T/served")"
