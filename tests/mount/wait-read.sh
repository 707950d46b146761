#!/bin/bash
# `cat wait/<lock>` returns when the lock is the caller's, and prints it: at once if it is free or his already.
. "$(dirname "$0")/lib.sh"
mount_fs

lock=$MNT/repos/acme/infra/-/modules/vpc/-/production
waits=$MNT/wait/repos/acme/infra/-/modules/vpc/-/production
cat "$waits@build-17" >"$T/free"
expect_equal "$(cat "$T/free")" "$(cat "$lock")"
expect_equal "$(field "$lock" who)" build-17
expect_equal "$(field "$lock" state)" acquired
expect_equal "$(field <(cat "$waits@build-17") token)" "$(field "$lock" token)"

cat "$waits@build-18" >"$T/waited" &
waiter=$!
wait_until '[ "$(field "$lock" waiters)" -eq 1 ]'
[ ! -s "$T/waited" ] || fail "printed before it had the lock"
expect_ok rm "$lock@build-17"
expect_ok wait $waiter
expect_equal "$(field "$T/waited" who)" build-18
expect_equal "$(field "$T/waited" state)" acquired
expect_equal "$(field "$lock" who)" build-18

# It is held after the reader has gone, and needs no taking up.
expect_fail 'busy' touch "$lock@build-19"
expect_ok rm "$lock@build-18"

# Without a name the session waits.
expect_ok touch "$lock@other"
cat "$waits" >"$T/session" &
waiter=$!
wait_until '[ "$(field "$lock" waiters)" -eq 1 ]'
expect_ok rm "$lock@other"
expect_ok wait $waiter
expect_ok touch "$lock"
expect_ok rm "$lock"

# Listing wait/ finds nothing to hang on, and touch does not pretend to wait.
expect_equal "$(find "$MNT/wait" -type f)" ''
expect_fail 'not permitted' touch "$waits@build-20"
expect_fail 'not permitted' touch -c "$waits@build-20"
[ ! -e "$lock" ] || fail "taken by looking"
