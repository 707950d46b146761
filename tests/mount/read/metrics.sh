#!/bin/bash
# metrics/: what Prometheus reads.
. tests/mount/lib.sh

# metrics/atlockfs.prom: what Prometheus' own tool accepts, with counts that follow what happens; and nothing stands in the
# dashboard or the alert rules that is not in it.
counts() {
	mount_fs

	docs=docs
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
}

# Debian's node_exporter, running as an ordinary user, serves what metrics/ has at that moment. When the daemon dies it says so.
scraped() {
	mount_fs
	expect_ok touch "$MNT/custom/a@x" "$MNT/custom/b@x" "$MNT/custom/c@x"

	scrape() { curl -sf "http://127.0.0.1:$PORT/metrics"; }
	server_start setpriv --reuid=atlt1 --regid=atlt1 --init-groups prometheus-node-exporter --web.listen-address='127.0.0.1:{port}' \
		--collector.disable-defaults --collector.textfile --collector.textfile.directory="$MNT/metrics"
	wait_until 'scrape >"$T/scraped"' 30

	expect_equal "$(grep '^node_textfile_scrape_error' "$T/scraped")" 'node_textfile_scrape_error 0'
	expect_equal "$(grep '^atlockfs_locks_held' "$T/scraped")" 'atlockfs_locks_held 3'
	grep -q '^node_textfile_mtime_seconds{file=".*/metrics/atlockfs.prom"}' "$T/scraped" || fail "no time"
	grep -q '^atlockfs_build_info{version=' "$T/scraped" || fail "no version"
	expect_ok rm "$MNT/custom/a@x"
	scrape >"$T/scraped"
	expect_equal "$(grep '^atlockfs_locks_held' "$T/scraped")" 'atlockfs_locks_held 2' 'each scrape is of now'
	expect_ok promtool check metrics <"$T/scraped" >/dev/null

	crash_daemon
	scrape >"$T/scraped"
	expect_equal "$(grep '^node_textfile_scrape_error' "$T/scraped")" 'node_textfile_scrape_error 1'
	! grep -q '^atlockfs_' "$T/scraped" || fail "metrics of a daemon that is dead"
	server_stop
	fusermount3 -uz "$MNT"
}

behaviours counts scraped
