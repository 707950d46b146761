#!/bin/bash
# Two sessions, each of which holds what the other waits for, known by nothing but their session: the later gets EDEADLK.
. "$(dirname "$0")/lib.sh"
mount_fs

mkfifo "$T/held" "$T/go"
# shellcheck disable=SC2016 # for the other shell
setsid bash -c 'touch "$MNT/custom/a" && : >"$T/held" && : <"$T/go" && exec cat "$MNT/wait/custom/b"' >"$T/one" &
one=$!
: <"$T/held"
expect_ok touch "$MNT/custom/b"
: >"$T/go"
wait_until '[ "$(field "$MNT/custom/b" waiters)" -eq 1 ]'
expect_fail 'deadlock' cat "$MNT/wait/custom/a"
expect_equal "$(field "$MNT/custom/a" waiters)" 0
expect_ok rm "$MNT/custom/b"
expect_ok wait $one
expect_equal "$(field "$T/one" who)" "$(field "$MNT/custom/a" who)"
