#!/bin/bash
# root
# `flock <lock> command` waits for the lock, runs the command while it is held, and releases it.
. tests/mount/lib.sh
mount_fs

lock=$MNT/repos/acme/infra/-/modules/vpc/-/production
expect_equal "$(flock "$lock" cat "$lock" | sed -n 's/^state=//p')" acquired
# The kernel tells of the last close in the background.
wait_until '[ ! -e "$lock" ]' 2
status=0
flock "$lock" bash -c 'exit 7' || status=$?
expect_equal $status 7
wait_until '[ ! -e "$lock" ]' 2

# What it holds looks like any other lock, without an end of its own.
flock "$lock" cat "$lock" >"$T/text"
wait_until '[ ! -e "$lock" ]' 2
expect_equal "$(field "$T/text" owner)" root
expect_equal "$(field "$T/text" ttl)" never
grep -q '^who=flock:' "$T/text" || fail "who is $(field "$T/text" who)"

# It waits its turn, also behind others' priorities.
expect_ok touch "$lock@holder"
expect_ok touch "$MNT/queue/repos/acme/infra/-/modules/vpc/-/production/high@first"
flock "$lock" touch "$T/ran" &
waiter=$!
wait_until '[ "$(field "$lock" waiters)" -eq 2 ]'
expect_ok rm "$lock@holder"
expect_equal "$(field "$lock" who)" first
[ ! -e "$T/ran" ] || fail "ran without the lock"
expect_ok rm "$lock@first"
expect_ok wait $waiter
[ -e "$T/ran" ] || fail "did not run"
wait_until '[ ! -e "$lock" ]'

# -n does not wait, -w not for long, -E says so.
expect_ok touch "$lock@holder"
status=0
flock -n -E 42 "$lock" true || status=$?
expect_equal $status 42
status=0
flock -w 0.2 -E 43 "$lock" true || status=$?
expect_equal $status 43
expect_equal "$(field "$lock" waiters)" 0
expect_ok rm "$lock@holder"
expect_ok flock -n "$lock" true

# Shared locks are refused, not granted as something else.
expect_fail 'not supported' flock -s "$lock" true
expect_errno EOPNOTSUPP open "$lock" rdonly,creat + flock sh
