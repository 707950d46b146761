#!/bin/bash
# Tickets outlive a crash of the daemon: their order, the time they have left, and the lock's lease are as before. Calls that
# were blocked got an error and have left the queue.
. "$(dirname "$0")/lib.sh"
mount_fs -o queue_timeout=5m

lock=$MNT/custom/x
queue=$MNT/queue/custom/x
expect_ok touch "$lock@holder"
expect_ok touch "$queue/low@c" "$queue/normal@b" "$queue/high@a"
deadline=()
for who in b c; do
	name=$(cd "$queue" && echo *@$who)
	deadline[${#deadline[@]}]=$(date -d "$(field "$queue/$name" deadline)" +%s)
done
expires=$(date -d "$(field "$lock" expires_at)" +%s)
cat "$MNT/wait/custom/x@reader" >"$T/out" 2>"$T/err" &
reader=$!
bash -c 'echo priority=critical >"$1"' - "$MNT/wait/custom/x@writer" 2>"$T/err-writer" &
writer=$!
flock "$lock" true 2>"$T/err-flock" &
flock=$!
wait_until '[ "$(field "$lock" waiters)" -eq 6 ]'
kill_daemon
for pid in $reader $writer $flock; do
	wait_until "! kill -0 $pid 2>/dev/null" 5
	! wait "$pid" || fail "a waiter was told that it had the lock"
done
mount_fs -o queue_timeout=5m

# shellcheck disable=SC2012 # the order of ls is what this is about
expect_equal "$(ls "$queue" | sed 's/.*@//' | xargs)" 'a b c'
i=0
for who in b c; do
	name=$(cd "$queue" && echo *@$who)
	apart=$(($(date -d "$(field "$queue/$name" deadline)" +%s) - deadline[i]))
	[ "${apart#-}" -le 2 ] || fail "the deadline of $who moved by $apart s"
	i=$((i + 1))
done
apart=$(($(date -d "$(field "$lock" expires_at)" +%s) - expires))
[ "${apart#-}" -le 2 ] || fail "the lease moved by $apart s"
expect_ok rm "$lock@holder"
expect_equal "$(field "$lock" who)" a
