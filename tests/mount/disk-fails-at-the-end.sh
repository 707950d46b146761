#!/bin/bash
# root
# Holders and waiters that end while the disk fails: health says how many ends are not written, and when the disk works again they
# are, without a remount.
. "$(dirname "$0")/lib.sh"
mount_fs
sh -c 'touch "$1@pid:$$" && exec sleep 600' - "$MNT/custom/process" &
process=$!
flock "$MNT/custom/file" sleep 600 &
file=$!
expect_ok touch "$MNT/custom/busy@other"
cat "$MNT/wait/custom/busy@waiter" >/dev/null 2>&1 &
waiter=$!
wait_until '[ -e "$MNT/custom/process" ] && [ -e "$MNT/custom/file" ] && [ -n "$(ls "$MNT/queue/custom/busy" 2>/dev/null)" ]'

# The tracer answers for the disk, in all threads: nothing more gets into the log or the main file.
strace -f -qq -o /dev/null -p "$DAEMON" \
	-e trace=fdatasync,pwrite64,pwritev -e inject=fdatasync,pwrite64,pwritev:error=EIO &
tracer=$!
wait_until '! grep -qhx "TracerPid:.0" /proc/$DAEMON/task/*/status' 60
expect_fail 'Input/output error' touch "$MNT/custom/during@me"
kill -KILL "$process" "$waiter"
pkill -KILL -P "$file"
wait "$process" "$waiter" "$file" 2>/dev/null || true
wait_until 'grep -q "^ends=degraded 3 ends of holders or waits wait to be written" "$MNT/health"' 60
grep -qx "atlockfs_unwritten_ends 3" "$MNT/metrics/atlockfs.prom" || fail "not in the metrics"
expect_ok test -e "$MNT/custom/process"
expect_ok test -e "$MNT/custom/file"
[ -n "$(ls "$MNT/queue/custom/busy")" ] || fail "left without a commit"

kill -INT "$tracer"
wait "$tracer" || true
wait_until '[ ! -e "$MNT/custom/process" ] && [ ! -e "$MNT/custom/file" ] && [ -z "$(ls "$MNT/queue/custom/busy" 2>/dev/null)" ]' 60
wait_until '[ "$(head -n 1 "$MNT/health")" = ok ]' 60
grep -qx "atlockfs_unwritten_ends 0" "$MNT/metrics/atlockfs.prom" || fail "still in the metrics"
grep -q "could not be released: Input/output error" "${T%/*}"/daemon1.log || fail "not in the log"
expect_ok rm "$MNT/custom/busy@other"
[ ! -e "$MNT/custom/busy" ] || fail "handed to a call that is gone"
