#!/bin/bash
# An engine that does not answer: one call tries for engine_timeout, then all fail at once, and health, metrics and events say so. When it is back, so are they.
# root
. tests/mount/lib.sh
. tests/mount/hosts.inc

# A single mount: the other one would make calls, too.
hosts_start -o "host_timeout=10m,engine_timeout=1s,engine_pause=60s"
unmount_b
prom() { awk -v name="atlockfs_$1" '$1 == name { print $2 }' "$A/metrics/atlockfs.prom"; }
expect_equal "$(field "$A/health" engine),$(prom engine_breaker),$(prom engine_breaker_opened_total)" ok,0,0
expect_ok touch "$A/custom/x@1"

kill -STOP "$SERVER"
! touch "$A/custom/y@1" 2>/dev/null || fail "a lock was granted without the engine"
wait_until '[ "$(prom engine_breaker)" = 1 ]' 30
begun=$SECONDS
for _ in $(seq 20); do
	expect_fail 'Host is down' touch "$A/custom/y@1"
	expect_fail 'Host is down' cat "$A/custom/x"
done
[ $((SECONDS - begun)) -lt $((10 * TIME_FACTOR)) ] || fail "40 calls that should fail at once took $((SECONDS - begun)) s"
[[ $(head -n 1 "$A/health") = 'failing engine: it has not answered'*'breaker open'* ]] || fail "$(cat "$A/health")"
expect_equal "$(prom engine_breaker_opened_total)" 1

kill -CONT "$SERVER"
wait_until '[ "$(field "$A/health" engine)" = ok ]' 30
expect_equal "$(prom engine_breaker)" 0
expect_equal "$(field "$A/custom/x" who)" 1
wait_until 'cat "$A"/events/*.jsonl | grep -c "\"type\":\"engine_down\"" >/dev/null' 30
cat "$A"/events/*.jsonl >"$T/events"
grep '"type":"engine_up"' "$T/events" >/dev/null || fail "no event says that it is back"

unmount_fs
server_stop
