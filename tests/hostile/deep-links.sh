#!/bin/bash
# root
# Links below by/ of locks in very deep directories cost a user, whose right to search each of them is asked, little more than root.
. tests/mount/lib.sh
mount_fs -o allow_other,sync=off

# The daemon's processor time so far, in hundredths of a second.
used() { awk '{ print $14 + $15 }' "/proc/$DAEMON/stat"; }
cat >"$T/deep" <<'PY'
import os, sys
os.chdir(sys.argv[1])
for i in range(1500):
    os.mkdir("d", 0o755)
    os.chdir("d")
for i in range(150):
    os.close(os.open("lock-%d@deep" % i, os.O_CREAT | os.O_WRONLY))
PY
as_user atlt1 /usr/bin/python3 "$T/deep" "$MNT/custom"
look() { ls -la "$MNT/by/who/deep/" | wc -l; }
expect_equal "$(look)" 153
before=$(used)
expect_equal "$(look)" 153
root=$(($(used) - before))
before=$(used)
expect_equal "$(as_user atlt2 ls -la "$MNT/by/who/deep/" | wc -l)" 153
user=$(($(used) - before))
echo "150 links, 1500 directories deep: root $root, a user $user"
[ $((10 * user)) -le $((18 * root + 100)) ] || fail "a user's links took $user, root's $root"
