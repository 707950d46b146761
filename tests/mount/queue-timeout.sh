#!/bin/bash
# Nobody waits longer than queue_timeout, or than asked: a blocked call gets ETIMEDOUT, a ticket is gone.
. "$(dirname "$0")/lib.sh"
mount_fs -o queue_timeout=1s

expect_ok touch "$MNT/custom/x@holder"
expect_ok touch "$MNT/queue/custom/x/normal@ticket"
cat "$MNT/wait/custom/x@reader" >"$T/out" 2>"$T/err" &
reader=$!
expect_fail 'timed out' flock "$MNT/custom/x" true
status=0
wait $reader || status=$?
[ $status -ne 0 ] || fail "got the lock"
grep -q 'timed out' "$T/err" || fail "$(cat "$T/err")"
wait_until '[ -z "$(ls "$MNT/queue/custom/x")" ]'

# The loop of README ends, too, and then the lock is not its own.
expect_ok touch "$MNT/queue/custom/x/high@loop"
[ -e "$MNT/queue/custom/x/high@loop" ] || fail 'it does not wait'
wait_until '! test -e "$MNT/queue/custom/x/high@loop"'
! test -e "$MNT/custom/x@loop" || fail 'timed out, and has the lock'

# Its own request may say less or more.
start=$EPOCHSECONDS
expect_fail 'timed out' bash -c 'echo timeout=3s >"$1"' - "$MNT/wait/custom/x@writer"
grep -q TIMEOUT "$MNT/why" || fail "why says: $(cat "$MNT/why")"
[ $((EPOCHSECONDS - start)) -ge 2 ] || fail "did not wait as long as asked"
expect_equal "$(field "$MNT/custom/x" who)" holder
expect_equal "$(ls "$MNT/queue/custom/x")" ''
