#!/bin/bash
# root
# A caller in a mount namespace of its own, with the tree bind-mounted elsewhere, works on the same locks.
. "$(dirname "$0")/lib.sh"
mount_fs

mkdir "$T/locks"
inside() {
	setsid -w unshare --mount bash -c 'mount --bind "$MNT" "$T/locks" && cd "$T/locks" && eval "$1"' - "$1"
}

expect_ok inside 'touch custom/x@inside && [ -e custom/x ]'
expect_equal "$(field "$MNT/custom/x" who)" inside
expect_fail 'busy' inside 'touch custom/x@other'
inside 'cat wait/custom/x@second' >"$T/out" &
waiter=$!
wait_until '[ "$(field "$MNT/custom/x" waiters)" -eq 1 ]'
expect_ok rm "$MNT/custom/x@inside"
expect_ok wait $waiter
expect_equal "$(field "$T/out" who)" second
expect_ok inside 'rm custom/x@second'
[ ! -e "$MNT/custom/x" ] || fail "still held outside"

# Unmounting outside does not end what is mounted inside; the daemon serves it to its end.
inside 'touch custom/y@in; : >"$T/ready"; until [ -e "$T/end" ]; do sleep 0.02; done; cat custom/y' >"$T/out" &
waiter=$!
wait_until '[ -e "$T/ready" ]'
expect_ok umount "$MNT"
daemon_alive || fail "the daemon left a mount behind"
touch "$T/end"
expect_ok wait $waiter
expect_equal "$(field "$T/out" who)" in
daemon_wait
