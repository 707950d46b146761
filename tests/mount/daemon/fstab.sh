#!/bin/bash
# root
# mount(8) mounts it by its type, from the command line and from fstab as at boot, and umount(8) ends it.
. tests/mount/lib.sh
needs_own_mounts

# mount.fuse3 looks for the program where distributions have theirs; in this mount namespace it is there.
mkdir "$T/bin"
install -m 755 "$ATLOCKFS_BUILD/atlockfs" "$T/bin/atlockfs"
mount --bind "$T/bin" /usr/local/bin
PATH=$PATH:/usr/local/bin

daemon_of() { cat "${1:-$STORE}/owner.pid"; }
ended() {
	local daemon
	daemon=$(daemon_of "$@")
	expect_ok umount "$MNT"
	wait_until "is_gone $daemon"
	! is_mounted || fail "still mounted"
}

expect_ok mount -t fuse.atlockfs "$STORE" "$MNT" -o max_ttl=9h,default_ttl=7m
is_mounted || fail "not mounted"
expect_ok touch "$MNT/custom/x@a"
expect_equal "$(field "$MNT/custom/x" ttl)" 7m
expect_equal "$(findmnt -n -o SOURCE "$MNT")" "$STORE"
# mount.fuse3 asks for dev and suid; they are not given.
for word in nosuid nodev; do
	findmnt -n -o OPTIONS "$MNT" | grep -w "$word" >/dev/null || fail "not $word: $(findmnt -n -o OPTIONS "$MNT")"
done
expect_ok as_user atlt1 touch "$MNT/custom/y@b"
ended

# As at boot: every line that is not mounted yet, and a second time it is nothing to do.
mkdir "$T/second mnt"
printf '%s %s fuse.atlockfs defaults,nofail,_netdev,x-systemd.requires=local-fs.target,max_ttl=9h 0 0\n' "$STORE" "$MNT" >"$T/fstab"
printf '%s %s fuse.atlockfs noatime,max_ttl=3h 0 0\n' "$T/other,store" "$T/second\\040mnt" >>"$T/fstab"
for _ in 1 2; do
	expect_ok mount -a -T "$T/fstab"
done
expect_equal "$(grep -c "$T/second\\\\040mnt fuse" /proc/self/mounts)" 1
expect_equal "$(grep -cF " $MNT fuse.atlockfs " /proc/self/mounts)" 1
[ -e "$MNT/custom/x" ] || fail "another store"
expect_equal "$(cat "$MNT/config/max_ttl" "$T/second mnt/config/max_ttl")" $'9h\n3h'
daemon=$(daemon_of "$T/other,store")
expect_ok umount "$T/second mnt"
wait_until "is_gone $daemon"
ended

# The older way to name the program.
expect_ok mount -t fuse "atlockfs#$STORE" "$MNT"
[ -e "$MNT/custom/x" ] || fail "another store"
ended

# The store may be left to the configuration, and not be given twice.
printf 'store = %s\n' "$STORE" >"$T/conf"
for source in none atlockfs; do
	expect_ok mount -t fuse.atlockfs "$source" "$MNT" -o config="$T/conf"
	[ -e "$MNT/custom/x" ] || fail "another store"
	ended
done
expect_fail 'given twice' mount -t fuse.atlockfs "$T/other" "$MNT" -o store="$STORE"
