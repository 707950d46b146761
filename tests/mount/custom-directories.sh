#!/bin/bash
# Directories of custom/ are ordinary and durable: mkdir, rmdir, listings, times, link counts, errors.
. "$(dirname "$0")/lib.sh"
mount_fs

cd "$MNT/custom"
expect_fail 'No such file or directory' touch team/nightly
expect_ok mkdir team team/db
expect_fail 'File exists' mkdir team
expect_ok mkdir -p team/db/primary/eu
expect_equal "$(find . -type d | sort | tr '\n' ' ')" '. ./team ./team/db ./team/db/primary ./team/db/primary/eu '
expect_ok touch team/nightly team/db/backup
expect_equal "$(ls team)" $'db\nnightly'
expect_equal "$(stat -c %h team) $(stat -c %h team/db/primary/eu)" '3 2' 'links count subdirectories'
expect_fail 'File exists' mkdir team/nightly
expect_fail 'Is a directory' bash -c ': > team/db'
expect_errno ENOTDIR mkdir team/nightly/below
expect_errno ENOTDIR rmdir team/nightly
expect_errno EISDIR unlink team/db
expect_errno ENOENT rmdir team/none
expect_errno ENOENT mkdir none/below
expect_fail 'Directory not empty' rmdir team
expect_fail 'Directory not empty' rmdir team/db
expect_errno EEXIST mkdir team/db

# A lock in it keeps it, also one that was taken under another who.
expect_ok rmdir team/db/primary/eu team/db/primary
expect_ok rm team/db/backup
expect_ok in_session touch team/db/backup@x
expect_fail 'Directory not empty' rmdir team/db
expect_ok rm team/db/backup@x
expect_ok rmdir team/db

# mtime moves when an entry comes or goes, and can be set; atime too.
mtime() { stat -c %.9Y "$1"; }
for change in 'touch team/a' 'rm team/a' 'mkdir team/d' 'rmdir team/d'; do
	was=$(mtime team)
	expect_ok $change
	[ "$(mtime team)" \> "$was" ] || fail "$change left mtime at $was"
done
was=$(mtime team)
expect_ok touch team/nightly
expect_equal "$(mtime team)" "$was" 'a renewal is no change of the directory'
expect_ok touch -d '2020-02-02 02:02:02 UTC' team
expect_equal "$(stat -c %Y team)" 1580608922
expect_ok touch team
[ "$(($(date +%s) - $(stat -c %Y team)))" -lt $((60 * TIME_FACTOR)) ] || fail "touch of a directory"

# Everything is there after a remount, with the same inodes.
expect_ok mkdir -m 1750 team/kept
expect_ok touch -d '2021-01-01 UTC' team/kept
show() { find "$MNT/custom" -printf '%P %i %m %u %g %n ' \( -type d -printf '%T@' -o -true \) -printf '\n' | sort; }
before=$(show)
cd /
remount_fs
expect_equal "$(show)" "$before" 'after a remount'
expect_ok rmdir "$MNT/custom/team/kept"

# A directory that is removed while it is somebody's working directory.
cd "$MNT/custom"
mkdir gone
cd gone
expect_ok rmdir "$MNT/custom/gone"
expect_fail 'No such file or directory' touch x
expect_fail '' mkdir y
expect_ok mkdir "$MNT/custom/gone"
expect_fail 'No such file or directory' touch x
expect_equal "$(ls -A "$MNT/custom/gone")" '' 'the new one of that name'
cd /
expect_ok rm -r "$MNT/custom/team" "$MNT/custom/gone"
expect_equal "$(ls -A "$MNT/custom")" ''
