#!/bin/bash
# long
# The table of calls: what each comes to, for every relation between the caller and the holder, in each tree.
# root
# timeout: 720
. tests/mount/lib.sh

# One row of the table of calls, for every relation between who asks and who holds, in each tree. A behaviour sets `want`, what
# the call comes to, and `after`, what the lock is then, by relation; defines call LOCK ACTOR, which prints "ok" or an error;
# and runs run_table or run_row. An actor is SESSION:USER.
#
# Relations: free; mine; session (held by the same user's other session); user (by another user); root (by another user, and
# root asks). Afterwards: free; actor (held by who asked); same (not one byte differs); changed (same holder, same token, but
# another version).

declare -A want after
ACTORS='a:atlt1 b:atlt1 a:atlt2 b:atlt2 a:root'

mount_fs
session_start a
session_start b
declare -A SID=([a]=$(session a sh -c 'ps -o sid= -p $$') [b]=$(session b sh -c 'ps -o sid= -p $$'))

actor() {
	local actor=$1
	shift
	session "${actor%%:*}" as_user "${actor#*:}" "$@"
}

# How a command ends for an actor: "ok", an errno name from sys.c or the text of an error from another program.
outcome() {
	local text
	if text=$(actor "$@" 2>&1 >/dev/null); then
		echo ok
	else
		echo "${text##*: }"
	fi
}

# Sets $RELATION.
relation() {
	local holder=$1 actor=$2
	if [ -z "$holder" ]; then
		RELATION=free
	elif [ "$holder" = "$actor" ]; then
		RELATION=mine
	elif [ "${actor#*:}" = root ]; then
		RELATION=root
	elif [ "${holder#*:}" = "${actor#*:}" ]; then
		RELATION=session
	else
		RELATION=user
	fi
}

# What a lock says, except what grows by being looked at again later.
record() {
	cat "$1" 2>/dev/null || echo free
}

expect_held() {
	local lock=$1 actor=$2
	expect_equal "$(field "$lock" owner) $(field "$lock" who)" "${actor#*:} sid:${SID[${actor%%:*}]// /}" "holder of $lock"
}

expect_after() {
	local wanted=$1 lock=$2 actor=$3 holder=$4 before=$5 now
	now=$(record "$lock")
	case $wanted in
	same) expect_equal "$now" "$before" "after it" ;;
	free) expect_equal "$now" free "after it" ;;
	actor) expect_held "$lock" "$actor" ;;
	changed)
		expect_held "$lock" "$holder"
		expect_equal "$(grep '^token=' <<<"$now")" "$(grep '^token=' <<<"$before")"
		[ "$(grep '^version=' <<<"$now")" != "$(grep '^version=' <<<"$before")" ] || fail "nothing has changed"
		;;
	*) fail "after: $wanted" ;;
	esac
}

run_cell() {
	local lock=$1 holder=$2 actor=$3 before
	relation "$holder" "$actor"
	[ ! -e "$lock" ] || free_lock "$lock"
	[ -z "$holder" ] || actor "$holder" touch "$lock"
	before=$(record "$lock")
	CELL="$lock: held by ${holder:-nobody}, $actor asks"
	expect_equal "$(call "$lock" "$actor")" "${want[$RELATION]}" "$CELL"
	expect_after "${after[$RELATION]}" "$lock" "$actor" "$holder" "$before"
	! declare -F check >/dev/null || check "$lock" "$actor" "$RELATION" "$before"
}

# One holder in one tree: for a second spelling of the same call.
run_row() {
	local actor
	for actor in $ACTORS; do
		run_cell "$MNT/repos/acme/infra/-/modules/vpc/-/production" '' "$actor"
		run_cell "$MNT/repos/acme/infra/-/modules/vpc/-/production" a:atlt1 "$actor"
	done
}

# All holders in one tree, one of them in the others.
run_table() {
	local actor holder
	for actor in $ACTORS; do
		for holder in '' a:atlt1 b:atlt1 a:atlt2 b:atlt2; do
			run_cell "$MNT/repos/acme/infra/-/modules/vpc/-/production" "$holder" "$actor"
		done
		for holder in '' a:atlt1; do
			run_cell "$MNT/custom/nightly" "$holder" "$actor"
			run_cell "$MNT/global/apply" "$holder" "$actor"
		done
	done
}

# open(O_CREAT) for writing takes a free lock, opens one's own, and is refused on another's; `> f` is that and no more.
create_call() {
	want=([free]=ok [mine]=ok [session]=EBUSY [user]=EACCES [root]=EACCES)
	after=([free]=actor [mine]=same [session]=same [user]=same [root]=same)
	call() { outcome "$2" "$SYS" open "$1" wronly,creat; }
	run_table
	call() { outcome "$2" "$SYS" open "$1" rdwr,creat,trunc,nonblock; }
	run_row

	want=([free]=ok [mine]=ok [session]='Device or resource busy' [user]='Permission denied' [root]='Permission denied')
	call() { outcome "$2" sh -c ': > "$1"' sh "$1"; }
	run_row
}

