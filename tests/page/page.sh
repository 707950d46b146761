#!/bin/bash
# What people see of atlock serve, in a real browser: for `make check-page`, which says where axe is and where pictures go.
# timeout: 600
# root
. tests/mount/lib.sh
. tests/mount/serve.inc
# Users to look at: the runner gives a script a mount namespace of its own.
cp /etc/passwd "$T/passwd"
printf '%s:x:%d:65534::/:/bin/sh\n' alice 60101 bob 60102 carol 60103 atlantis 60104 >>"$T/passwd"
mount --bind "$T/passwd" /etc/passwd
mount_fs -o max_locks_per_user=0
serve_start
python3 -u tests/page/check.py "$URL" "$MNT" "$DAEMON" "$AXE" "$PICTURES" | tee "$PICTURES/figures" || fail 'see above'
serve_stop
