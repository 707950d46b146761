#!/bin/bash
# A lease that ends while another lock is waited for: the command does not run.
. "$(dirname "$0")/lib.sh"
mount_fs

expect_ok touch "$MNT/custom/b@other"
"$ATLOCK" run -m "$MNT" -l custom/a -l custom/b -w 5m -t 1s -- touch "$T/ran" 2>"$T/err" &
run=$!
wait_until '[ -e "$MNT/custom/a" ]'
wait_until '[ ! -e "$MNT/custom/a" ]' 30
expect_ok rm "$MNT/custom/b@other"
status=0
wait "$run" || status=$?
expect_equal "$status" 75 "$(cat "$T/err")"
grep -q 'custom/a@.* was lost while others were waited for: its lease ended' "$T/err" || fail "$(cat "$T/err")"
[ ! -e "$T/ran" ] || fail 'it ran without the lock'
[ ! -e "$MNT/custom/b" ] || fail 'the other one is still held'

# And one that is renewed in time runs.
expect_ok "$ATLOCK" run -m "$MNT" -l custom/a -l custom/b -w 5m -t 1m -- true
