#!/bin/bash
# Apps are killed: what they said last goes stale and then counts as up; the right to stop that a killed one had ends with
# its lease, and not before.
. "$(dirname "$0")/lib.sh"
mount_fs -o status_ttl=2s,max_ttl=2s,default_ttl=2s

export db=$MNT/shared/db
mkdir "$db"
touch "$db"/apps/keeper

# An app says again and again that it is down, as one that is stopped by a supervisor would.
bash -c 'while :; do echo DOWN >"$db"/apps/b; sleep 0.2; done' &
b=$!
wait_until '[ "$(cat "$db"/apps/b 2>/dev/null)" = DOWN ]'
expect_ok touch "$db"/stop@keeper
kill -KILL "$b"
wait "$b" 2>/dev/null || true
expect_equal "$(cat "$db"/apps/b)" DOWN 'fresh yet'
expect_ok touch -c "$db"/stop@keeper
wait_until '[ "$(cat "$db"/apps/b)" = UNKNOWN ]'
! touch "$db"/stop@keeper 2>/dev/null || fail "renewed or taken while b is unknown"
wait_until '[ ! -e "$db"/stop ]'
expect_fail 'Device or resource busy' touch "$db"/stop@keeper

# The one that holds the right is killed: nobody has it before its lease is over.
bash -c 'while :; do echo DOWN >"$db"/apps/b; echo DOWN >"$db"/apps/keeper; sleep 0.2; done' &
talk=$!
wait_until 'touch "$db"/stop@keeper 2>/dev/null'
bash -c 'while touch -c "$db"/stop@keeper; do sleep 0.2; done' &
keeper=$!
sleep 0.5
kill -KILL "$keeper"
wait "$keeper" 2>/dev/null || true
end=$(date -d "$(field "$db"/stop expires_at)" +%s%3N)
until touch "$db"/stop@b 2>/dev/null; do
	sleep 0.02
done
[ "$(date +%s%3N)" -ge "$end" ] || fail "b had it before the lease of the killed one was over"
kill "$talk"
wait "$talk" 2>/dev/null || true
