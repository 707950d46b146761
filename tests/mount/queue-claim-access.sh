#!/bin/bash
# root
# Any access to a lock under its own "@" name takes up what was granted to a ticket; one under another name does not.
. "$(dirname "$0")/lib.sh"
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
