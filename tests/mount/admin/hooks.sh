#!/bin/bash
# on_event: a command gets each event on its standard input, as a line of JSON; what it does or fails to do never holds up a lock.
. tests/mount/lib.sh
mount_fs -o on_event="cat >>$T/events; ls -l /proc/self/fd >>$T/descriptors"

metric() { awk -v name="atlockfs_$1" '$1 == name { print $2 }' "$MNT/metrics/atlockfs.prom"; }
expect_ok touch "$MNT/custom/a@x"
expect_ok touch -c -d '+1 hour' "$MNT/custom/a@x"
expect_ok rm "$MNT/custom/a@x"
wait_until '[ "$(metric "hook_runs_total{result=\"ok\"}")" = 4 ]'
expect_equal "$(jq -r .type "$T/events" | sort | tr '\n' ' ')" 'acquired opened released renewed '
expect_equal "$(jq -r 'select(.type == "acquired") | .lock + " " + .who' "$T/events")" 'custom/a x'
# They are the lines of events/, byte by byte.
expect_equal "$(sort "$T/events")" "$(sort "$MNT/events/live")"
# With nothing of the daemon's open: the mount lives no longer than it does.
! grep -E 'fuse|data.mdb|socket|eventfd|timerfd' "$T/descriptors" || fail "has the daemon's descriptors"
expect_equal "$(metric event_lag_seconds),$(metric hook_breaker)" 0.000000000,0
wait_until '[ "$(ps -o comm= --ppid "$DAEMON")" = locks-notify ]'

# Other administrators may change options, but not what the daemon runs.
echo atlt1 >"$MNT/config/admin_group"
expect_ok as_user atlt1 sh -c 'echo 50 >"$1"' sh "$MNT/config/max_queue"
expect_fail 'Operation not permitted' as_user atlt1 sh -c 'echo id >"$1"' sh "$MNT/config/on_event"
as_user atlt1 grep -q 'by root alone' "$MNT/why" || fail "$(as_user atlt1 cat "$MNT/why")"

# One that hangs is killed, with all it has started; locks do not wait for it.
echo 1s >"$MNT/config/on_event_timeout"
echo "sleep 1000 & sleep 1000" >"$MNT/config/on_event"
before=$(date +%s%N)
expect_ok touch "$MNT/custom/b@x"
[ $((($(date +%s%N) - before) / 1000000)) -lt $((900 * TIME_FACTOR)) ] || fail "a lock waited for a hook"
wait_until '[ "$(metric "hook_runs_total{result=\"timeout\"}")" -ge 1 ]'
wait_until '! pgrep -s "$DAEMON" sleep >/dev/null'

# One that fails opens the breaker, which health and metrics show; when it works again, what waited is delivered.
: >"$T/events"
echo "exit 3" >"$MNT/config/on_event"
expect_ok touch "$MNT/custom/c@x" "$MNT/custom/d@x" "$MNT/custom/e@x"
wait_until '[ "$(metric hook_breaker_opened_total)" -ge 1 ] && [ "$(metric "hook_runs_total{result=\"failed\"}")" -ge 5 ]' 20
wait_until '[ "$(metric hook_breaker)" -ge 1 ]'
grep -q '^degraded hooks: the command of on_event fails' "$MNT/health" || fail "$(cat "$MNT/health")"
wait_until 'grep -q "on_event for event [0-9]*: exit status 3" "${T%/*}/daemon1.log"'
! grep 'config/on_event is' "${T%/*}/daemon1.log" || fail "a command, which may have a password in it, is logged"
echo "cat >>$T/events" >"$MNT/config/on_event"
expect_ok rm "$MNT/custom/e@x"
wait_until 'grep -q "\"type\":\"released\".*custom/e" "$T/events"' 90
wait_until '[ "$(metric hook_breaker)" = 0 ] && [ "$(metric hook_waiting_events)" = 0 ]' 30
head -n 1 "$MNT/health" | grep '^degraded hooks: the command of on_event has missed [0-9]* events, the last [0-9]* s ago' >/dev/null || fail "$(cat "$MNT/health")"
[ "$(metric hook_dropped_events_total)" -ge 1 ] || fail "what it missed is not counted"

# How many failures open it, and for how long, are options.
echo 1 >"$MNT/config/on_event_failures"
echo 1h >"$MNT/config/on_event_pause"
opened=$(metric hook_breaker_opened_total)
failed=$(metric 'hook_runs_total{result="failed"}')
echo "exit 3" >"$MNT/config/on_event"
expect_ok touch "$MNT/custom/f@x"
wait_until '[ "$(metric hook_breaker_opened_total)" -gt "$opened" ]'
[ $(($(metric 'hook_runs_total{result="failed"}') - failed)) -lt 5 ] || fail "it took more than a failure"
[[ $(field "$MNT/health" hooks) = *'tried again in '[2-9][0-9][0-9][0-9]' s'* ]] || fail "$(field "$MNT/health" hooks)"
echo 5 >"$MNT/config/on_event_failures"
echo 1s >"$MNT/config/on_event_pause"
echo "cat >>$T/events" >"$MNT/config/on_event"
wait_until '[ "$(metric hook_waiting_events)" = 0 ]' 30

# The last event of a mount is delivered, too.
unmount_fs
grep -q '"type":"closed"' "$T/events" || fail "$(cat "$T/events")"
