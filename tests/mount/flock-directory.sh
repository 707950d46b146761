#!/bin/bash
# A lock whose name lacks a "-" is a directory. flock(2) on it would be the kernel's own and protect nothing: it is refused.
. "$(dirname "$0")/lib.sh"
mount_fs

mkdir "$MNT/custom/dir"
for dir in repos/acme/infra/production repos/acme/infra/-/production; do
	expect_fail "Is a directory" flock -n "$MNT/$dir" true
	grep -q "is a directory, not a lock" "$MNT/why" || fail "why does not say that $dir is a directory"
done
expect_fail "Is a directory" touch "$MNT/repos/acme/infra/-/production"
grep -q "is a directory, not a lock" "$MNT/why" || fail "why says nothing of the touch"
for dir in . repos custom custom/dir; do
	# What is counted there changes while it is read, which tar minds.
	expect_ok tar -cf /dev/null --exclude=./metrics -C "$MNT" "$dir"
	expect_ok sync "$MNT/$dir"
	expect_ok ls "$MNT/$dir"
	expect_ok find "$MNT/$dir"
done
