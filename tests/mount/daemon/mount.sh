#!/bin/bash
# Mounting: in the background, as an ordinary user; what is refused.
. tests/mount/lib.sh

# Without -f the command returns when the mount answers, and leaves a daemon in a session of its own that holds nothing of
# the caller's: no terminal, no pipe, no directory.
background() {
	said=$(cd "$T" && "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" "$MNT" 2>&1)
	expect_equal "$said" ''
	is_mounted || fail "returned before it was mounted"
	expect_ok touch "$MNT/custom/x@a"
	daemon=$(pgrep -f -- "--store $STORE $MNT\$")
	expect_equal "$(ps -o sid= -p "$daemon" | tr -d ' ')" "$daemon"
	expect_equal "$(readlink "/proc/$daemon/cwd")" /
	for fd in 0 1 2; do
		expect_equal "$(readlink "/proc/$daemon/fd/$fd")" /dev/null
	done
	expect_ok fusermount3 -u "$MNT"
	wait_until "is_gone $daemon"
	! is_mounted || fail "still mounted"

	# A relative store and mount point mean the caller's directory.
	expect_ok bash -c 'cd "$1" && mkdir m && "$2/atlockfs" --store s m' - "$T" "$ATLOCKFS_BUILD"
	expect_ok touch "$T/m/custom/x@a"
	[ -d "$T/s" ] || fail "the store is elsewhere"
	daemon=$(pgrep -f -- "--store s m\$" | while read -r pid; do [ ! "/proc/$pid/exe" -ef "$ATLOCKFS_BUILD/atlockfs" ] || echo "$pid"; done)
	expect_ok fusermount3 -u "$T/m"
	wait_until "is_gone $daemon"

	# What goes wrong later than the fork reaches the caller as well.
	mount_fs
	expect_fail "$DAEMON" "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" "$T/m"
}

# Mounting is refused, with a reason and status 1, on what is not an empty directory or is mounted already, with a store
# that another daemon uses, and with one that has lost its main file.
refusals() {
	needs_root
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
}

# An ordinary user mounts for himself: everything works for him, others see nothing, and a crash leaves an unwritable
# directory to him too.
unprivileged() {
	needs_root
	[ "$(stat -c %a /dev/fuse)" = 666 ] || skip "/dev/fuse is not for everybody here"
	as_user atlt1 mkdir -m 700 "$T/home"
	as_user atlt1 mkdir "$T/home/mnt"
	cp "$ATLOCKFS_BUILD/atlockfs" "$T/atlockfs"
	chmod 755 "$T/atlockfs"
	mine=$T/home/mnt
	start() {
		expect_ok as_user atlt1 setsid "$T/atlockfs" --store "$T/home/s" "$mine"
		daemon=$(pgrep -u atlt1 -f -- "--store $T/home/s $mine\$")
	}

	start
	expect_ok as_user atlt1 touch "$mine/custom/x@a"
	expect_equal "$(as_user atlt1 sed -n 's/^owner=//p' "$mine/custom/x")" atlt1
	expect_ok as_user atlt1 flock "$mine/custom/y" true
	expect_fail 'busy' as_user atlt1 touch "$mine/custom/x@b"
	expect_ok as_user atlt1 mkdir "$mine/custom/d"
	expect_fail 'Permission denied' ls "$mine"
	expect_fail 'Permission denied' as_user atlt2 ls "$mine"

	notifier=$(notifier_of "$daemon")
	kill -KILL "$daemon"
	wait_until "is_gone $daemon"
	notifier_wait "$notifier"
	expect_fail 'not connected' as_user atlt1 touch "$mine/custom/x@a"
	expect_ok as_user atlt1 fusermount3 -uz "$mine"
	expect_fail 'Permission denied' as_user atlt1 touch "$mine/lock"
	start
	expect_ok as_user atlt1 cat "$mine/custom/x@a" >/dev/null
	expect_ok as_user atlt1 fusermount3 -u "$mine"
	wait_until "is_gone $daemon"
	expect_ok as_user atlt1 touch "$mine/file"
}

behaviours background refusals unprivileged
