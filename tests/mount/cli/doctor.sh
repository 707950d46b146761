#!/bin/bash
# root
# atlock doctor says of everything a mount needs whether it is in order, and what to do if not.
. tests/mount/lib.sh
needs_own_mounts
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
grep -qF "the daemon is dead: unmount it (fusermount3 -uz $MNT)" "$T/err" || fail "$(cat "$T/err")"

# Several mounts, one of them dead: each is looked at, and the dead one does not hide the other.
mkdir "$T/second"
setsid "$ATLOCKFS_BUILD/atlockfs" --store "$T/second.store" "$T/second"
expect_status 1 "$ATLOCK" doctor
grep -qF "fusermount3 -uz $MNT)" "$T/err" || fail "$(cat "$T/err")"
grep -qE "^ok +mount +$T/second\$" "$T/out" || fail "$(cat "$T/out")"
fusermount3 -uz "$MNT"
expect_status 0 env ATLOCKFS="$T/second" "$ATLOCK" doctor
fusermount3 -u "$T/second"

# A /dev/fuse for root alone.
mkdir "$T/dev"
mount -t tmpfs none "$T/dev"
cp -a /dev/fuse "$T/dev/fuse"
chmod 600 "$T/dev/fuse"
mount --bind "$T/dev/fuse" /dev/fuse
expect_status 1 as_user atlt1 "$ATLOCK" doctor
grep -qE '^bad +fuse .*may not be opened by you \(mode 600\): chmod 666 /dev/fuse' "$T/out" || fail "$(cat "$T/out")"
"$ATLOCK" doctor >"$T/out" 2>&1 || true
grep -qE '^odd +fuse .*mode 600' "$T/out" || fail "$(cat "$T/out")"
umount /dev/fuse "$T/dev"

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
