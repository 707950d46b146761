#!/bin/bash
# metrics/atlockfs.prom: what Prometheus' own tool accepts, with counts that follow what happens; and nothing stands in the
# dashboard or the alert rules that is not in it.
. "$(dirname "$0")/lib.sh"
mount_fs

docs=$(dirname "$0")/../../docs
file=$MNT/metrics/atlockfs.prom
metric() { awk -v name="atlockfs_$1" '$1 == name { print $2 }' "$file"; }

expect_equal "$(ls "$MNT/metrics")" atlockfs.prom
expect_equal "$(stat -c %a "$MNT/metrics") $(stat -c %a "$file")" '755 444'
expect_fail 'Permission denied' as_user atlt1 sh -c 'exec >"$1"' sh "$file"
expect_fail 'Operation not permitted' sh -c 'exec >"$1"' sh "$file"
[ "$(stat -c %Y "$file")" -ge $(($(date +%s) - 5)) ] || fail "its time is $(stat -c %y "$file")"

expect_ok touch "$MNT/custom/a@x" "$MNT/custom/b@x"
expect_fail 'Device or resource busy' touch "$MNT/custom/a@y"
expect_ok touch "$MNT/queue/custom/a/high@y"
expect_equal "$(metric locks_held),$(metric 'waiters{priority="high"}'),$(metric longest_queue_waiters)" 2,1,1
expect_equal "$(metric 'operations_total{operation="acquire",code="OK"}')" 2
[ "$(metric 'operations_total{operation="acquire",code="LOCK_EXISTS"}')" -ge 1 ] || fail "no refusal was counted"
expect_ok rm "$MNT/custom/a@x"
expect_equal "$(metric 'wait_duration_seconds_count{priority="high"}')" 1
expect_equal "$(metric 'events_total{type="granted"}')" 1
expect_equal "$(metric hold_duration_seconds_count)" 1
printf 'ttl=1s\n' >"$MNT/custom/b@x"
wait_until '[ "$(metric "events_total{type=\"expired\"}")" = 1 ]'

# Also to an ordinary user.
expect_ok as_user atlt1 promtool check metrics <"$file" >"$T/said"
expect_equal "$(cat "$T/said")" ''

known=$(sed -n 's/^# TYPE \([^ ]*\) \(.*\)/\1 \2/p' "$file" | while read -r name type; do
	[ "$type" = histogram ] && printf '%s\n' "$name"_{bucket,sum,count} || echo "$name"
done)
expect_ok jq -e '.panels | length > 10' "$docs/grafana-dashboard.json" >/dev/null
jq -r '.. | .expr? // empty' "$docs/grafana-dashboard.json" >"$T/used"
grep -v '^#' "$docs/alerts.yml" | grep -A3 'expr:' >>"$T/used"
for name in $(grep -o 'atlockfs_[a-z_]*' "$T/used" | sort -u); do
	grep -qx "$name" <<<"$known" || fail "the dashboard or an alert uses $name, which is not there"
done
