#!/bin/bash
# root
# touch exits 0 only if the caller holds a lock afterwards: of a directory, in every tree, it fails for all but the directory's
# owner, root included, and why says that it is one.
. tests/mount/lib.sh
mount_fs -o allow_other
session_start held

as_user atlt1 mkdir -m 777 "$MNT/custom/deploy"
as_user atlt1 mkdir "$MNT/shared/db"
expect_ok session held as_user atlt1 touch "$MNT/repos/acme/infra/-/vpc/-/prod" "$MNT/global/apply"
expect_ok session held as_user atlt1 touch "$MNT/owners/github.com/a/b/-/applications/x"
expect_ok session held as_user atlt1 touch "$MNT/custom/deploy/lock" "$MNT/queue/global/apply/high@b"
echo planned >"$MNT/pulls/github.com/acme/infra/-/1/projects/vpc/-/prod"

# However the times are set.
refused() {
	local user=$1 dir=$MNT/$2 before
	before=$(stat -c '%x %y' "$dir")
	expect_fail 'Is a directory' as_user "$user" touch "$dir"
	as_user "$user" cat "$MNT/why" >"$T/why"
	grep -qF 'is a directory, not a lock: nothing was taken' "$T/why" || fail "$(cat "$T/why")"
	expect_fail 'Is a directory' as_user "$user" touch -c "$dir"
	expect_fail 'Is a directory' as_user "$user" touch -a "$dir"
	expect_fail 'Is a directory' as_user "$user" touch -m "$dir"
	expect_fail 'EISDIR' as_user "$user" "$SYS" open "$dir" rdonly,directory + futimens now now
	expect_equal "$(stat -c '%x %y' "$dir")" "$before" "times of $2"
}
for dir in custom/deploy shared/db repos/new wait/custom/deploy queue/custom/deploy/lock; do refused atlt2 "$dir"; done
for dir in . custom/deploy shared/db; do refused root "$dir"; done

# Every directory that can be listed, but custom/, which is root's: not one of them is touched.
(cd "$MNT" && find . -type d ! -path ./custom ! -path './events*') >"$T/dirs"
[ "$(wc -l <"$T/dirs")" -gt 40 ] || fail "$(cat "$T/dirs")"
for user in atlt2 root; do
	(cd "$MNT" && as_user "$user" xargs touch <"$T/dirs" >"$T/said" 2>&1) && fail "$user: touch succeeded"
	expect_equal "$(grep -c 'Is a directory' "$T/said")" "$(wc -l <"$T/dirs")" "$user: $(cat "$T/said")"
done

# Its owner may, and times that are set to a moment are for him and root, as on any file system.
expect_ok as_user atlt1 touch "$MNT/custom/deploy"
expect_ok as_user atlt1 touch -d '2001-01-01' "$MNT/custom/deploy"
expect_ok touch -d '2002-02-02' "$MNT/custom/deploy"
expect_fail '' as_user atlt2 touch -d '2003-03-03' "$MNT/custom/deploy"
expect_equal "$(stat -c %y "$MNT/custom/deploy" | cut -c 1-10)" 2002-02-02
