#!/bin/bash
# root
# An ordinary user mounts for himself: everything works for him, others see nothing, and a crash leaves an unwritable
# directory to him too.
. "$(dirname "$0")/lib.sh"

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

kill -KILL "$daemon"
wait_until "is_gone $daemon"
expect_fail 'not connected' as_user atlt1 touch "$mine/custom/x@a"
expect_ok as_user atlt1 fusermount3 -uz "$mine"
expect_fail 'Permission denied' as_user atlt1 touch "$mine/lock"
start
expect_ok as_user atlt1 cat "$mine/custom/x@a" >/dev/null
expect_ok as_user atlt1 fusermount3 -u "$mine"
wait_until "is_gone $daemon"
expect_ok as_user atlt1 touch "$mine/file"
