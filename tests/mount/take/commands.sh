#!/bin/bash
# Commands that read and change files, on locks.
. tests/mount/lib.sh
. tests/mount/populated.inc

# find, grep -r, ls -R, du, tree walks, tar, cp, cksum, globbing and completion end, and see what is there and nothing else.
that_read() {
	mount_populated
	cd "$MNT"
	expect_ok quickly find . >"$T/find"
	expect_equal "$(grep -c . "$T/find")" "$(sort -u "$T/find" | grep -c .)"
	expect_equal "$(grep -E '^\./(repos|custom|global)/' "$T/find" | while read -r f; do [ ! -f "$f" ] || echo "$f"; done | wc -l)" 7
	expect_equal "$(quickly find wait)" wait 'wait/ lists as empty'
	expect_ok quickly find . -type f -newermt '-1 hour' -print >/dev/null
	expect_equal "$(quickly find . -user nobody)" ''
	expect_equal "$(quickly find custom -name '*up')" custom/team/db/backup
	expect_ok quickly ls -R . >/dev/null
	expect_ok quickly ls -laR . >/dev/null
	expect_ok quickly ls -lZ custom >/dev/null
	expect_equal "$(quickly grep -rl 'needle in' . | sort)" $'./custom/team/db/backup\n./locks.jsonl'
	expect_equal "$(quickly grep -rlE '^owner=' repos custom global | wc -l)" 7
	expect_ok quickly du -a . >/dev/null
	expect_ok quickly du -s --apparent-size --inodes . >/dev/null
	expect_ok quickly cksum custom/nightly README >/dev/null
	expect_equal "$(quickly wc -c <custom/nightly)" "$(stat -c %s custom/nightly)"
	expect_ok quickly diff -r custom custom
	expect_ok quickly file -L /dev/null 2>/dev/null || true

	# Archives and copies of what can be read; sizes fit, so that tar does not complain.
	expect_ok quickly tar cf "$T/all.tar" repos custom global README
	expect_equal "$(tar tf "$T/all.tar" | grep -vc '/$')" 8
	mkdir "$T/out"
	expect_ok quickly cp -r repos custom global README health why locks.jsonl "$T/out"
	expect_equal "$(find "$T/out/repos" "$T/out/custom" "$T/out/global" -type f | wc -l)" 7
	grep -q needle "$T/out/custom/team/db/backup" || fail "not copied"
	expect_ok quickly cp -a custom/team "$T/out/again" 2>/dev/null
	expect_ok quickly tail -n 1 custom/team/db/backup >/dev/null
	expect_ok quickly head -c 10 custom/nightly >/dev/null
	expect_ok quickly sort custom/nightly >/dev/null

	# Globs and completion.
	expect_equal "$(quickly bash -c 'echo custom/*')" 'custom/nightly custom/team'
	expect_equal "$(quickly bash -c 'shopt -s globstar dotglob; for f in custom/**; do [ -f "$f" ] && echo "$f"; done' | tr '\n' ' ')" \
		'custom/nightly custom/team/.hidden custom/team/db/backup '
	expect_equal "$(quickly bash -c 'echo wait/* repos/nothing/*')" 'wait/* repos/nothing/*'
	expect_equal "$(quickly bash -c 'compgen -f custom/n')" custom/nightly
	expect_equal "$(quickly bash -c 'compgen -d custom/')" custom/team
	expect_equal "$(quickly bash -c 'compgen -f repos/acme/infra/-/modules/vpc/-/pro')" repos/acme/infra/-/modules/vpc/-/production
	expect_equal "$(quickly bash -c 'compgen -f wait/global/; true')" ''

	# All that changed nothing: the waiter waits, the ticket is there, every lock is held.
	expect_equal "$(sed -n 's/^held=//p; s/^waiting=//p' health | tr '\n' ' ')" '7 2 '
	kill -KILL "$WAITER"
	wait "$WAITER" 2>/dev/null || true
	wait_until '[ "$(field "$MNT/global/apply" waiters)" = 0 ]'
	cd /
}

# cp, mv, rm -r, touch, install, sed -i on locks do what they can and fail cleanly where they cannot.
that_change() {
	mount_populated
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
}

behaviours that_read that_change
