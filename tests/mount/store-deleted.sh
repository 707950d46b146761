#!/bin/bash
# When the store is removed underneath, nothing is granted or shown any more: it would be lost, and a second daemon could grant it
# too.
. "$(dirname "$0")/lib.sh"
mount_fs

expect_ok touch "$MNT/global/a@h"
rm -r "$STORE"
expect_fail 'Input/output error' touch "$MNT/global/b@h"
grep -q '^BACKEND_ERROR: .*Input/output error' "$MNT/why" || fail "$(cat "$MNT/why")"
expect_fail 'Input/output error' cat "$MNT/global/b"
expect_fail 'Input/output error' cat "$MNT/global/a@h"
grep -q '^failing store: its files were moved, removed' "$MNT/health" || fail "$(cat "$MNT/health")"
