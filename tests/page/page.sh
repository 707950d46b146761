#!/bin/bash
# What people see of atlock serve, in a real browser: for `make check-page`, which says where axe is and where pictures go.
# timeout: 600
. tests/mount/lib.sh
. tests/mount/serve.inc
mount_fs -o max_locks_per_user=0
serve_start
python3 tests/page/check.py "$URL" "$MNT" "$AXE" "$PICTURES" || fail 'see above'
serve_stop
