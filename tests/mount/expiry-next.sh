#!/bin/bash
# When a lease runs out the next in the queue has the lock, with nobody calling: a blocked reader, then a ticket.
. "$(dirname "$0")/lib.sh"
mount_fs

lock=$MNT/custom/x
expect_ok touch "$lock@holder"
printf 'ttl=300ms\n' >"$MNT/wait/custom/x@writer" &
writer=$!
wait_until '[ "$(field "$lock" waiters)" -eq 1 ]'
expect_ok touch "$MNT/queue/custom/x/normal@ticket"
echo ttl=300ms >"$lock@holder"
expect_ok wait $writer
wait_until '[ "$(field "$lock" who)" = ticket ]' 2
expect_ok touch -c "$lock@ticket"
