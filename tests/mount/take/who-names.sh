#!/bin/bash
# long
# root
# `lock@who` is a comparison: it is there only while that who holds the lock, and every call under it acts only then.
. tests/mount/lib.sh
mount_fs

expect_absent() {
	! [ -e "$1" ] || fail "$1 is there"
	expect_errno ENOENT stat "$1"
	expect_errno ENOENT open "$1" rdonly
	expect_errno ENOENT utimens "$1" now now
	expect_errno ENOENT utimens "$1" +60 +60
	expect_errno ENOENT unlink "$1"
	expect_errno ENOENT open "$1" wronly
	expect_errno ENOENT getxattr "$1" user.token
}

for lock in "$MNT/repos/acme/infra/-/modules/vpc/-/production" "$MNT/custom/nightly" "$MNT/global/apply"; do
	expect_absent "$lock@build-17"
	expect_ok touch "$lock@build-17"
	expect_equal "$(field "$lock" who)" build-17
	expect_equal "$(ls "${lock%/*}")" "${lock##*/}" 'ls shows the plain name'
	before=$(cat "$lock")
	expect_equal "$(cat "$lock@build-17")" "$before"

	# Another who, and the session itself, are somebody else.
	expect_absent "$lock@build-18"
	expect_absent "$lock@Build-17"
	expect_absent "$lock@build-1"
	expect_fail 'Device or resource busy' touch "$lock@build-18"
	expect_fail 'Device or resource busy' touch "$lock"
	expect_ok touch -c "$lock@build-18"
	expect_ok rm -f "$lock@build-18"
	expect_equal "$(cat "$lock")" "$before" 'others changed it'
	expect_fail 'Permission denied' as_user atlt1 touch "$lock@build-17"
	! as_user atlt1 test -e "$lock@build-17" || fail 'another user of the same name seems to hold it'
	expect_fail 'No such file' as_user atlt1 rm "$lock@build-17"
	expect_ok as_user atlt1 touch -c -d '+1 hour' "$lock@build-17"
	expect_equal "$(cat "$lock")" "$before" 'another user of the same name changed it'
	expect_fail 'cannot overwrite existing file' bash -c 'set -C; : > "$1"' sh "$lock@build-17"
	expect_errno EEXIST open "$lock@build-18" wronly,creat,excl
	expect_equal "$(cat "$lock")" "$before" 'O_EXCL changed it'

	# The same who from any session is the same holder.
	expect_ok in_session touch "$lock@build-17"
	expect_ok in_session touch -c "$lock@build-17"
	expect_ok in_session sh -c 'echo reason=upgrade >> "$1"' sh "$lock@build-17"
	expect_equal "$(field "$lock" reason)" upgrade
	expect_equal "$(field "$lock" token)" "$(sed -n 's/^token=//p' <<<"$before")"
	expect_ok in_session rm "$lock@build-17"
	expect_absent "$lock"
	expect_absent "$lock@build-17"
done

# The kernel keeps no such name: it stops being true in the moment the lock passes on.
lock=$MNT/custom/nightly
expect_ok touch "$lock@one"
[ -e "$lock@one" ] || fail "not there"
expect_ok sh -c 'echo who=two >> "$1"' sh "$lock@one"
expect_absent "$lock@one"
[ -e "$lock@two" ] || fail "not there"
expect_ok rm "$lock@two"

# What may follow '@'.
expect_ok touch "$lock@a b:c@d"
expect_equal "$(field "$lock" who)" 'a b:c@d'
expect_ok rm "$lock@a b:c@d"
expect_errno EINVAL open "$lock@" wronly,creat
expect_errno EINVAL open "$lock@flock:1" wronly,creat
expect_errno EINVAL open "$lock@pid:x" wronly,creat
expect_errno EINVAL open "$lock@pr:0" wronly,creat
expect_errno EINVAL open "$lock@pr:1x" wronly,creat
expect_errno EINVAL open "$lock@"$'a\tb' wronly,creat
expect_errno EINVAL open "$lock@%41" wronly,creat
expect_absent "$lock"
