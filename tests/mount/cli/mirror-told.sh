#!/bin/bash
# root
# timeout: 120
# atlock mirror with a Redis that tells of changed keys: what Atlantis takes is here at once, whatever the interval; conflicts are in health.
. tests/mount/lib.sh
. tests/mount/import.inc
mount_fs
redis_start --notify-keyspace-events 'K$g'

record() { # <directory> <pull number>
	printf '{"Project":{"ProjectName":"","RepoFullName":"acme/infra","Path":"%s"},"Pull":{"Num":%d},"User":{"Username":"alice"},"Workspace":"prod"}' "$1" "$2"
}
lock() { echo "$MNT/repos/acme/infra/-/$1/-/prod"; }
key() { echo "pr/acme/infra/$1/prod/"; }
conflicts() { awk '$1 == "atlockfs_mirror_conflicts" { print $2 }' "$MNT/metrics/atlockfs.prom"; }
mirror_start() { # <interval>
	"$ATLOCK" -m "$MNT" mirror --interval "$1" --to "$URI" >"$T/mirror.out" 2>"$T/mirror.err" &
	mirror=$!
	wait_until 'redis pubsub numpat | grep -x 1 >/dev/null'
}
mirror_stop() {
	kill -TERM "$mirror"
	wait "$mirror" || true
	wait_until 'redis pubsub numpat | grep -x 0 >/dev/null'
}

# An interval of an hour: only a notification can wake it.
mirror_start 1h
redis set "$(key vpc)" "$(record vpc 5)" >/dev/null
wait_until '[ -e "$(lock vpc)" ]' 10
expect_equal "$(field "$(lock vpc)" owner)@$(field "$(lock vpc)" who)" alice@pr:5
expect_status 1 touch "$(lock vpc)@pr:6"

# A pull request that is closed there ends all its locks here, though nothing is left there; only a flush is a loss.
redis set "$(key dns)" "$(record dns 5)" >/dev/null
wait_until '[ -e "$(lock dns)" ]' 10
redis del "$(key vpc)" "$(key dns)" >/dev/null
wait_until '[ ! -e "$(lock vpc)" ] && [ ! -e "$(lock dns)" ]' 10
redis set "$(key vpc)" "$(record vpc 5)" >/dev/null
wait_until '[ -e "$(lock vpc)" ]' 10

# Released there and given to another pull request between two looks: that is no conflict.
redis set "$(key vpc)" "$(record vpc 6)" >/dev/null
wait_until '[ "$(field "$(lock vpc)" who 2>/dev/null)" = pr:6 ]' 10
mirror_stop
expect_equal "$(field "$MNT/health" mirror)" ok

# Without --notify the same server is polled.
redis config set notify-keyspace-events '' >/dev/null
"$ATLOCK" -m "$MNT" mirror --interval 50ms --to "$URI" >"$T/mirror.out" 2>"$T/mirror.err" &
mirror=$!
redis set "$(key polled)" "$(record polled 5)" >/dev/null
wait_until '[ -e "$(lock polled)" ]' 10
mirror_stop
redis config set notify-keyspace-events KA >/dev/null

# A lock that both gave is a conflict: counted in the metrics, named in health until it is over.
expect_ok touch "$(lock both)@pr:7"
redis set "$(key both)" "$(record both 8)" >/dev/null
mirror_start 100ms
wait_until '[ "$(conflicts)" = 1 ]' 10
expect_equal "$(field "$MNT/health" mirror)" \
	"degraded 1 conflict with Atlantis: repos/acme/infra/-/both/-/prod is another's there: Pull.Num is 7 here and 8 there"
expect_equal "$(head -n 1 "$MNT/health" | cut -d: -f1)" 'degraded mirror'
expect_ok rm "$(lock both)@pr:7"
wait_until '[ "$(conflicts)" = 0 ] && [ "$(field "$MNT/health" mirror)" = ok ]' 10
wait_until '[ "$(field "$(lock both)" who 2>/dev/null)" = pr:8 ]' 10

# A mirror that cannot reach its Redis says so there, too, and goes on when it can.
server_stop
wait_until 'field "$MNT/health" mirror | grep "degraded its last round failed" >/dev/null' 10
kill -TERM "$mirror"
wait "$mirror" || true

# Others than administrators cannot write there, and only what the mirror says can be written.
expect_status 2 as_user atlt1 sh -c "echo mirror=3 x >> $MNT/health"
expect_status 1 sh -c "echo store=3 >> $MNT/health"
expect_ok sh -c "echo mirror=0 >> $MNT/health"
expect_equal "$(field "$MNT/health" mirror)" ok
