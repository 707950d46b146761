#!/bin/bash
# When the store is removed underneath, nothing is granted any more: it would be lost, and a second daemon could grant it too.
. "$(dirname "$0")/lib.sh"
mount_fs

expect_ok touch "$MNT/global/a@h"
rm -r "$STORE"
expect_fail 'Input/output error' touch "$MNT/global/b@h"
[ ! -e "$MNT/global/b" ] || fail "granted: $(cat "$MNT/global/b")"
expect_equal "$(field "$MNT/global/a" who)" h
