#!/bin/bash
# A lock that is granted to a ticket and not taken up within claim_timeout passes to the next, and at last to nobody.
. "$(dirname "$0")/lib.sh"
mount_fs -o claim_timeout=1s

lock=$MNT/custom/x
expect_ok touch "$lock@holder"
expect_ok touch "$MNT/queue/custom/x/high@asleep" "$MNT/queue/custom/x/normal@awake" "$MNT/queue/custom/x/low@gone"
token=$(field "$lock" token)
expect_ok rm "$lock@holder"
expect_equal "$(field "$lock" who)" asleep

# Looking does not take it up, and neither does anybody else.
expect_fail 'busy' touch "$lock@awake"
expect_ok ls -l "$lock"
wait_until '[ "$(field "$lock" who)" = awake ]'
expect_ok test -e "$lock@awake"
expect_fail 'No such file' cat "$lock@asleep"
[ "$(field "$lock" token)" -gt $((token + 1)) ] || fail "the token went back"

# What was taken up stays, until it is released.
expect_ok sleep 1.5
expect_equal "$(field "$lock" who)" awake
expect_equal "$(field "$lock" state)" acquired
expect_ok rm "$lock@awake"
expect_equal "$(field "$lock" who)" gone
wait_until '[ ! -e "$lock" ]'
