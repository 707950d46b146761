#!/bin/bash
# ttl= sets the lease from now, renew= adds to the expiry, priority=, reason= and what else is understood.
. "$(dirname "$0")/lib.sh"
mount_fs

lock=$MNT/custom/x
left() { echo $(($(date -d "$(field "$lock" expires_at)" +%s) - $(date +%s))); }
near() { [ "$1" -ge $(($2 - 5 * TIME_FACTOR)) ] && [ "$1" -le $(($2 + 1)) ] || fail "$1 s left instead of $2"; }
echo ttl=90m >"$lock"
expect_equal "$(field "$lock" ttl)" 90m
near "$(left)" 5400
was=$(date -d "$(field "$lock" expires_at)" +%s%3N)
echo renew=60s >>"$lock"
expect_equal "$(($(date -d "$(field "$lock" expires_at)" +%s%3N) - was))" 60000 'renew= adds to the expiry exactly'
expect_equal "$(field "$lock" ttl)" 91m
touch "$lock"
near "$(left)" 5460
echo ttl=10s >>"$lock"
near "$(left)" 10
echo ttl=2h >>"$lock"
expect_fail 'Invalid argument' bash -c 'echo renew=1h >> "$1"' sh "$lock"
near "$(left)" 7200
printf 'priority=high\nreason=db migration\nttl=5m\n' >>"$lock"
expect_equal "$(field "$lock" priority),$(field "$lock" reason),$(field "$lock" ttl)" 'high,db migration,5m'
! grep -qx 'renew=.*' "$lock" || fail "renew= was kept as a key"
expect_equal "$(grep -c '^ttl=' "$lock")" 1

# A lease that is too long is refused with the number of its line.
printf 'reason=x\nttl=99d\n' >"$T/long"
expect_fail 'Invalid argument' dd if="$T/long" of="$lock" oflag=append conv=notrunc status=none
grep -q 'line 2: .*max_ttl' "$MNT/why" || fail "why says: $(cat "$MNT/why")"

# An administrator may ask for no end at all; the next renewal keeps it.
if [ "$(id -u)" -eq 0 ]; then
	echo ttl=never >>"$lock"
	expect_equal "$(field "$lock" ttl)" never
	touch "$lock"
	expect_equal "$(field "$lock" expires_at)" never
	expect_ok as_user atlt1 touch "$MNT/custom/y"
	expect_fail 'Invalid argument' as_user atlt1 bash -c 'echo ttl=never >> "$1"' sh "$MNT/custom/y"
fi
