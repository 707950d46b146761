#!/bin/bash
# root
# `rm` of a ticket leaves the queue; only its holder and administrators may.
. "$(dirname "$0")/lib.sh"
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
