#!/bin/bash
# root
# Unmounting gives the mount point back as it was, an immutable one too. While a mount whose connection was cut still lies on
# it, it stays unwritable, and the next daemon there still knows how it was.
. tests/mount/lib.sh

flag() {
	lsattr -d "$1" | cut -c5
}
is_underneath() {
	expect_equal "$(stat -c %a "$T/below/${MNT##*/}")" "$1"
	expect_equal "$(flag "$T/below/${MNT##*/}")" "$2"
}
attributes() {
	getfattr -d -m - --absolute-names "$MNT" | grep atlockfs || true
}

mkdir "$T/below" "$T/control"
chmod 0751 "$MNT"
chattr +i "$MNT" || skip "this file system has no immutable directories"
mount --bind "${MNT%/*}" "$T/below"
trap 'umount "$T/below" "$T/control" 2>/dev/null; chattr -i "$MNT" 2>/dev/null; finish $?' EXIT
mount --make-private "$T/below"
mount -t fusectl fusectl "$T/control"

# Refused, it has touched nothing.
expect_fail 'key file' "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" -o key_file=/nowhere "$MNT"
is_underneath 751 i

mount_fs
is_underneath 555 i
unmount_fs
is_underneath 751 i
expect_equal "$(attributes)" ''

# After a crash.
mount_fs
crash_daemon
fusermount3 -uz "$MNT"
is_underneath 555 i
mount_fs
unmount_fs
is_underneath 751 i

# Not immutable before.
chattr -i "$MNT"
mount_fs
is_underneath 555 i

# The connection is cut: the daemon ends by itself, with a status of its own, and the mount is still there.
cut_off() {
	local device pid=$DAEMON status=0
	device=$(mountpoint -d "$MNT" | cut -d: -f2)
	DAEMON=
	echo 1 >"$T/control/$device/abort"
	wait "$pid" || status=$?
	expect_equal $status 2
	expect_fail '' ls "$MNT"
	is_underneath 555 i
	fusermount3 -uz "$MNT"
	expect_fail '' touch "$MNT/custom"
}
cut_off
mount_fs -o run_as=atlt2
cut_off
chown -R root "$STORE"
mount_fs
unmount_fs
is_underneath 751 -
expect_equal "$(attributes)" ''

# The same where the table of mounts spells the path otherwise.
blank="$T/with a blank"
mkdir "$blank" "$T/below2"
mount --bind "$T" "$T/below2"
expect_ok "$ATLOCKFS_BUILD/atlockfs" --store "$T/other" "$blank"
device=$(mountpoint -d "$blank" | cut -d: -f2)
pid=$(cat "$T/other/owner.pid")
echo 1 >"$T/control/$device/abort"
wait_until "is_gone $pid"
mode=$(stat -c %a "$T/below2/with a blank")
fusermount3 -uz "$blank"
umount "$T/below2"
chattr -i "$blank"
expect_equal "$mode" 555
