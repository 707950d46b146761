#!/bin/bash
# root
# A disk that takes nothing more, as after errors: the daemon lives and says so, nothing is granted that would be lost, and on a disk
# that works again everything is there that was answered. A disk that is mounted read-only is read, and not served from.
. tests/mount/lib.sh
. tests/mount/disk.inc

# Takes or releases, and writes down what was answered.
take() { if touch "$MNT/custom/$1@h" 2>/dev/null; then echo "$1" >>"$T/held"; fi; }
drop() { if rm "$MNT/custom/$1@h" 2>/dev/null; then sed -i "/^$1\$/d" "$T/held"; fi; }

for type in ext4 xfs; do
	disk_is_known "$type" || { echo "$type: not in this kernel" && continue; }
	for sync in commit off; do
		echo "$type, sync=$sync"
		disk_make "$type"
		: >"$T/held"
		mount_fs -o "sync=$sync,deadlock_interval=1s"
		for i in $(seq 20); do take "l$i"; done
		expect_equal "$(wc -l <"$T/held")" 20
		sync -f "$DISK"
		xfs_io -x -c 'shutdown -f' "$DISK"
		for i in 1 2 3; do drop "l$i"; done
		# Without waiting for the disk, what it does not take is noticed when LMDB is given what the log has.
		[ "$sync" = off ] || expect_fail 'Input/output error' touch "$MNT/custom/later@h"
		wait_until 'grep -q "^failing store: " "$MNT/health"' 30
		expect_ok cat "$MNT/why" >/dev/null
		unmount_fs
		umount "$DISK"
		mount -o loop "$T/images/$type" "$DISK"
		mount_fs
		[ "$sync" = off ] || expect_equal "$(ls "$MNT/custom" | sort)" "$(sort "$T/held")"
		expect_equal "$(head -n 1 "$MNT/health")" ok
		unmount_fs
		disk_remove "$type"
	done
done

for type in ext4 xfs btrfs; do
	disk_is_known "$type" || continue
	disk_make "$type"
	mount_fs
	expect_ok touch "$MNT/custom/a@h"
	crash_daemon
	fusermount3 -uz "$MNT"
	mount -o remount,ro "$DISK"
	expect_fail 'Read-only file system' "$ATLOCKFS_BUILD/atlockfs" -f --store "$STORE" "$MNT"
	! is_mounted || fail "mounted"
	expect_status 0 "$ATLOCK" ls --store "$STORE"
	grep -q '^custom/a' "$T/out" || fail "$(cat "$T/out")"
	disk_remove "$type"
done
