#!/bin/bash
# Tickets are moved and withdrawn.
# root
. tests/mount/lib.sh

# `mv` of a ticket to another priority puts it at the end of that priority, whichever name it is moved by.
reprioritise() {
	mount_fs

	queue=$MNT/queue/custom/x
	order() {
		# shellcheck disable=SC2012 # the order of ls is what this is about
		ls "$queue" | sed 's/.*@//' | xargs
	}

	expect_ok touch "$MNT/custom/x@holder"
	expect_ok touch "$queue/normal@a" "$queue/normal@b" "$queue/critical@c" "$queue/normal@d"
	expect_equal "$(order)" 'c a b d'
	expect_ok mv "$queue/normal@d" "$queue/critical@d"
	expect_equal "$(order)" 'c d a b'
	[ ! -e "$queue/normal@d" ] || fail "the old name is still there"
	expect_equal "$(field "$queue/critical@d" priority)" critical
	expect_ok mv "$queue"/*-critical-*@c "$queue/low@c"
	expect_equal "$(order)" 'd a b c'
	expect_ok mv "$queue/000007-normal-$(field "$queue/normal@a" ticket)-root@a" "$queue/normal@a"
	expect_equal "$(order)" 'd a b c'
	expect_ok mv "$queue/critical@d" "$queue/normal@d"
	expect_equal "$(order)" 'a b d c'

	# A ticket keeps its holder, and its queue.
	expect_fail 'Operation not permitted' mv "$queue/normal@a" "$queue/high@e"
	grep -q 'keeps its holder' "$MNT/why" || fail "why says: $(cat "$MNT/why")"
	expect_fail 'Operation not permitted' mv "$queue/normal@a" "$queue/urgent@a"
	expect_fail 'No such file' mv "$queue/normal@nobody" "$queue/high@nobody"
	if mv "$queue/normal@a" "$MNT/queue/custom/y/high@a" 2>/dev/null; then
		fail "a ticket moved to another queue"
	fi
	expect_equal "$(order)" 'a b d c'

	# Nor does another user move it.
	expect_fail 'No such file' as_user atlt1 mv "$queue/normal@a" "$queue/critical@a"
	expect_fail 'Permission denied' as_user atlt1 mv "$queue"/*-normal-*@a "$queue/critical@a"
	expect_equal "$(order)" 'a b d c'
}

# `rm` of a ticket leaves the queue; only its holder and administrators may.
cancel() {
	mount_fs

	queue=$MNT/queue/custom/x
	expect_ok as_user atlt1 touch "$MNT/custom/x@holder"
	expect_ok as_user atlt1 touch "$queue/normal@a" "$queue/normal@b" "$queue/high@c" "$queue/low"
	expect_fail 'No such file' as_user atlt2 rm "$queue/normal@a"
	expect_fail 'Permission denied' as_user atlt2 rm -f "$queue"/*-normal-*@a
	# The short name is everybody's own: a second user can have one of the same who.
	expect_ok as_user atlt2 touch "$queue/normal@a"
	expect_ok as_user atlt2 rm "$queue/normal@a"
	expect_fail 'No such file' in_session setpriv --reuid=atlt1 --regid=atlt1 --init-groups rm "$queue/low"
	expect_fail 'Operation not permitted' in_session setpriv --reuid=atlt1 --regid=atlt1 --init-groups \
		rm "$queue"/*-low-*
	expect_equal "$(find "$queue" -type f | wc -l)" 4
	expect_ok as_user atlt1 rm "$queue/normal@a"
	expect_fail 'No such file' as_user atlt1 rm "$queue/normal@a"
	expect_ok as_user atlt1 rm "$queue/low"
	# An administrator may.
	expect_ok rm "$queue"/*-high-*
	expect_equal "$(find "$queue" -type f | wc -l)" 1
	expect_ok as_user atlt1 rm "$MNT/custom/x@holder"
	expect_equal "$(field "$MNT/custom/x" who)" b

	# A session finds its own ticket under the name that is listed, too.
	expect_ok as_user atlt1 touch "$queue/low"
	expect_ok as_user atlt1 mv "$queue/$(ls "$queue")" "$queue/high"
	expect_ok as_user atlt1 rm "$queue/$(ls "$queue")"
	expect_equal "$(ls "$queue")" ''
}

behaviours reprioritise cancel
