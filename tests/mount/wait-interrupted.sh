#!/bin/bash
# ^C on the terminal ends a wait at once, by read, by write and by flock, and nobody is left in the queue.
. "$(dirname "$0")/lib.sh"
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
