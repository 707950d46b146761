#!/bin/bash
# root
# However the daemon is told to end, it ends with status 0, every parked caller has an answer, and nothing is lost.
. "$(dirname "$0")/lib.sh"

lock=$MNT/custom/x
pids=()
park() {
	touch "$lock@holder"
	cat "$MNT/wait/custom/x@reader" >/dev/null 2>"$T/err1" &
	pids=($!)
	bash -c 'echo priority=high >"$1"' - "$MNT/wait/custom/x@writer" 2>"$T/err2" &
	pids+=($!)
	flock "$lock" true 2>"$T/err3" &
	pids+=($!)
	touch "$MNT/queue/custom/x/low@ticket"
	wait_until '[ "$(field "$lock" waiters)" -eq 4 ]'
}

# The daemon is told to end by this command, and all ends well.
ends() {
	local pid
	"$@"
	for pid in "${pids[@]}"; do
		wait_until "! kill -0 $pid 2>/dev/null" 5
		! wait "$pid" || fail "$*: a waiter was told that it had the lock"
	done
	daemon_wait
	! is_mounted || fail "$*: still mounted"
	mount_fs
	expect_equal "$(field "$lock" who)" holder
	expect_equal "$(ls "$MNT/queue/custom/x" | sed 's/.*@//')" ticket
	rm "$MNT/queue/custom/x/low@ticket" "$lock@holder"
}

mount_fs
park && ends kill -TERM "$DAEMON"
park && ends kill -INT "$DAEMON"
park && ends umount -l "$MNT"
park && ends fusermount3 -uz "$MNT"

# A plain umount does not tear anything away from callers: it is refused while they wait.
park
expect_fail 'busy' umount "$MNT"
for pid in "${pids[@]}"; do
	kill -0 "$pid" || fail "a waiter was sent away"
	kill -TERM "$pid"
	wait "$pid" || true
done
wait_until '[ "$(field "$lock" waiters)" -eq 1 ]'
wait_until 'umount "$MNT" 2>/dev/null'
daemon_wait