# open(O_CREAT|O_EXCL) takes a free lock and fails on any other, one's own too.
exclusive_create() {
	want=([free]=ok [mine]=EEXIST [session]=EEXIST [user]=EEXIST [root]=EEXIST)
	after=([free]=actor [mine]=same [session]=same [user]=same [root]=same)
	call() { outcome "$2" "$SYS" open "$1" wronly,creat,excl; }
	run_table

	want=([free]=ok [mine]='File exists' [session]='File exists' [user]='File exists' [root]='File exists')
	call() { outcome "$2" bash -c 'set -C; : > "$1"' sh "$1" | sed 's/.*: //; s/cannot overwrite existing file/File exists/'; }
	run_row
}

# open(O_RDONLY|O_CREAT), which is how flock(1) opens, gives a handle and takes nothing, whoever holds the lock.
read_only_create() {
	want=([free]=ok [mine]=ok [session]=ok [user]=ok [root]=ok)
	after=([free]=free [mine]=same [session]=same [user]=same [root]=same)
	call() { outcome "$2" "$SYS" open "$1" rdonly,creat + size + read; }
	run_table
}

# touch exits 0 exactly if who asks holds the lock afterwards. On one's own it renews.
touch_call() {
	want=([free]=ok [mine]=ok [session]='Device or resource busy' [user]='Permission denied' [root]='Permission denied')
	after=([free]=actor [mine]=changed [session]=same [user]=same [root]=same)
	call() { outcome "$2" touch "$1"; }
	check() {
		[ "$3" != mine ] || [ "$(field "$1" ttl)" = never ] || [ "$(field "$1" expires_at)" \> "$(sed -n 's/^expires_at=//p' <<<"$4")" ] || fail "not renewed"
	}
	run_table
}

# utimensat(now) renews the caller's lease and nobody else's.
renew() {
	want=([free]=ENOENT [mine]=ok [session]=EPERM [user]=EPERM [root]=EPERM)
	after=([free]=free [mine]=changed [session]=same [user]=same [root]=same)
	call() { outcome "$2" "$SYS" utimens "$1" now now; }
	check() {
		[ "$3" = mine ] || return 0
		[ "$(field "$1" ttl)" = never ] || [ "$(field "$1" expires_at)" \> "$(sed -n 's/^expires_at=//p' <<<"$4")" ] || fail "the expiry has not moved"
		[ "$(field "$1" renewed_at)" \> "$(sed -n 's/^renewed_at=//p' <<<"$4")" ] || fail "renewed_at has not moved"
		expect_equal "$(field "$1" acquired_at)" "$(sed -n 's/^acquired_at=//p' <<<"$4")"
		expect_equal "$(field "$1" ttl)" "$(sed -n 's/^ttl=//p' <<<"$4")"
	}
	run_table

	# touch -c says nothing about a file that is not there, and makes none.
	want=([free]=ok [mine]=ok [session]='Operation not permitted' [user]='Operation not permitted' [root]='Operation not permitted')
	call() { outcome "$2" touch -c "$1"; }
	run_row
}

# utimensat(a time to come) sets the end of the caller's lease, within max_ttl; the past is EINVAL.
lease_until() {
	want=([free]=ENOENT [mine]=ok [session]=EPERM [user]=EPERM [root]=EPERM)
	after=([free]=free [mine]=changed [session]=same [user]=same [root]=same)
	call() { outcome "$2" "$SYS" utimens "$1" +3600 +3600; }
	check() {
		[ "$3" = mine ] || return 0
		expect_hour "$1"
		left=$(($(date -d "$(field "$1" expires_at)" +%s) - $(date +%s)))
		[ "$left" -gt 3500 ] && [ "$left" -le 3601 ] || fail "expires in $left s"
	}
	run_table

	unset -f check
	want[mine]=EINVAL after[mine]=same
	for then in +7300 +86400000 1000000000 0; do
		call() { outcome "$2" "$SYS" utimens "$1" "$then" "$then"; }
		run_cell "$MNT/custom/nightly" a:atlt1 a:atlt1
	done

	# As people write it.
	lock=$MNT/global/plan
	expect_ok touch "$lock"
	expect_ok touch -c -d '+2 hours' "$lock"
	expect_equal "$(field "$lock" ttl)" 2h
	expect_fail 'Invalid argument' touch -c -d '+3 hours' "$lock"
	expect_fail 'Invalid argument' touch -c -d '1 hour ago' "$lock"
	grep -q . "$MNT/why" || fail "no reason given"
	# A lock that touch took itself does not stay when its time is refused; why has the reason.
	for then in '+5 hours' '1 hour ago'; do
		expect_fail 'Invalid argument' touch -d "$then" "$MNT/custom/much"
		grep -q 'max_ttl\|not to the past' "$MNT/why" || fail "$(cat "$MNT/why")"
		[ ! -e "$MNT/custom/much" ] || fail "touch failed and took the lock"
		expect_fail 'Invalid argument' touch -d "$then" "$MNT/custom/much@build-17"
		[ ! -e "$MNT/custom/much" ] || fail "touch failed and took the lock"
	done
	expect_ok touch -d '+10 minutes' "$lock"
	expect_equal "$(field "$lock" ttl)" 10m
}

