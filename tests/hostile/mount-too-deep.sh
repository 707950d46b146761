#!/bin/bash
# root
# A user's private mount that he has moved to where no path reaches is not in the way of `atlock` without -m.
. tests/mount/lib.sh
needs_own_mounts
mount_fs -o allow_other
unset ATLOCKFS
cd /
install -d -o atlt1 -g atlt1 "$T/his" "$T/his/near" "$T/his/near/mnt" "$T/his/deep"
as_user atlt1 setsid "$ATLOCKFS_BUILD/atlockfs" -f --store "$T/his/store" "$T/his/near/mnt" >"$T/his.log" 2>&1 &
his=$!
wait_until 'as_user atlt1 test -e "$T/his/near/mnt/health"'
expect_ok as_user atlt2 "$ATLOCK" ls

# As this user, moves `near` below directories whose path is longer than PATH_MAX, or back.
cat >"$T/move" <<'PY'
import os, pwd, sys
user, base, way = sys.argv[1:]
os.setgroups([])
os.setgid(pwd.getpwnam(user).pw_gid)
os.setuid(pwd.getpwnam(user).pw_uid)
home = os.open(base, os.O_PATH)
os.chdir(base + '/deep')
for i in range(21):
    if way == 'away':
        os.mkdir('d' * 200)
    os.chdir('d' * 200)
if way == 'away':
    os.rename('near', 'near', src_dir_fd=home)
else:
    os.rename('near', 'near', dst_dir_fd=home)
PY
python3 "$T/move" atlt1 "$T/his" away
# It is moved back before anything is judged, since nobody could unmount it there by its path.
there=$(grep -c "$T/his/deep/ddd.* fuse.atlockfs " /proc/self/mountinfo || true)
as_user atlt2 "$ATLOCK" ls >"$T/other" 2>&1 || echo "status $?" >>"$T/other"
"$ATLOCK" ls >"$T/root" 2>&1 || echo "status $?" >>"$T/root"
python3 "$T/move" atlt1 "$T/his" back
as_user atlt1 fusermount3 -u "$T/his/near/mnt"
wait "$his"
expect_equal "$there" 1 'the mount where it was moved'
! grep '^status' "$T/other" "$T/root" || fail "atlock is stopped: $(cut -c 1-80 "$T/other" "$T/root")"
