#!/bin/bash
# Unmounting with calls that wait, and while the tree is in use.
# root
. tests/mount/lib.sh

# However the daemon is told to end, it ends with status 0, every parked caller has an answer, and nothing is lost.
answers_waiters() {
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
}

# make unmount of a tree that somebody is in says who, and how to go on; where nothing is mounted, what is mounted where. The
# directory that a crash leaves can be removed once it is not immutable any more.
busy() {
	sources=$PWD
	unmount() {
		env -u MAKEFLAGS -u MAKELEVEL make -s -C "$sources" BUILD="$ATLOCKFS_BUILD" MNT="${1:-$MNT}" unmount
	}

	mount_fs
	(cd "$MNT/custom" && exec sleep 1000) &
	inside=$!
	wait_until "[ \"\$(readlink /proc/$inside/cwd)\" = '$MNT/custom' ] && [ \"\$(cat /proc/$inside/comm)\" = sleep ]"
	expect_status 2 unmount
	grep -qF "$MNT" "$T/err" || fail "$(cat "$T/err")"
	grep -qE "^ *$inside root +sleep 1000" "$T/err" || fail "it does not name $inside: $(cat "$T/err")"
	! grep 'atlockfs -f' "$T/err" || fail "it names the daemon"
	# The daemon of this mount, wherever its store is.
	grep -qF "kill $DAEMON. " "$T/err" || fail "$(cat "$T/err")"
	is_mounted || fail 'unmounted all the same'
	kill "$inside"
	wait "$inside" 2>/dev/null || true

	# Another place is not this one.
	mkdir "$T/bare"
	expect_status 2 unmount "$T/bare"
	grep -qF "No atlockfs is mounted on $T/bare" "$T/err" && grep -q 'MNT=' "$T/err" || fail "$(cat "$T/err")"
	grep -qxF "$MNT" "$T/err" || fail "it does not say what is mounted: $(cat "$T/err")"
	expect_ok unmount
	daemon_wait
	! is_mounted || fail 'still mounted'

	# Not mounted is not busy.
	expect_status 2 unmount
	! grep -q '^Somebody\|^To unmount in any case' "$T/err" || fail "$(cat "$T/err")"
	! grep -qxF "$MNT" "$T/err" || fail "$(cat "$T/err")"

	# As the message says, also with the daemon's rights given up: the daemon's end is the mount's, whoever is in it.
	mount_fs -o run_as=atlt2
	(cd "$MNT/custom" && exec sleep 1000) &
	inside=$!
	wait_until "[ \"\$(readlink /proc/$inside/cwd)\" = '$MNT/custom' ]"
	expect_status 2 unmount
	! grep 'atlockfs -f' "$T/err" || fail "it names the daemon"
	pid=$(sed -n 's/^To unmount in any case: kill \([0-9]*\)\. .*/\1/p' "$T/err")
	expect_equal "$pid" "$(cat "$STORE/owner.pid")"
	expect_ok kill "$pid"
	daemon_wait
	! is_mounted || fail 'still mounted'
	kill "$inside"
	wait "$inside" 2>/dev/null || true

	# After a crash. The store is run_as's now, and root serves only root's.
	chown -R root "$STORE"
	mount_fs
	crash_daemon
	expect_ok unmount
	flags=$(lsattr -d "$MNT" 2>/dev/null || true)
	if [[ ${flags%% *} == *i* ]]; then
		expect_fail 'not permitted' rmdir "$MNT"
		expect_ok chattr -i "$MNT"
	fi
	expect_ok rmdir "$MNT"
	mkdir "$MNT"
}

behaviours answers_waiters busy
