#!/bin/bash
# root
# An app belongs to the user that registered it: only that user speaks for it, and stops as it. Administrators may all.
. tests/mount/lib.sh
mount_fs

cd "$MNT/shared"
one() { as_user atlt1 "$@"; }
two() { as_user atlt2 "$@"; }
expect_ok one mkdir db
expect_equal "$(stat -c '%U %a' db db/apps | sort -u)" 'atlt1 777'
expect_ok one bash -c 'echo UP >db/apps/a'
expect_ok two bash -c 'echo UP >db/apps/b'
expect_equal "$(stat -c '%U %a' db/apps/a)" 'atlt1 644'
expect_equal "$(getfattr -n user.owner --only-values db/apps/b)" atlt2
expect_fail 'Permission denied' two bash -c 'echo DOWN >db/apps/a'
expect_fail 'Permission denied' two touch db/apps/a
expect_fail 'Permission denied' two rm -f db/apps/a
grep -q 'belongs to atlt1' <(two cat "$MNT/why") || fail "$(two cat "$MNT/why")"
expect_ok two cat db/apps/a >/dev/null
expect_fail 'Operation not permitted' one chown atlt2 db/apps/a
expect_equal "$(cat db/apps/a)" UP

# Nobody stops as another's app.
expect_ok two bash -c 'echo DOWN >db/apps/b'
expect_fail 'Permission denied' two touch db/stop@a
expect_ok one touch db/stop@a
expect_fail 'Permission denied' two touch db/stop@b
expect_fail 'Permission denied' two rm -f db/stop
expect_errno ENOENT unlink db/stop@b
expect_fail 'Permission denied' two bash -c 'echo note=1 >>db/stop'
expect_ok one touch -c db/stop@a
expect_fail 'Permission denied' rm db/stop
expect_ok rm db/stop@a
expect_ok touch db/stop@a
expect_equal "$(field db/stop owner)" root
expect_fail 'Permission denied' one rm -f db/stop
expect_ok rm db/stop@a

# An administrator speaks for all, and registers for others.
expect_ok bash -c 'echo DOWN >db/apps/a'
expect_equal "$(stat -c %U db/apps/a)" atlt1
expect_ok touch db/apps/c
expect_ok chown atlt2 db/apps/c
expect_equal "$(stat -c %U db/apps/c)" atlt2
expect_ok two bash -c 'echo DOWN >db/apps/c'
expect_ok two touch db/stop@c
expect_ok two rm db/stop@c

# Whose resource it is.
expect_ok one rm db/apps/a
expect_fail '' two rm -r db
expect_ok rm -f db/apps/b db/apps/c
expect_fail 'Permission denied' two rmdir db
expect_fail 'Operation not permitted' two rm -f db/verdict
expect_ok one rm -r db
cd /
