#!/bin/bash
# root
# global/ holds the locks of commands: flat, no mkdir, for everybody, told apart from all others.
. "$(dirname "$0")/lib.sh"
mount_fs

expect_ok as_user atlt1 touch "$MNT/global/apply@ops"
expect_equal "$(ls "$MNT/global")" apply
expect_equal "$(field "$MNT/global/apply" type)" global
expect_fail 'Permission denied' as_user atlt2 touch "$MNT/global/apply"
expect_ok as_user atlt2 touch "$MNT/global/plan"
expect_ok touch "$MNT/custom/apply" "$MNT/repos/a/b/-/c/-/apply"
expect_fail 'Operation not permitted' mkdir "$MNT/global/dir"
expect_errno ENOTDIR open "$MNT/global/apply/below" wronly,creat
expect_errno ENOENT open "$MNT/global/none/below" wronly,creat
expect_ok as_user atlt1 rm "$MNT/global/apply@ops"
expect_equal "$(ls "$MNT/global")" plan
remount_fs
expect_equal "$(ls "$MNT/global")" plan
expect_equal "$(field "$MNT/global/plan" owner)" atlt2
