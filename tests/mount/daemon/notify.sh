#!/bin/bash
# A service manager is told when the mount answers, that the daemon is well as often as it asks, and when it ends.
. tests/mount/lib.sh

# Prints what comes to a socket, one line a message.
cat >"$T/listen.py" <<'END'
import socket, sys
s = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
name = sys.argv[1]
s.bind("\0" + name[1:] if name[0] == "@" else name)
with open(sys.argv[2], "w", buffering=1) as out:
    while True:
        print(s.recv(4096).decode(), file=out)
END
heard() { grep -cx "$1" "$T/heard" || true; }

for NOTIFY_SOCKET in "$T/socket" "@atlockfs-test-$$"; do
	rm -f "$T/heard"
	python3 "$T/listen.py" "$NOTIFY_SOCKET" "$T/heard" &
	listener=$!
	wait_until '[ -e "$T/heard" ]'
	export NOTIFY_SOCKET WATCHDOG_USEC=200000
	mount_fs
	wait_until '[ "$(heard READY=1)" -eq 1 ]'
	before=$(heard WATCHDOG=1)
	wait_until '[ "$(heard WATCHDOG=1)" -ge $((before + 3)) ]'
	unmount_fs
	wait_until '[ "$(heard STOPPING=1)" -eq 1 ]'

	# A daemon that hangs gives no sign.
	mount_fs
	wait_until '[ "$(heard READY=1)" -eq 2 ]'
	kill -STOP "$DAEMON"
	wait_until '[ "$(ps -o stat= -p "$DAEMON" | cut -c 1)" = T ]'
	before=$(heard WATCHDOG=1)
	sleep 0.6
	expect_equal "$(heard WATCHDOG=1)" "$before"
	kill -CONT "$DAEMON"
	wait_until '[ "$(heard WATCHDOG=1)" -gt "$before" ]'
	unmount_fs

	# The signs were asked of another process.
	before=$(heard WATCHDOG=1)
	WATCHDOG_PID=1 mount_fs
	wait_until '[ "$(heard READY=1)" -eq 3 ]'
	unmount_fs
	expect_equal "$(heard WATCHDOG=1)" "$before"

	# In the background it is the command's end that says so.
	expect_ok "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" "$MNT"
	daemon=$(cat "$STORE/owner.pid")
	fusermount3 -u "$MNT"
	wait_until "is_gone $daemon"
	expect_equal "$(heard READY=1)" 3
	{ kill "$listener" && wait "$listener"; } 2>/dev/null || true
done
