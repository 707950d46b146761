#!/bin/bash
# root
# A lock's mode is its holder's to set; it says who may read, and never who holds it.
. tests/mount/lib.sh
mount_fs

lock=$MNT/custom/x
expect_ok as_user atlt1 touch "$lock@a"
expect_equal "$(stat -c %a "$lock")" 644
expect_ok as_user atlt1 chmod 600 "$lock@a"
expect_equal "$(stat -c %a "$lock")" 600
expect_fail 'Permission denied' as_user atlt2 cat "$lock"
expect_fail 'Permission denied' as_user atlt2 touch "$lock"
expect_ok as_user atlt1 cat "$lock" >/dev/null
expect_fail 'Operation not permitted' as_user atlt1 chmod 644 "$lock"
expect_fail 'Operation not permitted' as_user atlt2 chmod 644 "$lock"
expect_equal "$(stat -c %a "$lock")" 600
expect_fail 'Operation not permitted' chmod 640 "$lock"
expect_ok chmod 640 "$lock@a"
expect_equal "$(stat -c %a "$lock")" 640

# Write permission for others does not make them holders.
expect_ok as_user atlt1 chmod 666 "$lock@a"
before=$(cat "$lock")
expect_fail 'Permission denied' as_user atlt2 touch "$lock"
expect_fail 'Permission denied' as_user atlt2 bash -c 'echo a=1 >> "$1"' sh "$lock"
expect_fail 'Operation not permitted' as_user atlt2 touch -c "$lock"
expect_fail 'Permission denied' as_user atlt2 rm "$lock"
expect_equal "$(cat "$lock")" "$before"

# It stays through a renewal and a remount, and the next lock of that name begins anew. The umask counts.
expect_ok as_user atlt1 touch "$lock@a"
remount_fs
expect_equal "$(stat -c %a "$lock")" 666
expect_ok as_user atlt1 rm "$lock@a"
expect_ok as_user atlt1 sh -c 'umask 077; touch "$1"' sh "$lock@a"
expect_equal "$(stat -c %a "$lock")" 600
expect_ok rm "$lock@a"
expect_ok "$SYS" open "$lock" wronly,creat 0604 + fchmod 0640
expect_equal "$(stat -c %a "$lock")" 640