# Everybody may read who holds a lock; a free one is not there. Reading changes nothing.
read_call() {
	want=([free]='No such file or directory' [mine]=ok [session]=ok [user]=ok [root]=ok)
	after=([free]=free [mine]=same [session]=same [user]=same [root]=same)
	call() { outcome "$2" cat "$1"; }
	run_table

	# Every caller reads the same.
	check() { [ "$3" = free ] || expect_equal "$(actor "$2" cat "$1")" "$4"; }
	want[free]=ENOENT
	call() { outcome "$2" "$SYS" open "$1" rdonly; }
	run_row
}

# Writing to a lock is for its holder. On a free one `>>` takes it first, as any open with O_CREAT does.
write_call() {
	want=([free]=ENOENT [mine]=ok [session]=EBUSY [user]=EACCES [root]=EACCES)
	after=([free]=free [mine]=changed [session]=same [user]=same [root]=same)
	call() { outcome "$2" "$SYS" open "$1" wronly,append + write $'color=red\n'; }
	check() { [ "$3" != mine ] || expect_equal "$(field "$1" color)" red; }
	run_table

	want=([free]=ok [mine]=ok [session]='Device or resource busy' [user]='Permission denied' [root]='Permission denied')
	after[free]=actor
	call() { outcome "$2" sh -c 'echo color=red >> "$1"' sh "$1"; }
	run_row
	call() { outcome "$2" sh -c 'echo color=red > "$1"' sh "$1"; }
	run_row
}

# chown by an administrator who names its holder gives a lock to another user: same token, same queue. Nobody else may.
chown_call() {
	want=([free]=ENOENT [mine]=EPERM [session]=EPERM [user]=EPERM [root]=EPERM)
	after=([free]=free [mine]=same [session]=same [user]=same [root]=same)
	uid=$(id -u daemon)
	eval "$(declare -f expect_after | sed '1s/expect_after/expect_after_plain/')"
	expect_after() {
		local lock=$2 before=$5 key
		if [ "$1" != transferred ]; then
			expect_after_plain "$@"
			return
		fi
		expect_equal "$(field "$lock" owner)" daemon
		expect_equal "$(stat -c %u "$lock")" "$uid"
		for key in who token acquired_at ttl expires_at; do
			expect_equal "$(field "$lock" "$key")" "$(sed -n "s/^$key=//p" <<<"$before")" "$key"
		done
	}
	call() { outcome "$2" chown daemon "$1" | sed 's/No such file or directory/ENOENT/; s/Operation not permitted/EPERM/'; }
	run_table

	want=([free]=ENOENT [mine]=EINVAL [session]=EINVAL [user]=ENOENT [root]=ok)
	after[root]=transferred
	call() {
		local who
		who=$(field "$1" who 2>/dev/null) || who=sid:1
		outcome "$2" chown daemon "$1@$who" | sed 's/No such file or directory/ENOENT/; s/Invalid argument/EINVAL/'
	}
	run_table
}

# rm releases the caller's own lock. By its plain name root is a caller like any other; an administrator who names the holder may
# release any lock.
unlink_call() {
	want=([free]=ENOENT [mine]=ok [session]=EPERM [user]=EACCES [root]=EACCES)
	after=([free]=free [mine]=free [session]=same [user]=same [root]=same)
	call() { outcome "$2" "$SYS" unlink "$1"; }
	run_table

	want=([free]='No such file or directory' [mine]=ok [session]='Operation not permitted' [user]='Permission denied'
		[root]='Permission denied')
	call() { outcome "$2" rm "$1"; }
	run_row

	# rm -f is content with a lock that is not there, and with nothing else.
	want[free]=ok
	call() { outcome "$2" rm -f "$1"; }
	run_row

	# By the name of its holder, which nobody but an administrator can use for a session, not even that session.
	want=([free]=ENOENT [mine]=EINVAL [session]=EINVAL [user]=ENOENT [root]=ok)
	after=([free]=free [mine]=same [session]=same [user]=same [root]=free)
	call() {
		local who
		who=$(field "$1" who 2>/dev/null) || who=sid:1
		outcome "$2" "$SYS" unlink "$1@$who"
	}
	run_table
}

