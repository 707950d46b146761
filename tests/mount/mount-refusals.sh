#!/bin/bash
# root
# Mounting is refused, with a reason and status 1, on what is not an empty directory or is mounted already, with a store
# that another daemon uses, and with one that has lost its main file.
. "$(dirname "$0")/lib.sh"

refuses() {
	local text=$1
	shift
	expect_fail "$text" "$ATLOCKFS_BUILD/atlockfs" "$@"
	! grep -q "fuse.atlockfs" <(grep -F " $T/" /proc/self/mounts) || fail "mounted: atlockfs $*"
}

mkdir "$T/empty" "$T/full" "$T/tmpfs"
touch "$T/full/.hidden" "$T/file"
refuses 'not empty' --store "$T/s" "$T/full"
refuses 'Not a directory' --store "$T/s" "$T/file"
refuses 'missing: No such file or directory: mkdir it first' --store "$T/s" "$T/missing"
expect_equal "$(stat -c %a "$T/full")" 755
[ ! -e "$T/s" ] || fail "a store was made for nothing"

mount_fs
refuses 'mounted there already' --store "$T/s" "$MNT"
refuses "$DAEMON" --store "$STORE" "$T/empty"
expect_ok touch "$T/empty/writable"
expect_ok rm "$T/empty/writable"
mount -t tmpfs none "$T/tmpfs"
refuses 'mounted there already' --store "$T/s" "$T/tmpfs"
umount "$T/tmpfs"

# A store that cannot be: below a file, or in a directory of something else.
refuses '' --store "$T/file/s" "$T/empty"
expect_equal "$(stat -c %a "$T/empty")" 755
expect_ok touch "$T/empty/writable"

# What is left of a store is not taken for a new one.
expect_ok touch "$MNT/custom/kept@me"
unmount_fs
mv "$STORE/data.mdb" "$T/away"
refuses 'commit.log is there and data.mdb is not: put data.mdb back' --store "$STORE" "$MNT"
[ ! -e "$STORE/data.mdb" ] || fail "a new store was begun"
mv "$T/away" "$STORE/data.mdb"
mount_fs
expect_ok test -e "$MNT/custom/kept@me"
