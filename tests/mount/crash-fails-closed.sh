#!/bin/bash
# root
# A daemon that died means ENOTCONN for everything, and when its mount is taken away the directory underneath lets nobody
# create anything, not even root: no lock ever seems to be taken.
. "$(dirname "$0")/lib.sh"
chmod 0777 "$MNT"
mount_fs

expect_ok touch "$MNT/custom/x@a"
exec 7>>"$MNT/custom/x@a"
crash_daemon
refuses() {
	local text=$1
	shift
	expect_fail "$text" "$@" touch "$MNT/custom/y"
	expect_fail "$text" "$@" bash -c 'set -C; : >"$1"' - "$MNT/custom/x"
	expect_fail "$text" "$@" bash -c ': >"$1"' - "$MNT/lock"
	expect_fail "$text" "$@" mkdir "$MNT/custom"
	expect_fail "$text" "$@" mkdir -p "$MNT/repos/a/-/b/-"
	expect_fail "$text" "$@" flock "$MNT/lock" true
	expect_fail "$text" "$@" cat "$MNT/custom/x"
	expect_fail "$text" "$@" ln -s x "$MNT/lock"
}
refuses 'not connected'
expect_fail 'not connected' touch -c "$MNT/custom/x@a"
expect_fail 'not connected' rm -f "$MNT/custom/x@a"
expect_fail 'not connected' ls "$MNT"
refuses 'not connected' as_user atlt1
! echo k=v >&7 2>/dev/null || fail "wrote to a dead daemon"
exec 7>&-

# Mounting over it says what to do.
expect_fail 'fusermount3 -uz' "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" "$MNT"
fusermount3 -uz "$MNT"
refuses '' as_user atlt1
refuses ''
expect_equal "$(find "$MNT" -mindepth 1)" ''

# The next daemon mounts there all the same, and gives the directory back as it was.
mount_fs
expect_equal "$(field "$MNT/custom/x" who)" a
unmount_fs
expect_equal "$(stat -c %a "$MNT")" 777
expect_ok touch "$MNT/file"
expect_ok rm "$MNT/file"
