#!/bin/bash
# kill -9 of what holds a flock frees the lock, and the next in the queue has it.
. "$(dirname "$0")/lib.sh"
mount_fs

lock=$MNT/custom/x
"$SYS" open "$lock" rdonly,creat + flock ex + mark "$T/held" + pause &
holder=$!
wait_until '[ -e "$T/held" ]'
cat "$MNT/wait/custom/x@next" >"$T/out" &
waiter=$!
wait_until '[ "$(field "$lock" waiters)" -eq 1 ]'
kill -KILL $holder
wait $holder 2>/dev/null || true
expect_ok wait $waiter
expect_equal "$(field "$T/out" who)" next

# And from one flock to another.
flock "$lock" true &
waiter=$!
wait_until '[ "$(field "$lock" waiters)" -eq 1 ]'
expect_ok rm "$lock@next"
expect_ok wait $waiter
wait_until '[ ! -e "$lock" ]'

# The lock can be taken away from it like any other; what it held then is another's.
"$SYS" open "$lock" rdonly,creat + flock ex + mark "$T/again" + pause &
holder=$!
wait_until '[ -e "$T/again" ]'
expect_fail 'Operation not permitted' rm "$lock"
expect_ok rm "$lock@$(field "$lock" who)"
expect_ok touch "$lock@next"
kill -KILL $holder
wait $holder 2>/dev/null || true
expect_ok touch -c "$lock@next"
expect_equal "$(field "$lock" who)" next
