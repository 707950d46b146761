#!/bin/bash
# root
# Owner, group and mode of a directory in custom/ say who may use it: search, list, create, remove, the sticky bit, set-group-ID.
. "$(dirname "$0")/lib.sh"
mount_fs

cd "$MNT/custom"
one() { as_user atlt1 "$@"; }
two() { as_user atlt2 "$@"; }
expect_ok one mkdir team
expect_equal "$(stat -c '%U:%G %a' team)" 'atlt1:atlt1 755'
expect_ok one touch team/a@x
expect_fail 'Permission denied' two touch team/b
expect_fail 'Permission denied' two mkdir team/d
expect_fail 'Permission denied' two rm -f team/a
expect_fail 'Permission denied' two flock -n team/b true
expect_fail 'Permission denied' two sh -c 'cat "$1" </dev/null' sh "$MNT/wait/custom/team/b"
expect_ok two cat team/a >/dev/null
expect_ok two ls team >/dev/null
expect_fail 'Operation not permitted' two chmod 777 team
expect_fail 'Operation not permitted' two chown atlt2 team
expect_fail 'Operation not permitted' one chown atlt2 team
expect_ok one chmod 700 team
expect_fail 'Permission denied' two ls team
expect_fail 'Permission denied' two cat team/a
expect_errno ENOENT stat team/none
expect_fail 'Permission denied' two stat team/none
expect_ok one chmod 711 team
expect_fail 'Permission denied' two ls team
expect_ok two cat team/a >/dev/null
expect_ok one chmod 500 team
expect_fail 'Permission denied' one touch team/b
expect_fail 'Permission denied' one rm -f team/a@x
expect_ok touch team/root-may
expect_ok rm team/root-may

# Group.
expect_ok chgrp atlt2 team
expect_ok chmod 770 team
expect_ok two touch team/b@y
expect_equal "$(stat -c %U team/b)" atlt2
expect_fail 'Permission denied' one rm -f team/b
expect_ok chmod 2770 team
expect_ok one mkdir team/sub
expect_equal "$(stat -c '%G %a' team/sub)" 'atlt2 2755' 'a set-group-ID directory passes its group on'
expect_fail '' one chgrp daemon team

# A sticky bit leaves directories to their owners; about locks the daemon decides either way.
expect_ok chmod 777 team
expect_ok one mkdir team/mine
expect_ok two rmdir team/mine
expect_ok chmod 1777 team
expect_ok one mkdir team/mine
expect_fail 'Operation not permitted' two rmdir team/mine
expect_fail 'Permission denied' two rm -f team/a
expect_ok two rm team/b@y
expect_ok one rmdir team/mine team/sub

# chown by root moves it; a mode set with mkdir -m and an umask.
expect_ok chown atlt2:daemon team
expect_equal "$(stat -c %U:%G team)" atlt2:daemon
expect_ok two chmod 755 team
expect_fail 'Permission denied' one touch team/c
expect_ok one sh -c 'umask 027; mkdir "$1"' sh plain
expect_equal "$(stat -c %a plain)" 750
expect_ok one mkdir -m 1733 drop
expect_equal "$(stat -c %a drop)" 1733

# The root of custom/ is root's to close.
expect_ok chmod 755 "$MNT/custom"
expect_fail 'Permission denied' one touch x
expect_fail 'Permission denied' one mkdir x
cd /
remount_fs
expect_equal "$(stat -c %a "$MNT/custom")" 755
expect_fail 'Permission denied' one touch "$MNT/custom/x"
expect_ok chmod 777 "$MNT/custom"
expect_ok one touch "$MNT/custom/x"

# What one user has just looked at is in the kernel's cache; another is refused all the same.
cd "$MNT/custom"
expect_ok one mkdir -m 700 private
expect_ok one mkdir private/sub
expect_ok one touch private/a@x private/sub/b@x
expect_ok one stat private/a private/sub/b >/dev/null
expect_fail 'Permission denied' two stat private/a
expect_fail 'Permission denied' two cat private/sub/b
expect_fail 'Permission denied' two env -C private true
! two test -e private/a || fail 'it is seen'
expect_ok one chmod 755 private
expect_ok two stat private/a >/dev/null
expect_ok one chmod 700 private
expect_fail 'Permission denied' two cat private/a
expect_fail 'Permission denied' two sh -c 'echo k=v >>private/a'
expect_fail 'Permission denied' two touch -c private/sub/b
expect_fail 'Permission denied' two ln private/a mine
expect_ok one chmod 755 private
expect_ok one chmod 600 private/a@x
! two test -r private/a || fail 'it can be read'
expect_ok one test -r private/a
expect_fail 'Permission denied' two getfattr -n user.token private/a
cd /
