#!/bin/bash
# root
# Callers in pid namespaces of their own, as in containers: two of them are two holders although each is pid 1 to itself,
# and @pid: inside means nothing outside.
. "$(dirname "$0")/lib.sh"
mount_fs

contained=(setsid -w unshare --pid --fork --mount-proc --kill-child setsid -w)

lock=$MNT/custom/x
"${contained[@]}" bash -c 'touch "$1" && : >"$2/held" && until [ -e "$2/end" ]; do sleep 0.02; done' - "$lock" "$T" &
first=$!
wait_until '[ -e "$T/held" ]'
expect_fail 'busy' "${contained[@]}" touch "$lock"
expect_fail 'busy' touch "$lock"
grep -q '^who=sid:' "$lock" || fail "held by $(field "$lock" who)"
[ "$(field "$lock" who)" != sid:1 ] || fail "known by a number of its own"
expect_fail 'Invalid argument' "${contained[@]}" bash -c 'touch "$1@pid:$$"' - "$MNT/custom/y"
expect_fail 'Invalid argument' "${contained[@]}" bash -c 'touch "$1@pid:1"' - "$MNT/custom/y"
expect_ok "${contained[@]}" touch "$MNT/custom/y@build-17"
expect_ok "${contained[@]}" rm "$MNT/custom/y@build-17"

# A waiter inside dies with its container.
"${contained[@]}" cat "$MNT/wait/custom/x@inside" >/dev/null 2>&1 &
second=$!
wait_until '[ "$(field "$lock" waiters)" -eq 1 ]'
kill -KILL $second
wait_until '[ "$(field "$lock" waiters)" -eq 0 ]' 5
wait $second 2>/dev/null || true
touch "$T/end"
expect_ok wait $first

# A flock inside ends with it too.
"${contained[@]}" flock "$MNT/custom/z" bash -c ': >"$1/locked"; exec sleep 1000' - "$T" &
third=$!
wait_until '[ -e "$T/locked" ]'
kill -KILL $third
wait_until '[ ! -e "$MNT/custom/z" ]' 5
