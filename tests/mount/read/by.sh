#!/bin/bash
# by/: the locks of a holder as links.
. tests/mount/lib.sh

# by/ has a link to every held lock under its owner, its who and its host; it resolves, and is right at once.
links() {
	needs_root
	mount_fs

	vpc=repos/acme/infra/-/modules/vpc/-/production
	mkdir -m 777 "$MNT/custom/nightly"
	expect_equal "$(ls "$MNT/by")" $'host\nowner\nwho'
	expect_equal "$(find "$MNT/by" -type l)" ''
	expect_ok as_user atlt1 touch "$MNT/$vpc@pr:123"
	expect_ok as_user atlt1 touch "$MNT/custom/nightly/job@build-17"
	expect_ok as_user atlt2 touch "$MNT/global/apply@build-17"
	expect_equal "$(ls "$MNT/by/owner")" $'atlt1\natlt2'
	expect_equal "$(ls "$MNT/by/who")" $'build-17\npr:123'
	expect_equal "$(ls "$MNT/by/host")" "$(hostname)"
	expect_equal "$(find "$MNT/by/owner/atlt1" -type l -printf '%l\n' | sort)" \
		"../../../custom/nightly/job"$'\n'"../../../$vpc"

	# The name is the lock's id, the size the length of where it leads, the owner the holder; following it reads the lock.
	id=$(field "$MNT/$vpc" id)
	link=$MNT/by/who/pr:123/$id
	expect_equal "$(ls "$MNT/by/who/pr:123")" "$id"
	expect_equal "$(stat -c '%F %s %U %a' "$link")" "symbolic link $((9 + ${#vpc})) atlt1 777"
	expect_equal "$(readlink "$link")" "../../../$vpc"
	expect_equal "$(realpath "$link")" "$MNT/$vpc"
	expect_equal "$(cat "$link")" "$(cat "$MNT/$vpc")"
	expect_equal "$(field "$link" pull)" 123
	expect_equal "$(getfattr -n user.pull --only-values "$MNT/$vpc")" 123
	expect_equal "$(cat "$MNT/by/who/build-17"/* | grep -c ^token=)" 2
	expect_equal "$(find "$MNT/by/host" -type l | wc -l)" 3

	# Everybody is a directory, listed or not; a name has one spelling.
	expect_equal "$(ls "$MNT/by/owner/nobody-yet")" ''
	expect_errno EINVAL open "$MNT/by/who/%41" rdonly
	expect_errno ENOENT open "$MNT/by/when" rdonly
	expect_errno ENOENT open "$MNT/by/owner/atlt1/lock_1_atlt1_00000000" rdonly
	expect_ok touch "$MNT/global/plan@a%2Fb" "$MNT/global/version@."
	expect_equal "$(ls "$MNT/by/who")" $'%2E\na%2Fb\nbuild-17\npr:123'
	expect_equal "$(readlink "$MNT/by/who/%2E"/*)" ../../../global/version

	# Nothing is made here, and nothing removed but by administrators, who thereby release the lock.
	expect_fail 'Permission denied' as_user atlt1 rm -f "$link"
	as_user atlt1 grep -q 'removing what the link leads to' "$MNT/why"
	expect_fail "Operation not permitted" rmdir "$MNT/by/owner/nobody-yet"
	expect_fail 'Operation not permitted' rmdir "$MNT/by/owner/atlt1"
	expect_fail 'Operation not permitted' ln -s x "$MNT/by/owner/atlt1/y"
	[ -e "$MNT/$vpc" ] || fail "released"
	expect_ok rm "$link"
	! [ -e "$MNT/$vpc" ] || fail "not released"
	expect_fail 'No such file' rm "$link"
	expect_ok as_user atlt1 touch "$MNT/$vpc@pr:123"
	link=$(echo "$MNT/by/who/pr:123"/*)

	# A release, a transfer and an expiry show in the very next listing, however often it was looked at before.
	for ((i = 0; i < ${ROUNDS:-100} / 10 + 1; i++)); do
		cat "$link" >/dev/null
		expect_ok as_user atlt1 rm "$MNT/$vpc@pr:123"
		expect_equal "$(ls "$MNT/by/who")" $'%2E\na%2Fb\nbuild-17'
		! [ -L "$link" ] || fail "the link is still there"
		expect_ok as_user atlt1 touch "$MNT/$vpc@pr:123"
		link=$(echo "$MNT/by/who/pr:123"/*)
		[ -e "$link" ] || fail "the link leads nowhere"
	done
	expect_ok as_user atlt1 sh -c 'printf "owner=atlt2\nwho=pr:9\n" >> "$1"' sh "$MNT/$vpc@pr:123"
	! [ -L "$link" ] || fail "a link to who had it before"
	expect_equal "$(ls "$MNT/by/who")" $'%2E\na%2Fb\nbuild-17\npr:9'
	expect_equal "$(find "$MNT/by/owner/atlt2" -type l -printf '%l\n' | sort)" "../../../global/apply"$'\n'"../../../$vpc"
	expect_ok as_user atlt2 sh -c 'echo ttl=1s >> "$1"' sh "$MNT/$vpc@pr:9"
	wait_until '! [ -e "$MNT/$vpc" ]'
	expect_equal "$(ls "$MNT/by/who/pr:9")" ''
	expect_equal "$(ls "$MNT/by/who")" $'%2E\na%2Fb\nbuild-17'
}

# Looking at every link of a holder of many locks costs a look at each, not at all of them each time; an id that was seen
# before is not taken for a lock that has changed hands.
many() {
	mount_fs -o sync=off

	cd "$MNT"
	seq 2000 | sed 's|^|global/l|; s|$|@many|' | xargs touch
	me=$(id -un)
	start=$SECONDS
	expect_equal "$(find by/who/many -type l -printf '%l\n' | sort -u | wc -l)" 2000
	expect_equal "$(ls -lL by/who/many | grep -c '^-rw')" 2000
	[ $((SECONDS - start)) -le $((15 * TIME_FACTOR)) ] || fail "took $((SECONDS - start)) s"

	id=$(field global/l7 id)
	[ -e "by/owner/$me/$id" ] || fail "not there"
	rm global/l7@many
	! [ -L "by/owner/$me/$id" ] || fail "still there after the release"
	touch global/l7@many
	! [ -L "by/owner/$me/$id" ] || fail "the old id is the new lock's"
	id=$(field global/l7 id)
	[ -L "by/who/many/$id" ] || fail "not there again"
	echo who=other >>global/l7@many
	! [ -L "by/who/many/$id" ] || fail "still there after the transfer"
	expect_equal "$(readlink "by/who/other/$id")" ../../../global/l7
	cd /
}

behaviours links many
