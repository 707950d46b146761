#!/bin/bash
# Writes to the disk fail.
# root
. tests/mount/lib.sh

# A disk that fails to write the store's main file: health tells, changes go on in the log and none is lost, and when the disk
# works again so does everything.
fails() {
	mount_fs -o deadlock_interval=1s
	expect_ok touch "$MNT/custom/before@me"

	# The tracer answers for the disk, in all threads.
	strace -f -qq -o /dev/null -p "$DAEMON" -e trace=fdatasync -P "$STORE/data.mdb" -e inject=fdatasync:error=EIO &
	tracer=$!
	wait_until '! grep -qhx "TracerPid:.0" /proc/$DAEMON/task/*/status' 60
	expect_ok touch "$MNT/custom/during@me"
	wait_until 'grep -q "^failing store: its main file cannot be written: Input/output error" "$MNT/health"' 60
	expect_ok touch "$MNT/custom/later@me"
	expect_ok rm "$MNT/custom/before@me"

	kill -INT "$tracer"
	wait "$tracer" || true
	wait_until '[ "$(head -n 1 "$MNT/health")" = ok ]' 60
	remount_fs
	expect_ok test -e "$MNT/custom/during@me"
	expect_ok test -e "$MNT/custom/later@me"
	[ ! -e "$MNT/custom/before" ] || fail "came back"
}

# Holders and waiters that end while the disk fails: health says how many ends are not written, and when the disk works again they
# are, without a remount.
at_the_end() {
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
}

# flock(1) on a store whose disk fails says "Input/output error", of a free lock and of a held one, and nothing is taken.
under_flock() {
	mount_fs -o allow_other
	expect_ok in_session touch "$MNT/custom/held@me"

	# The tracer answers for the disk, in all threads.
	strace -f -qq -o /dev/null -p "$DAEMON" -e trace=fdatasync -e inject=fdatasync:error=EIO &
	tracer=$!
	wait_until '! grep -qhx "TracerPid:.0" /proc/$DAEMON/task/*/status' 60
	for lock in custom/free repos/acme/infra/-/vpc/-/prod custom/held; do
		expect_fail 'Input/output error' flock "$MNT/$lock" true
		grep -q '^BACKEND_ERROR: the store failed' "$MNT/why" || fail "$(cat "$MNT/why")"
		expect_fail 'Input/output error' as_user atlt1 flock "$MNT/$lock" true
	done
	expect_fail 'Input/output error' flock -n "$MNT/custom/free" true
	expect_equal "$(ls "$MNT/custom")" held
	! [ -e "$MNT/custom/free" ] || fail 'taken'

	kill -INT "$tracer"
	wait "$tracer" || true
	expect_ok flock "$MNT/custom/free" true
}

behaviours fails at_the_end under_flock
