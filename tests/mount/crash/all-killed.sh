#!/bin/bash
# root
# All processes of a daemon are killed at once, in the moment that leaves callers behind: nobody answers them. A daemon that is started
# there says so and what to do, which frees the callers.
. tests/mount/lib.sh
. tests/mount/directory-held.inc
mount_fs
hold_directory
daemon=$DAEMON
DAEMON=
# In this order: with the daemon alone gone, its thread that answers might do so.
kill -KILL "$NOTIFIER" "$daemon"
wait "$daemon" 2>/dev/null || true
sleeps_hard "$NOTIFIER" || fail 'no caller is left behind'

expect_status 1 "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" "$MNT"
grep -q 'a mount is there that does not answer' "$T/err" || fail "said $(cat "$T/err")"
advice=$(sed -n "s/.*run '\(.*\)' as root.*/\1/p" "$T/err")
expect_equal "$advice" "umount -l -f $MNT"
$advice
callers_refused
mount_fs
expect_ok touch "$MNT/custom/new"
