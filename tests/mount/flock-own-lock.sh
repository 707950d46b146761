#!/bin/bash
# flock on a lock that the same session, or the same "@" name, holds by its name would wait forever: EDEADLK.
. "$(dirname "$0")/lib.sh"
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
