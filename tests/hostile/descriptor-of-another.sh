#!/bin/bash
# root
# A set-user-ID program that is started with a descriptor of the mount takes no lock by reading it, writing to it or locking
# it. What it writes to a lock or an app counts as written by the user who opened that.
. tests/mount/lib.sh

# Programs that act as root for every user who starts them.
for program in tee cat flock id; do
	cp "$(command -v "$program")" "$T/$program"
	chmod 4755 "$T/$program"
done
[ "$(as_user atlt1 "$T/id" -u)" = 0 ] || skip 'programs in the scratch directory are not set-user-ID'
printf '%s\n' 'deny atlt1 acquire global/forbidden' 'deny atlt1 read=secret custom/**' >"$T/policy"
mount_fs -o allow_other,policy="$T/policy"

expect_untaken() {
	expect_equal "$(cat "$MNT/locks.jsonl")" '' 'held'
	grep -qF 'opened this file' "$MNT/why" || fail "root's why: $(cat "$MNT/why")"
	as_user atlt1 cat "$MNT/why" >"$T/why"
	grep -qF 'opened this file' "$T/why" || fail "the opener's why: $(cat "$T/why")"
}

# What atlt1 may not take, and what root would take for himself, for another user, or for good.
for lock in global/forbidden@x global/forbidden custom/x@x global/apply; do
	for text in 'ttl=never\nowner=atlt1\n' 'ttl=never\n' 'su: user nosuch does not exist\n'; do
		expect_fail 'Permission denied' \
			as_user atlt1 bash -c 'printf "$1" | "$2" >"$3"' bash "$text" "$T/tee" "$MNT/wait/$lock"
		expect_untaken
	done
	expect_fail 'Permission denied' as_user atlt1 bash -c '"$1" <"$2"' bash "$T/cat" "$MNT/wait/$lock"
	expect_untaken
done

# flock(1) itself opens as no redirection does: a free lock, to be read, with O_CREAT.
cat >"$T/passed.py" <<'PY'
import os, sys
fd = os.open(sys.argv[2], os.O_RDONLY | os.O_CREAT)
os.dup2(fd, 9)
os.execv(sys.argv[1], ["flock", "-n", "9"])
PY
for lock in global/forbidden custom/x; do
	expect_fail '9: Permission denied' as_user atlt1 env PATH=/usr/bin:/bin python3 "$T/passed.py" "$T/flock" "$MNT/$lock"
	expect_untaken
done

# It reads what the opener may read: neither values that the policy hides from him nor another user's why.
expect_ok bash -c 'echo secret=hunter2 >"$1"' - "$MNT/custom/hidden@root"
for file in custom/hidden locks.jsonl; do
	as_user atlt1 bash -c '"$1" <"$2"' bash "$T/cat" "$MNT/$file" >"$T/read"
	grep -qF '[hidden]' "$T/read" || fail "$file: $(cat "$T/read")"
	! grep -qF hunter2 "$T/read" || fail "$file: $(cat "$T/read")"
done
rm "$MNT/custom/hidden@root"
! touch "$MNT/custom/%41" 2>/dev/null || fail 'a bad name was taken'
as_user atlt1 bash -c '"$1" <"$2"' bash "$T/cat" "$MNT/why" >"$T/read"
! grep -qF '%41' "$T/read" || fail "$(cat "$T/read")"

# A write by such a program is one of the opener's: no lease without end for him, and no foreign lock given away.
expect_ok as_user atlt1 touch "$MNT/custom/mine@m"
expect_fail 'Invalid argument' as_user atlt1 bash -c 'echo ttl=never | "$1" >>"$2"' bash "$T/tee" "$MNT/custom/mine@m"
expect_ok as_user atlt1 bash -c 'echo a=1 | "$1" >>"$2"' bash "$T/tee" "$MNT/custom/mine@m"
expect_equal "$(field "$MNT/custom/mine" owner)" atlt1
mkdir "$MNT/shared/db"
expect_ok as_user atlt1 bash -c 'echo UP | "$1" >"$2"' bash "$T/tee" "$MNT/shared/db/apps/a"
expect_equal "$(stat -c %U "$MNT/shared/db/apps/a")" atlt1
