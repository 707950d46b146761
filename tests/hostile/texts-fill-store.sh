#!/bin/bash
# One user fills a small store with locks that have long texts, and with pull requests: stopped at a share of it, and others go on.
# root
. tests/mount/lib.sh
needs_own_mounts

disk=${STORE%/*}/disk
mkdir "$disk"
mount -t tmpfs -o size=16m none "$disk"
STORE=$disk/store
mount_fs -o sync=off,rate_limit=0

fill='
import errno, os, sys
kind, top = sys.argv[1], sys.argv[2]
text = b"".join(b"k%d=%s\n" % (i, b"x" * 900) for i in range(16))
count = 0
try:
    for count in range(20000):
        if kind == "locks":
            path = "%s/repos/acme/infra/-/d%d/-/w@x" % (top, count)
        else:
            path = "%s/pulls/github.com/acme/infra/-/%d/meta" % (top, count + 1)
        with open(path, "wb", buffering=0) as file:
            file.write(text)
except OSError as error:
    if error.errno != errno.EDQUOT:
        raise
    print(count)
    sys.exit(0)
sys.exit("never refused")
'
for kind in locks pulls; do
	count=$(as_user atlt1 /usr/bin/python3 -c "$fill" $kind "$MNT") || fail "$kind: $count"
	why=$(as_user atlt1 cat "$MNT/why")
	[[ $why = QUOTA:*'of atlt1 take '*'option store_share, 25 percent'*'release locks, shorten their texts'* ]] || fail "why says: $why"
	# Others take locks, write texts and status; the user himself still releases.
	for i in $(seq 20); do
		expect_ok as_user atlt2 bash -c 'echo reason=me >"$1"' - "$MNT/custom/$kind-$i@build"
		expect_ok as_user atlt2 bash -c 'echo planned >"$1"' - "$MNT/pulls/github.com/acme/other/-/$i/projects/a/-/w"
	done
	expect_equal "$(head -n 1 "$MNT/health")" ok
	if [ $kind = locks ]; then
		expect_ok as_user atlt1 bash -c 'cd "$1" && for ((i = 0; i < $2; i++)); do echo "d$i/-/w@x"; done | xargs rm' - "$MNT/repos/acme/infra/-" "$count"
		wait_until 'as_user atlt1 touch "$MNT/custom/again@x" 2>/dev/null' 60
		expect_ok as_user atlt1 rm "$MNT/custom/again@x"
	fi
done
# An administrator sets it, and none is there for him.
expect_ok touch "$MNT/custom/admin"
echo 100 >"$MNT/config/store_share"
expect_ok as_user atlt1 touch "$MNT/custom/more@x"

unmount_fs
umount "$disk"
