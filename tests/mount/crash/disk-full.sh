#!/bin/bash
# long
# root
# timeout: 240
# A disk that is full to the brim, of every kind of file system: the daemon lives, every release goes through, and nothing that was
# answered is lost, also by a daemon that is started there.
. tests/mount/lib.sh
. tests/mount/disk.inc
LOCKS=90

names() { seq -f "$MNT/custom/l%g@h" "$@"; }

# shellcheck disable=SC2046 # words
fill_and_release() {
	mount_fs -o "sync=$1"
	expect_ok touch $(names $LOCKS)
	disk_fill
	expect_ok rm $(names 1 30)
	# Taking may be refused or not, but it is one of both.
	touch "$MNT/custom/taken@h" 2>/dev/null && taken=yes || taken=no
	expect_ok cat $(names 31 $LOCKS) >/dev/null
	remount_fs -o "sync=$1"
	expect_ok rm $(names 31 60)
	kill_daemon
	mount_fs -o "sync=$1"
	expect_equal "$(test -e "$MNT/custom/taken" && echo yes || echo no)" "$taken" 'taken when the disk was full'
	rm -f "$MNT/custom/taken@h"
	expect_equal "$(find "$MNT/custom" -type f | wc -l)" $((LOCKS - 60))
	rm -f "$DISK"/fill-* "$DISK"/small-*
	wait_until 'touch "$MNT/custom/again@h" 2>/dev/null'
	expect_ok rm $(names 61 $LOCKS) "$MNT/custom/again@h"
	unmount_fs
	rm -r "$STORE"
}

for type in $DISK_TYPES; do
	disk_is_known "$type" || { echo "$type: not in this kernel" && continue; }
	disk_make "$type"
	for sync in commit off; do
		echo "$type, sync=$sync"
		fill_and_release $sync
	done
	disk_remove "$type"
done
