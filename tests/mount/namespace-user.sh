#!/bin/bash
# root
# Root inside a user namespace is the ordinary user outside: no administrator, and no other user.
. "$(dirname "$0")/lib.sh"
mount_fs
as_user atlt1 unshare --user --map-root-user true 2>/dev/null || skip "user namespaces are not allowed here"

rooted() {
	local user=$1
	shift
	as_user "$user" setsid -w unshare --user --map-root-user "$@"
}

expect_equal "$(rooted atlt1 id -u)" 0
expect_ok touch "$MNT/custom/roots@a"
expect_ok as_user atlt2 touch "$MNT/custom/twos@b"
for name in roots twos; do
	expect_fail 'Permission denied' rooted atlt1 rm "$MNT/custom/$name"
	expect_fail 'not permitted' rooted atlt1 chown 0 "$MNT/custom/$name"
done
for name in roots@a twos@b; do
	expect_fail 'No such file' rooted atlt1 rm "$MNT/custom/$name"
	expect_fail 'No such file' rooted atlt1 chown 0 "$MNT/custom/$name"
done
expect_fail 'Permission denied' rooted atlt1 touch "$MNT/custom/roots@a"
expect_equal "$(field "$MNT/custom/roots" who)" a
expect_equal "$(field "$MNT/custom/twos" owner)" atlt2
expect_equal "$(stat -c %U "$MNT/custom/twos")" atlt2

# It is its outer user, and shares his names.
expect_ok rooted atlt1 touch "$MNT/custom/ones@c"
expect_equal "$(field "$MNT/custom/ones" owner)" atlt1
expect_ok as_user atlt1 rm "$MNT/custom/ones@c"

# Two containers of one user are two holders, by session.
rooted atlt1 unshare --pid --fork --mount-proc --kill-child setsid -w \
	bash -c 'touch "$1" && : >"$2/held" && until [ -e "$2/end" ]; do sleep 0.02; done' - "$MNT/custom/x" "$T" &
first=$!
wait_until '[ -e "$T/held" ]'
expect_fail 'busy' rooted atlt1 unshare --pid --fork --mount-proc --kill-child setsid -w touch "$MNT/custom/x"
expect_fail 'not permitted' rooted atlt1 unshare --pid --fork --mount-proc --kill-child setsid -w rm "$MNT/custom/x"
expect_fail 'Permission denied' rooted atlt2 unshare --pid --fork --mount-proc --kill-child setsid -w touch "$MNT/custom/x"
touch "$T/end"
expect_ok wait $first
