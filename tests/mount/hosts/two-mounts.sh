#!/bin/bash
# Two hosts mount one realm in a Redis: one tree, one holder, one queue.
# root
. tests/mount/lib.sh
. tests/mount/hosts.inc

hosts_start -o host_timeout=3s,engine_timeout=1s

# What one host takes, the other sees at once, and is refused.
expect_ok touch "$A/custom/x@a"
expect_equal "$(field "$B/custom/x" who)" a
expect_equal "$(ls "$B/custom")" x
expect_fail 'Device or resource busy' touch "$B/custom/x@b"
[ -e "$B/custom/x@a" ] || fail "B does not know A's holder"
token=$(field "$B/custom/x" token)

# A waiter on B gets the lock when A releases it.
(echo >"$B/wait/custom/x@b") &
waiter=$!
wait_until '[ -n "$(ls "$A/queue/custom/x" 2>/dev/null)" ]'
expect_ok rm "$A/custom/x@a"
wait "$waiter" || fail "the wait on B failed"
expect_equal "$(field "$A/custom/x" who)" b
[ "$(field "$A/custom/x" token)" -gt "$token" ] || fail "the token did not rise"
expect_ok rm "$A/custom/x@b"
wait_until '[ -z "$(ls "$B/custom")" ]' # a listing may be a second old

# Tickets, priorities and directories are one for both.
expect_ok mkdir "$A/custom/d"
expect_ok touch "$A/custom/d/y@a" "$A/queue/custom/d/y/normal@p" "$B/queue/custom/d/y/high@q"
# shellcheck disable=SC2012 # the order of ls is what this is about
expect_equal "$(ls "$A/queue/custom/d/y" | sed 's/.*@//' | xargs)" 'q p'
expect_fail 'Directory not empty' rmdir "$B/custom/d"
expect_ok rm "$B/custom/d/y@a"
expect_equal "$(field "$A/custom/d/y" who)" q
expect_ok touch "$A/custom/d/y@q"
expect_ok rm "$A/custom/d/y@q" "$B/custom/d/y@p"
expect_ok rmdir "$B/custom/d"
[ ! -e "$A/custom/d" ] || fail "the directory is still there on A"

# chmod on one host counts on the other.
expect_ok mkdir "$A/custom/e"
as_user atlt1 touch "$B/custom/e/z@1" 2>/dev/null && fail "another user took a lock in a directory that is not open"
expect_ok chmod 777 "$A/custom/e"
expect_ok as_user atlt1 touch "$B/custom/e/z@1"
expect_ok as_user atlt1 rm "$A/custom/e/z@1"

# flock(1) across both; a process holds on A, and its end frees the lock on B.
(flock -x "$A/custom/f" sh -c "touch '$T/held'; until [ -e '$T/go' ]; do sleep 0.1; done") &
holder=$!
wait_until '[ -e "$T/held" ]'
expect_status 1 flock -n -x "$B/custom/f" true
: >"$T/go"
expect_ok flock -w 20 -x "$B/custom/f" true
wait "$holder" || fail "flock on A failed"
expect_ok sh -c "touch '$A/custom/p@pid:'\$\$"
wait_until '[ ! -e "$B/custom/p" ]'

# Sessions of two hosts are two holders, though they are one here.
expect_ok touch "$A/custom/s"
expect_fail 'Device or resource busy' sh -c "set -C; exec 3<>'$B/custom/s'; touch '$B/custom/s'"
expect_ok rm "$A/custom/s"

# An option that is set on A holds on B.
expect_ok sh -c "echo 45s >'$A/config/claim_timeout'"
wait_until '[ "$(cat "$B/config/claim_timeout")" = 45s ]'

hosts_stop
