#!/bin/bash
# Where flock(2) is refused, and who may use it.
# timeout: 240
. tests/mount/lib.sh

# flock on a lock that the same session, or the same "@" name, holds by its name would wait forever: EDEADLK.
own_lock() {
	mount_fs

	expect_ok touch "$MNT/custom/x"
	expect_errno EDEADLK open "$MNT/custom/x" rdonly,creat + flock ex
	expect_errno EDEADLK open "$MNT/custom/x" rdonly + flock ex,nb
	expect_fail 'deadlock' flock "$MNT/custom/x" true
	expect_equal "$(field "$MNT/custom/x" waiters)" 0

	# To another session it is held by another.
	expect_errno EDEADLK open "$MNT/custom/x" rdonly + flock ex
	status=0
	in_session flock -n "$MNT/custom/x" true || status=$?
	expect_equal $status 1

	expect_ok touch "$MNT/custom/y@me"
	expect_errno EDEADLK open "$MNT/custom/y@me" rdonly + flock ex
	expect_errno EAGAIN open "$MNT/custom/y" rdonly + flock ex,nb
}

# A lock whose name lacks a "-" is a directory. flock(2) on it would be the kernel's own and protect nothing: it is refused.
directory() {
	mount_fs

	mkdir "$MNT/custom/dir"
	for dir in repos/acme/infra/production repos/acme/infra/-/production; do
		expect_fail "Is a directory" flock -n "$MNT/$dir" true
		grep -q "is a directory, not a lock" "$MNT/why" || fail "why does not say that $dir is a directory"
	done
	expect_fail "Is a directory" touch "$MNT/repos/acme/infra/-/production"
	grep -q "is a directory, not a lock" "$MNT/why" || fail "why says nothing of the touch"
	for dir in . repos custom custom/dir; do
		# What is counted there changes while it is read, which tar minds.
		expect_ok tar -cf /dev/null --exclude=./metrics -C "$MNT" "$dir"
		expect_ok sync "$MNT/$dir"
		expect_ok ls "$MNT/$dir"
		expect_ok find "$MNT/$dir"
	done
}

# Who may not read a lock may wait for it with flock all the same, and reads nothing of it by that.
unreadable() {
	needs_root
	mount_fs -o allow_other
	lock=$MNT/custom/x
	session_start holder
	expect_ok session holder as_user atlt1 bash -c 'umask 077; echo secret=mine >"$1@build-17"' - "$lock"
	expect_equal "$(stat -c %a "$lock")" 600

	# Not to be had at once, and not to be read in any way.
	expect_status 1 as_user atlt2 flock -n "$lock" true
	expect_equal "$(cat "$T/err")" ''
	expect_fail 'Permission denied' as_user atlt2 cat "$lock"
	as_user atlt2 cat "$MNT/why" >"$T/why"
	grep -qF 'its mode 600 does not let you' "$T/why" || fail "$(cat "$T/why")"
	expect_fail 'Permission denied' as_user atlt2 cp "$lock" "$T/copy"
	expect_fail 'EACCES' as_user atlt2 "$SYS" open "$lock" rdonly,creat + read
	expect_fail 'EACCES' as_user atlt2 "$SYS" open "$lock" rdwr
	expect_fail '' as_user atlt2 "$SYS" open "$lock" rdonly,trunc
	expect_fail 'denied' as_user atlt2 getfattr -n user.secret "$lock"
	! as_user atlt2 test -r "$lock" || fail 'access says that it can be read'
	! grep -q secret "$T/copy" 2>/dev/null || fail 'copied'

	# In the queue, and served.
	as_user atlt2 flock "$lock" bash -c 'sed -n "s/^owner=//p" "$1" >"$2"' - "$lock" "$T/ran" &
	waiter=$!
	wait_until '[ "$(field "$lock" waiters)" = 1 ]'
	expect_ok session holder as_user atlt1 rm "$lock@build-17"
	expect_ok wait $waiter
	expect_equal "$(cat "$T/ran")" atlt2

	# A directory that cannot be searched still hides its locks from flock.
	expect_ok as_user atlt1 mkdir -m 700 "$MNT/custom/closed"
	expect_ok as_user atlt1 touch "$MNT/custom/closed/x@a"
	expect_fail 'Permission denied' as_user atlt2 flock -n "$MNT/custom/closed/x" true
}

# A lock that an open file holds ends with that file: it cannot be given to somebody for whom nothing would end it.
chown_while_held() {
	needs_root
	mount_fs

	lock=$MNT/custom/x
	mkfifo "$T/gate"
	flock "$lock" cat "$T/gate" &
	wait_until '[ -e "$lock" ]'
	expect_fail 'Operation not permitted' chown atlt2 "$lock"
	echo > "$T/gate"
	wait $!
	[ ! -e "$lock" ] || fail "still held: $(cat "$lock")"
}

behaviours own_lock directory unreadable chown_while_held
