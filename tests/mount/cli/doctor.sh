#!/bin/bash
# root
# atlock doctor says of everything a mount needs whether it is in order, and what to do if not.
. tests/mount/lib.sh
mount_fs
chmod 700 "$STORE"

expect_status 64 "$ATLOCK" doctor too many
expect_status 0 "$ATLOCK" doctor -m "$MNT"
for about in kernel fuse programs mount version health permissions store locking; do
	grep -q "^ok *$about " "$T/out" || fail "$about: $(cat "$T/out")"
done
grep -qE '^(ok|odd) *clock ' "$T/out" || fail "$(cat "$T/out")"
grep -qF "$STORE, " "$T/out" || fail "$(cat "$T/out")"
expect_equal "$(cat "$MNT/locks.jsonl")" ''

# An ordinary user may not see the store; that is odd, not bad.
expect_status 0 as_user atlt1 "$ATLOCK" doctor -m "$MNT"
chmod 755 "$STORE"
expect_status 0 "$ATLOCK" doctor -m "$MNT"
grep -q '^odd *store .*chmod 700' "$T/out" || fail "$(cat "$T/out")"

# No fusermount3 for a user; no mount; a dead one.
expect_status 1 as_user atlt1 env PATH=/nonexistent "$ATLOCK" doctor -m "$MNT"
grep -q '^bad *programs .*install fuse3' "$T/out" || fail "$(cat "$T/out")"
expect_status 1 "$ATLOCK" doctor -m "$T"
grep -q '^bad *mount ' "$T/out" || fail "$(cat "$T/out")"
grep -q 'no atlockfs is mounted there' "$T/err" || fail "$(cat "$T/err")"
crash_daemon
expect_status 1 "$ATLOCK" doctor -m "$MNT"
grep -q 'the daemon is dead' "$T/err" || fail "$(cat "$T/err")"
fusermount3 -uz "$MNT"

# What counts is how much the store can take, also in room that its file has already: not what is left on the disk.
. tests/mount/disk.inc
disk_make tmpfs
mount_fs
disk_fill
chmod 700 "$STORE"
expect_status 0 "$ATLOCK" doctor -m "$MNT"
grep -qE '^odd *store .*: room for [1-9][0-9]* KiB more ' "$T/out" || fail "$(cat "$T/out")"
unmount_fs
disk_remove tmpfs
