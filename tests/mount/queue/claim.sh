#!/bin/bash
# A lock that was granted to a ticket is taken up in time, and by nobody else.
. tests/mount/lib.sh

# Any access to a lock under its own "@" name takes up what was granted to a ticket; one under another name does not.
access() {
	needs_root
	mount_fs

	lock=$MNT/custom/x
	n=0
	granted() {
		n=$((n + 1))
		me=me$n
		touch "$lock@before$n"
		touch "$MNT/queue/custom/x/normal@$me"
		rm "$lock@before$n"
		expect_equal "$(field "$lock" state)" pending
	}

	taken_up() {
		expect_equal "$(field "$lock" state)" acquired "after $1"
		expect_equal "$(field "$lock" who)" "$me"
		rm "$lock@$me"
	}

	granted && test -e "$lock@$me" && taken_up 'test -e'
	granted && cat "$lock@$me" >/dev/null && taken_up cat
	granted && touch "$lock@$me" && taken_up touch
	granted && touch -c "$lock@$me" && taken_up 'touch -c'
	granted && echo reason=because >>"$lock@$me" && taken_up 'echo >>'
	granted && : >"$lock@$me" && taken_up '>'
	granted && ls "$lock@$me" >/dev/null && taken_up ls
	granted && getfattr -n user.token --only-values "$lock@$me" >/dev/null 2>&1 && taken_up getfattr
	granted && cat "$MNT/wait/custom/x@$me" >/dev/null && taken_up 'cat wait/'
	granted && touch "$MNT/queue/custom/x/normal@$me" && taken_up 'touch queue/'

	granted
	cat "$lock" >/dev/null
	expect_fail 'No such file' cat "$lock@stranger"
	expect_errno EEXIST open "$lock@$me" wronly,creat,excl
	expect_fail 'Permission denied' as_user atlt1 touch "$lock"
	expect_ok rm "$lock@$me"
	[ ! -e "$lock" ] || fail "still held"

	# A stranger who knows the name is no holder of it.
	granted
	as_user atlt1 cat "$lock@$me" >/dev/null 2>&1 || true
	as_user atlt1 stat "$lock@$me" >/dev/null 2>&1 || true
	expect_equal "$(field "$lock" state)" pending
}

# A lock that is granted to a ticket and not taken up within claim_timeout passes to the next, and at last to nobody.
timeout_of_a_claim() {
	mount_fs -o claim_timeout=1s

	lock=$MNT/custom/x
	expect_ok touch "$lock@holder"
	expect_ok touch "$MNT/queue/custom/x/high@asleep" "$MNT/queue/custom/x/normal@awake" "$MNT/queue/custom/x/low@gone"
	token=$(field "$lock" token)
	expect_ok rm "$lock@holder"
	expect_equal "$(field "$lock" who)" asleep

	# Looking does not take it up, and neither does anybody else.
	expect_fail 'busy' touch "$lock@awake"
	expect_ok ls -l "$lock"
	wait_until '[ "$(field "$lock" who)" = awake ]'
	expect_ok test -e "$lock@awake"
	expect_fail 'No such file' cat "$lock@asleep"
	[ "$(field "$lock" token)" -gt $((token + 1)) ] || fail "the token went back"

	# What was taken up stays, until it is released.
	expect_ok sleep 1.5
	expect_equal "$(field "$lock" who)" awake
	expect_equal "$(field "$lock" state)" acquired
	expect_ok rm "$lock@awake"
	expect_equal "$(field "$lock" who)" gone
	wait_until '[ ! -e "$lock" ]'
}

behaviours access timeout_of_a_claim
