#!/bin/bash
# Apps go down one after the other: only the last one may stop what they share; and an app that comes up again keeps it.
. "$(dirname "$0")/lib.sh"
mount_fs

cd "$MNT/shared"
mkdir db
for app in a b c; do
	echo UP >"db/apps/$app"
done
for app in a b; do
	echo DOWN >"db/apps/$app"
	expect_fail 'Device or resource busy' touch "db/stop@$app"
done
grep -q 'c is UP' "$MNT/why"
echo DOWN >db/apps/c
expect_ok touch db/stop@c
expect_equal "$(head -n 1 db/verdict)" stop

# Whoever starts says UP first and then looks: it sees that the resource is being stopped, and the one that stops it sees
# that somebody is there.
echo UP >db/apps/a
[ -e db/stop ]
expect_equal "$(head -n 1 db/verdict@c)" keep
expect_fail 'Device or resource busy' touch -c db/stop@c
rm db/stop@c
echo DOWN >db/apps/a

# Then again, in another order.
for app in c b; do
	echo UP >"db/apps/$app"
done
echo DOWN >db/apps/b
expect_fail 'Device or resource busy' touch db/stop@b
expect_fail 'Device or resource busy' touch db/stop@a
# c is up itself, but the only one: it may.
expect_ok touch db/stop@c
rm db/stop@c

# A new user of the resource counts from its registration.
touch db/apps/d
expect_fail 'Device or resource busy' touch db/stop@c
rm db/apps/d
expect_ok touch db/stop@c
cd /
