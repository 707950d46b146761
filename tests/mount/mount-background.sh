#!/bin/bash
# Without -f the command returns when the mount answers, and leaves a daemon in a session of its own that holds nothing of
# the caller's: no terminal, no pipe, no directory.
. "$(dirname "$0")/lib.sh"

said=$(cd "$T" && "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" "$MNT" 2>&1)
expect_equal "$said" ''
is_mounted || fail "returned before it was mounted"
expect_ok touch "$MNT/custom/x@a"
daemon=$(pgrep -f -- "--store $STORE $MNT\$")
expect_equal "$(ps -o sid= -p "$daemon" | tr -d ' ')" "$daemon"
expect_equal "$(readlink "/proc/$daemon/cwd")" /
for fd in 0 1 2; do
	expect_equal "$(readlink "/proc/$daemon/fd/$fd")" /dev/null
done
expect_ok fusermount3 -u "$MNT"
wait_until "is_gone $daemon"
! is_mounted || fail "still mounted"

# A relative store and mount point mean the caller's directory.
expect_ok bash -c 'cd "$1" && mkdir m && "$2/atlockfs" --store s m' - "$T" "$ATLOCKFS_BUILD"
expect_ok touch "$T/m/custom/x@a"
[ -d "$T/s" ] || fail "the store is elsewhere"
daemon=$(pgrep -f -- "--store s m\$" | while read -r pid; do [ ! "/proc/$pid/exe" -ef "$ATLOCKFS_BUILD/atlockfs" ] || echo "$pid"; done)
expect_ok fusermount3 -u "$T/m"
wait_until "is_gone $daemon"

# What goes wrong later than the fork reaches the caller as well.
mount_fs
expect_fail "$DAEMON" "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" "$T/m"
