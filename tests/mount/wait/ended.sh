#!/bin/bash
# long
# Waits that end early, and one that is stopped and goes on.
# timeout: 300
. tests/mount/lib.sh

# A waiter that gets SIGTERM, SIGINT or SIGKILL is gone at once, has left the queue, and never gets the lock.
killed() {
	mount_fs

	expect_ok touch "$MNT/custom/x@holder"
	expect_ok touch "$MNT/queue/custom/x/low@patient"
	for signal in TERM KILL HUP USR1; do
		for how in read write flock; do
			case $how in
			read) cat "$MNT/wait/custom/x@victim" >/dev/null & ;;
			write) bash -c 'echo priority=high >"$1"' - "$MNT/wait/custom/x@victim" & ;;
			flock) flock "$MNT/custom/x" true & ;;
			esac
			victim=$!
			wait_until '[ "$(field "$MNT/custom/x" waiters)" -eq 2 ]'
			kill -$signal $victim
			wait_until "! kill -0 $victim 2>/dev/null" 2
			wait_until '[ "$(field "$MNT/custom/x" waiters)" -eq 1 ]' 2
			! wait $victim 2>/dev/null || fail "$how ended well after SIG$signal"
		done
	done
	expect_ok rm "$MNT/custom/x@holder"
	expect_equal "$(field "$MNT/custom/x" who)" patient
}

# ^C on the terminal ends a wait at once, by read, by write and by flock, and nobody is left in the queue.
interrupted() {
	mount_fs

	# Runs a command on a terminal of its own, types ^C when it waits, and returns when it is gone.
	interrupt() {
		local terminal
		rm -f "$T/keys"
		mkfifo "$T/keys"
		# Otherwise what bash runs in the background would ignore SIGINT.
		env --default-signal=INT script -qec "$1" /dev/null <"$T/keys" >"$T/screen" &
		terminal=$!
		exec 8>"$T/keys"
		wait_until '[ "$(field "$MNT/custom/x" waiters)" -eq 1 ]'
		printf '\003' >&8
		wait_until '[ -z "$(ls "$MNT/queue/custom/x")" ]' 2
		wait_until "! kill -0 $terminal 2>/dev/null" 5
		exec 8>&-
		! wait $terminal || fail "ended well: $1: $(cat "$T/screen")"
	}

	expect_ok touch "$MNT/custom/x@holder"
	interrupt "cat $MNT/wait/custom/x@me"
	interrupt "echo priority=high > $MNT/wait/custom/x@me"
	interrupt "flock $MNT/custom/x true"
	expect_ok rm "$MNT/custom/x@holder"
	[ ! -e "$MNT/custom/x" ] || fail "granted to somebody who had left"
}

# Closing the terminal ends the waits of what ran on it.
hangup() {
	mount_fs

	hang_up() {
		local terminal
		rm -f "$T/keys" && mkfifo "$T/keys"
		script -qec "$1" /dev/null <"$T/keys" >"$T/screen" &
		terminal=$!
		exec 8>"$T/keys"
		wait_until '[ "$(field "$MNT/custom/x" waiters)" -eq 1 ]'
		# The terminal emulator dies, and with it the master side of the terminal.
		kill -KILL $terminal
		wait $terminal 2>/dev/null || true
		wait_until '[ -z "$(ls "$MNT/queue/custom/x")" ]' 2
		exec 8>&-
	}

	expect_ok touch "$MNT/custom/x@holder"
	hang_up "cat $MNT/wait/custom/x@me"
	hang_up "echo ttl=1h > $MNT/wait/custom/x@me"
	hang_up "flock $MNT/custom/x true"
	expect_ok rm "$MNT/custom/x@holder"
	[ ! -e "$MNT/custom/x" ] || fail "granted to somebody who had left"
}

# A waiter that is stopped and continued waits on, and gets the lock.
stopped() {
	mount_fs

	expect_ok touch "$MNT/custom/x@holder"
	cat "$MNT/wait/custom/x@sleepy" >"$T/out" 2>"$T/err" &
	waiter=$!
	wait_until '[ "$(field "$MNT/custom/x" waiters)" -eq 1 ]'
	kill -STOP $waiter
	wait_until '[ "$(ps -o stat= -p $waiter | cut -c 1)" = T ]' 5
	kill -CONT $waiter
	wait_until '[ "$(ps -o stat= -p $waiter | cut -c 1)" != T ]' 5
	wait_until '[ "$(field "$MNT/custom/x" waiters)" -eq 1 ]'
	expect_ok rm "$MNT/custom/x@holder"
	expect_ok wait $waiter
	expect_equal "$(field "$T/out" who)" sleepy
}

# `timeout 1 cat wait/<lock>` is gone after a second and has left the queue, whoever is served next.
timeout_command() {
	mount_fs

	expect_ok touch "$MNT/custom/x@holder"
	status=0
	timeout 1 cat "$MNT/wait/custom/x@impatient" || status=$?
	expect_equal $status 124
	expect_equal "$(ls "$MNT/queue/custom/x")" ''
	status=0
	timeout 1 bash -c 'echo priority=critical >"$1"' - "$MNT/wait/custom/x@impatient" || status=$?
	expect_equal $status 124
	expect_equal "$(ls "$MNT/queue/custom/x")" ''
	status=0
	timeout 1 flock "$MNT/custom/x" true || status=$?
	expect_equal $status 124
	expect_equal "$(ls "$MNT/queue/custom/x")" ''
	status=0
	flock -w 0.5 "$MNT/custom/x" true || status=$?
	expect_equal $status 1
	expect_equal "$(ls "$MNT/queue/custom/x")" ''
	expect_ok rm "$MNT/custom/x@holder"
	[ ! -e "$MNT/custom/x" ] || fail "granted to somebody who had left: $(cat "$MNT/custom/x")"
}

behaviours killed interrupted hangup stopped timeout_command
