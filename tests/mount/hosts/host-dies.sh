#!/bin/bash
# What is bound to a host that is killed passes on after host_timeout; what has a name stays. An engine that does not answer is said in time.
# root
. tests/mount/lib.sh
. tests/mount/hosts.inc

hosts_start -o host_timeout=3s,engine_timeout=1s

expect_ok touch "$A/custom/bound" "$A/custom/named@job"
expect_status 1 flock -n -x "$B/custom/bound" true
(flock -x "$B/custom/bound" true) &
waiter=$!
wait_until '[ -n "$(ls "$B/queue/custom/bound" 2>/dev/null)" ]'
kill_daemon
expect_equal "$(field "$B/custom/bound" who | sed 's/:.*//')" sid
wait "$waiter" || fail "the waiter did not get the lock of a host that is gone"
expect_equal "$(field "$B/custom/named" who)" job

# It comes back, in another life, and finds the tree as it is.
mount_fs -o host_timeout=3s,engine_timeout=1s
expect_equal "$(field "$A/custom/named" who)" job
[ ! -e "$A/custom/bound" ] || fail "the lock of the life before is held"
expect_ok rm "$A/custom/named@job"
[ ! -e "$B/custom/named" ] || fail "B still shows it"

# It has lost its mirror, too, and does not know since when leases run. Its holders still have what they had, and were granted meanwhile.
expect_ok touch "$A/custom/named@job" "$B/custom/passed@b" "$A/queue/custom/passed/normal@a"
mirror=$(dirname "$(grep -lx "$DAEMON" "$T"/cache/atlockfs/*/*/owner.pid)")
kill_daemon
rm -r "$mirror"
expect_ok rm "$B/custom/passed@b"
mount_fs -o host_timeout=3s,engine_timeout=1s
grep -q docs/HOSTS.md "${T%/*}/daemon$MOUNTS.log" || fail "the log does not say what is missing"
expect_ok test -e "$A/custom/passed@a"
expect_equal "$(field "$B/custom/passed" state)" acquired
expect_ok rm "$A/custom/passed@a" "$A/custom/named@job"
[ ! -e "$B/custom/passed" ] || fail "the lock that was passed on is still held"
[ ! -e "$B/custom/named" ] || fail "B still shows it"

# A command under `atlock run` is ended before others can have its lock, when its host hears nothing of the server any more.
"$ATLOCK" -m "$A" run -k 1s -l custom/run -- sleep 600 2>"$T/run.err" &
run=$!
wait_until '[ -e "$B/custom/run" ]'
kill -STOP "$SERVER"
wait_until "is_gone $run" 30
kill -CONT "$SERVER"
grep -q 'custom/run.*is lost' "$T/run.err" || fail "atlock run said: $(cat "$T/run.err")"
wait_until '[ ! -e "$B/custom/run" ]' 30

# A server that stands still: EHOSTDOWN within the time-out, and all is well when it goes on.
wait_until 'touch "$A/custom/x@1" 2>/dev/null' 30 # A tries the server again after engine_pause
kill -STOP "$SERVER"
begun=$SECONDS
expect_fail 'Host is down' cat "$B/custom/x"
expect_fail 'Host is down' touch "$B/custom/y@1"
[ $((SECONDS - begun)) -le $((20 * TIME_FACTOR)) ] || fail "it took $((SECONDS - begun)) s"
kill -CONT "$SERVER"
wait_until 'touch "$B/custom/y@1" 2>/dev/null' 30
expect_equal "$(field "$A/custom/y" who)" 1
[ -e "$B/custom/x@1" ] || fail "a lock is gone that only the server's pause was between"

# An empty server has no realm: nothing is granted until an operator acts.
redis-cli -p "$PORT" flushall >/dev/null
expect_fail 'Host is down' touch "$A/custom/z@1"
expect_fail 'Host is down' touch "$B/custom/z@2"

kill -KILL "$DAEMON_B"
wait "$DAEMON_B" 2>/dev/null || true
fusermount3 -uz "$B"
chattr -i "$B" # as a daemon that dies leaves it
kill_daemon
server_stop
