#!/bin/bash
# cp, mv, rm -r, touch, install, sed -i on locks do what they can and fail cleanly where they cannot.
. "$(dirname "$0")/populated.inc"

cd "$MNT/custom"
# Copying a text to a lock takes the lock and writes the keys.
printf 'reason=copied\nteam=a\n' >"$T/meta"
expect_ok quickly cp "$T/meta" fresh
expect_equal "$(field fresh reason),$(field fresh team)" copied,a
expect_ok quickly cp "$T/meta" fresh
expect_fail 'Device or resource busy' in_session cp "$T/meta" fresh
expect_ok quickly dd if="$T/meta" of=from-dd status=none
expect_equal "$(field from-dd team)" a

# A lock's own text is no request: copying it fails, and what was copied to stays as it was.
expect_fail 'Invalid argument' quickly cp nightly fresh
expect_equal "$(field fresh team)" a

# Nothing can be moved within, and moving it out copies and then releases, as between file systems.
expect_fail 'Operation not permitted' quickly mv fresh other
expect_fail 'Operation not permitted' quickly mv team other
[ -e fresh ] && [ -d team ] && ! [ -e other ] || fail "moved"
expect_ok quickly mv from-dd "$T/moved"
grep -qx team=a "$T/moved" || fail "$(cat "$T/moved")"
! [ -e from-dd ] || fail "still held"
expect_ok quickly mv "$T/meta" moved-in
expect_equal "$(field moved-in team)" a
expect_fail '' quickly ln -s fresh link
expect_fail '' quickly sed -i s/a/b/ fresh
expect_equal "$(field fresh team)" a
ls -A >"$T/now"
! grep -q '^sed' "$T/now" || fail "sed left its file: $(cat "$T/now")"
expect_ok rm fresh moved-in

# rm -r releases what is one's own, everywhere; what is another's stays, and rm says so.
cd "$MNT"
expect_ok quickly rm -r custom/team
! [ -e custom/team ] || fail "still there"
expect_ok quickly rm -r repos/acme
expect_equal "$(quickly find repos -type f)" 'repos/group/sub/project/-/a dir/-/ümläut'
expect_ok quickly rm -rf repos/group
expect_equal "$(ls -A repos)" ''
if [ "$(id -u)" -eq 0 ]; then
	expect_ok mkdir -m 777 custom/shared
	expect_ok as_user atlt1 touch custom/shared/theirs
	expect_ok as_user atlt2 touch custom/shared/mine
	expect_fail 'Permission denied' as_user atlt2 timeout 20 rm -r custom/shared
	expect_equal "$(ls custom/shared)" theirs
	expect_fail 'Permission denied' quickly rm -r custom/shared
	free_lock custom/shared/theirs
	expect_ok quickly rm -r custom/shared
fi

# Many entries, more than one reply to readdir holds, go in one rm -r and none is left.
mkdir custom/many
for i in $(seq 1000); do echo "custom/many/lock-with-a-longer-name-$i"; done | quickly xargs touch
expect_equal "$(quickly ls custom/many | wc -l)" 1000
expect_equal "$(quickly find custom/many -type f | sort -u | wc -l)" 1000
expect_ok quickly rm -r custom/many
for i in $(seq 300); do echo "repos/many/locks/-/d$i/-/w"; done | quickly xargs touch
expect_ok quickly rm -r repos/many
expect_equal "$(ls -A repos)" ''

kill -KILL "$WAITER"
wait "$WAITER" 2>/dev/null || true
cd /