# flock(LOCK_EX) on a handle takes a free lock until the handle is closed; on one's own it would wait for ever; LOCK_NB says so
# where it would have to wait for another.
flock_call() {
	want=([free]=ok [mine]=EDEADLK [session]=EAGAIN [user]=EAGAIN [root]=EAGAIN)
	after=([free]=free [mine]=same [session]=same [user]=same [root]=same)
	call() { outcome "$2" "$SYS" open "$1" rdonly,creat + flock ex,nb; }
	check() {
		[ "$3" = free ] || return 0
		# While it is held, it is held by this open file, and by no session.
		held=$(actor "$2" "$SYS" open "$1" rdonly,creat + flock ex,nb + read)
		expect_equal "$(sed -n 's/^owner=//p' <<<"$held")" "${2#*:}"
		grep -q '^who=flock:' <<<"$held" || fail "$held"
		grep -qx 'ttl=never' <<<"$held" || fail "$held"
		! [ -e "$1" ] || fail "still held"
	}
	run_table

	# The waiting kind: it queues where another holds the lock, and gets it next.
	unset -f check
	want=([free]=ok [mine]=EDEADLK)
	after=([free]=free [mine]=same)
	call() { outcome "$2" "$SYS" open "$1" rdonly,creat + flock ex; }
	lock=$MNT/repos/acme/infra/-/modules/vpc/-/production
	run_cell "$lock" '' a:atlt1
	run_cell "$lock" a:atlt1 a:atlt1
	n=0
	for asks in b:atlt1 a:atlt2 b:atlt2 a:root; do
		n=$((n + 1))
		expect_ok actor a:atlt1 touch "$lock"
		actor "$asks" sh -c '"$@" >/dev/null 2>&1 &' sh "$SYS" open "$lock" rdonly,creat + flock ex + mark "$T/held-$n" + await "$T/go-$n"
		wait_until '[ "$(field "$lock" waiters)" = 1 ]'
		expect_held "$lock" a:atlt1
		expect_ok actor a:atlt1 rm "$lock"
		wait_until '[ -e "$T/held-$n" ]'
		expect_equal "$(field "$lock" owner)" "${asks#*:}"
		touch "$T/go-$n"
		wait_until '! [ -e "$lock" ]'
	done
}

# Reading or writing wait/<lock> takes a free lock, returns at once on one's own, and waits for another's.
wait_call() {
	want=([free]=ok [mine]=ok)
	after=([free]=actor [mine]=same)
	run_own() {
		local lock asks
		for lock in repos/acme/infra/-/modules/vpc/-/production custom/nightly global/apply; do
			for asks in $ACTORS; do
				run_cell "$MNT/$lock" '' "$asks"
				run_cell "$MNT/$lock" "$asks" "$asks"
			done
		done
	}
	waiting() { echo "$MNT/wait/${1#"$MNT/"}"; }
	call() { outcome "$2" cat "$(waiting "$1")"; }
	run_own
	# A holder who asks again with a text changes the lock by it.
	after[mine]=changed
	call() { outcome "$2" sh -c 'echo priority=high > "$1"' sh "$(waiting "$1")"; }
	run_own
	for lock in repos/acme/infra/-/modules/vpc/-/production custom/nightly global/apply; do free_lock "$MNT/$lock"; done

	# Another's: in the queue until it is let go, then held, and the read prints the lock.
	n=0
	for lock in repos/acme/infra/-/modules/vpc/-/production custom/nightly global/apply; do
		for asks in b:atlt1 a:atlt2 a:root; do
			for how in 'cat "$1"' 'echo priority=high > "$1"'; do
				n=$((n + 1))
				expect_ok actor a:atlt1 touch "$MNT/$lock"
				actor "$asks" sh -c "{ $how; echo \"status \$?\"; } >\"\$2\" 2>&1 &" sh "$MNT/wait/$lock" "$T/out-$n"
				wait_until '[ "$(field "$MNT/$lock" waiters)" = 1 ]'
				expect_held "$MNT/$lock" a:atlt1
				expect_equal "$(cat "$T/out-$n")" ''
				expect_ok actor a:atlt1 rm "$MNT/$lock"
				wait_until 'grep -q status "$T/out-$n"'
				expect_equal "$(tail -n 1 "$T/out-$n")" 'status 0'
				expect_held "$MNT/$lock" "$asks"
				[[ $how != cat* ]] || grep -qx "owner=${asks#*:}" "$T/out-$n" || fail "$(cat "$T/out-$n")"
				expect_ok actor "$asks" rm "$MNT/$lock"
			done
		done
	done
}

behaviours create_call exclusive_create read_only_create touch_call renew lease_until read_call write_call chown_call \
	unlink_call flock_call wait_call
