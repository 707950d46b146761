#!/bin/bash
# Debian's node_exporter, running as an ordinary user, serves what metrics/ has at that moment. When the daemon dies it says so.
. "$(dirname "$0")/lib.sh"
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
