#!/bin/bash
# Closing the terminal ends the waits of what ran on it.
. "$(dirname "$0")/lib.sh"
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
