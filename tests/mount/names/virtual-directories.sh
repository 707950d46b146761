#!/bin/bash
# root
# Below repos/ every valid directory is there when it is named, and listed only while something is in it.
. tests/mount/lib.sh
mount_fs

[ -d "$MNT/repos/any/where/-/at/all" ] || fail "not there"
expect_equal "$(ls -A "$MNT/repos/any/where/-/at/all/-")" ''
expect_equal "$(ls -A "$MNT/repos")" ''
expect_equal "$(find "$MNT/repos" -mindepth 1)" ''
(cd "$MNT/repos/acme/infra/-/modules/vpc/-" && expect_ok touch production staging)
expect_equal "$(cd "$MNT/repos" && find . -mindepth 1 | sort)" './acme
./acme/infra
./acme/infra/-
./acme/infra/-/modules
./acme/infra/-/modules/vpc
./acme/infra/-/modules/vpc/-
./acme/infra/-/modules/vpc/-/production
./acme/infra/-/modules/vpc/-/staging'
expect_equal "$(ls "$MNT/repos/acme")" infra

# mkdir finds what is there already, mkdir -p is content, and a name where only a lock can be is no directory.
expect_fail 'File exists' mkdir "$MNT/repos/new"
expect_ok mkdir -p "$MNT/repos/a/b/-/c/-"
expect_fail 'Operation not permitted' mkdir "$MNT/repos/a/b/-/c/-/w"
expect_errno ENOTDIR stat "$MNT/repos/acme/infra/-/modules/vpc/-/production/below"
expect_errno EISDIR open "$MNT/repos/acme" wronly
expect_errno EISDIR open "$MNT/repos/acme" wronly,creat
expect_errno EEXIST open "$MNT/repos/acme" wronly,creat,excl
expect_errno EISDIR unlink "$MNT/repos/acme"

# rmdir of an empty one changes nothing and is fine; of another, ENOTEMPTY; of a lock, ENOTDIR; of the roots, no.
expect_ok rmdir "$MNT/repos/new"
expect_ok rmdir "$MNT/repos/new"
expect_fail 'Directory not empty' rmdir "$MNT/repos/acme"
expect_fail 'Directory not empty' rmdir "$MNT/repos/acme/infra/-/modules/vpc/-"
expect_fail 'Not a directory' rmdir "$MNT/repos/acme/infra/-/modules/vpc/-/production"
for name in repos custom global queue wait; do
	expect_fail '' rmdir "$MNT/$name"
	[ -d "$MNT/$name" ] || fail "$name is gone"
done
expect_errno EPERM mkdir "$MNT/other"
expect_errno EPERM open "$MNT/file" wronly,creat
expect_errno EPERM unlink "$MNT/README"
expect_fail '' as_user atlt1 mkdir "$MNT/other"

# Anybody may use them; they belong to nobody in particular.
expect_ok as_user atlt1 touch "$MNT/repos/acme/infra/-/modules/dns/-/production"
expect_fail '' chmod 700 "$MNT/repos"
expect_fail '' chown atlt1 "$MNT/repos/acme"
expect_equal "$(stat -c '%a %U' "$MNT/repos" "$MNT/repos/acme" | sort -u)" '777 root'

# The last lock takes its directories with it.
free_lock "$MNT/repos/acme/infra/-/modules/dns/-/production"
expect_ok rm -r "$MNT/repos/acme"
expect_equal "$(ls -A "$MNT/repos")" ''

# Whoever works in one that another removes finds nothing there, but can go there again at once, and others can too.
session_start inside
expect_ok session inside cd "$MNT/repos/new"
expect_ok rmdir "$MNT/repos/new"
expect_fail 'No such file' session inside touch ./-/d/-/w
expect_ok touch "$MNT/repos/new/-/d/-/w"
expect_ok rm "$MNT/repos/new/-/d/-/w"
expect_ok session inside cd "$MNT/repos/new"
expect_ok session inside touch ./-/d/-/w
expect_ok session inside rm ./-/d/-/w
expect_ok session inside cd /
