#!/bin/bash
# timeout: 240
# 64 processes create the same lock at the same time: exactly one gets it, in each of many rounds.
. "$(dirname "$0")/lib.sh"
mount_fs

rounds=${ROUNDS:-1000}
race=$ATLOCKFS_BUILD/mount-race
lock=$MNT/repos/acme/infra/-/modules/vpc/-/production
expect_ok "$race" exclusive "$lock" 64 "$rounds"
expect_ok "$race" named "$lock" 64 $((rounds / 5 + 1))
expect_ok "$race" create "$lock" 64 $((rounds / 5 + 1))
expect_ok "$race" exclusive "$MNT/custom/x" 64 $((rounds / 5 + 1))
[ ! -e "$lock" ] || fail "left behind: $(cat "$lock")"
