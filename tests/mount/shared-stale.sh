#!/bin/bash
# A status that is older than status_ttl reads UNKNOWN at that very call, and lets nobody stop.
. "$(dirname "$0")/lib.sh"
mount_fs -o status_ttl=1s

cd "$MNT/shared"
mkdir db
touch db/apps/a
# Says DOWN for b and returns when that has just become too old; it is read until then, so that it may be cached.
outlive() {
	echo DOWN >db/apps/b
	local end=$(($(date -d "$(stat -c %y db/apps/b)" +%s%3N) + 1000))
	while [ "$(date +%s%3N)" -le "$end" ]; do
		cat db/apps/b >/dev/null
		stat db/apps/b >/dev/null
	done
}

outlive && expect_equal "$(cat db/apps/b)" UNKNOWN
expect_equal "$(getfattr -n user.status --only-values db/apps/b)" UNKNOWN
expect_equal "$(getfattr -n user.said --only-values db/apps/b)" DOWN
outlive && expect_equal "$(stat -c %s db/apps/b)" 8
outlive && expect_fail 'Device or resource busy' touch db/stop@a
grep -q 'b is UNKNOWN (said DOWN 1s ago)' "$MNT/why"
outlive && grep -qx 'blocks UNKNOWN 1s b' db/verdict@a
expect_equal "$(head -n 1 db/verdict@a)" keep

# touch says again what the file reads: what is stale does not become DOWN by it.
outlive && expect_ok touch db/apps/b
expect_equal "$(cat db/apps/b)" UNKNOWN
echo DOWN >db/apps/b
for _ in $(seq 15); do
	sleep 0.1
	touch db/apps/b
done
expect_equal "$(cat db/apps/b)" DOWN

# A status written again in time counts on; the right to stop ends with the lease if nobody does.
expect_ok touch db/stop@a
outlive
expect_fail 'Device or resource busy' touch -c db/stop@a
[ -e db/stop@a ]

# Longer than the daemon was away.
cd /
echo DOWN >"$MNT/shared/db/apps/b"
unmount_fs
sleep 1.1
mount_fs -o status_ttl=1s
expect_equal "$(cat "$MNT/shared/db/apps/b")" UNKNOWN
