#!/bin/bash
# Time passes while no daemon runs: a lease or a place in the queue that ended meanwhile is over.
. "$(dirname "$0")/lib.sh"
mount_fs -o queue_timeout=1s

expect_ok touch "$MNT/custom/short@a" "$MNT/custom/long@a"
expect_ok touch "$MNT/queue/custom/long/high@late"
echo ttl=1s >"$MNT/custom/short@a"
end=$(date -d "$(field "$MNT/custom/short" expires_at)" +%s%3N)
kill_daemon
# Time is what this is about.
while [ "$(date +%s%3N)" -le $((end + 300)) ]; do
	sleep 0.1
done
mount_fs
expect_fail 'No such file' cat "$MNT/custom/short"
expect_equal "$(field "$MNT/custom/long" who)" a
expect_equal "$(ls "$MNT/queue/custom/long")" ''
