#!/bin/bash
# root
# An open file speaks of the lock it was opened for: after that has ended, ESTALE; after it was given away, EPERM or EACCES.
. "$(dirname "$0")/lib.sh"
mount_fs

lock=$MNT/custom/x
exec {stale}>>"$lock"
expect_ok rm "$lock"
expect_fail 'Stale file handle' bash -c 'echo a=1 >&'"$stale"
grep -q '^LOCK_EXPIRED: ' "$MNT/why" || fail "$(cat "$MNT/why")"
! [ -e "$lock" ] || fail "the write took it again"

# A later lock of the same name, even of the same holder, is not touched through the old file.
expect_ok touch "$lock"
before=$(cat "$lock")
expect_fail 'Stale file handle' bash -c 'echo a=1 >&'"$stale"
expect_equal "$(cat "$lock")" "$before"
exec {stale}>&-
expect_errno ESTALE open "$lock" rdonly + read + unlink "$lock" + lseek 0 + read
expect_errno ESTALE open "$lock" rdwr,creat + unlink "$lock" + read
expect_errno ESTALE open "$lock" rdwr,creat + unlink "$lock" + ftruncate 0
# The kernel does not say which open file a time is set through.
expect_errno ENOENT open "$lock" rdwr,creat + unlink "$lock" + futimens now now

# Given to another who of the same user, and to another user.
exec {mine}>>"$lock"
echo who=build-17 >>"$lock"
expect_fail 'Operation not permitted' bash -c 'echo a=1 >&'"$mine"
chown atlt1 "$lock@build-17"
expect_fail 'Permission denied' bash -c 'echo a=1 >&'"$mine"
! grep -q '^a=' "$lock" || fail "written"
exec {mine}>&-
