#!/bin/bash
# long
# timeout: 240
# 5,000 callers wait for one lock: the daemon has no thread and some half a KiB for each, is quick for others meanwhile,
# and serves all of them in order.
. tests/mount/lib.sh
# Few threads: how many there are, each with its stack, is then soon the same.
mount_fs -o max_queue=100000,queue_timeout=1h,max_threads=8

count=$((${ROUNDS:-1000} * 5))
lock=$MNT/custom/x
queue=$MNT/queue/custom/x

# What threads and the store need at most is there before: those who take and give back need no threads, those who begin to
# wait do.
churn 64 $((count / 64))
expect_ok touch "$MNT/custom/w@holder"
"${SYS%/*}/waiters" "$MNT/wait/custom/w" "$MNT/custom/w" 256 >/dev/null &
waiters=$!
wait_until '[ "$(field "$MNT/custom/w" waiters)" -eq 256 ]' 100
expect_ok rm "$MNT/custom/w@holder"
expect_ok wait $waiters
expect_ok touch "$lock@holder"
before=$(anonymous)
"${SYS%/*}/waiters" "$MNT/wait/custom/x" "$lock" $count >"$T/served" &
waiters=$!
wait_until '[ "$(field "$lock" waiters)" -eq $count ]' 100
threads=$(find "/proc/$DAEMON/task" -mindepth 1 -maxdepth 1 | wc -l)
[ "$threads" -le 48 ] || fail "$threads threads for $count waiters"
grown=$(($(anonymous) - before))
echo "$threads threads, $grown kB for $count waiters"
# A sanitizer needs more. The store's newest commits and requests under way do, too: up to a MiB however many wait, the more the slower
# the disk is.
[ "$TIME_FACTOR" -ne 1 ] || [ $grown -le $((count / 2 + 1024)) ] || fail "$grown kB for $count waiters"

# Others do not notice.
start=${EPOCHREALTIME/./}
expect_ok touch "$MNT/custom/y@a"
expect_ok rm "$MNT/custom/y@a"
took=$(((${EPOCHREALTIME/./} - start) / 1000))
[ $took -lt $((1000 * TIME_FACTOR)) ] || fail "$took ms for another lock"

# shellcheck disable=SC2012 # the order of ls is what this is about
ls "$queue" | sed 's/.*@w//' >"$T/order"
expect_equal "$(wc -l <"$T/order")" $count
expect_ok rm "$lock@holder"
expect_ok wait $waiters
cmp "$T/order" "$T/served" || fail "served in another order than listed"
[ ! -e "$lock" ] || fail "still held"
