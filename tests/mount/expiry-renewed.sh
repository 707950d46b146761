#!/bin/bash
# Renewing moves the end: touch -c by the lease it has, a time to come, ttl= and renew= by what they say.
. "$(dirname "$0")/lib.sh"
mount_fs -o default_ttl=2s,max_ttl=1h

lock=$MNT/custom/x
left() {
	echo $(($(date -d "$(field "$lock" expires_at)" +%s%3N) - $(date +%s%3N)))
}
near() {
	local is
	is=$(left)
	if [ "$is" -le $(($1 - 900 * TIME_FACTOR)) ] || [ "$is" -gt $(($1 + 100)) ]; then
		fail "$is ms left instead of $1 after $2"
	fi
}

expect_ok touch "$lock@me"
end=$((EPOCHSECONDS + 4))
while [ $EPOCHSECONDS -lt $end ]; do
	expect_ok touch -c "$lock@me"
	near 2000 'touch -c'
	sleep 0.3
done
expect_ok touch -c -d '+30 minutes' "$lock@me"
near 1800000 'touch -d'
expect_ok touch -c "$lock@me"
near 1800000 'touch -c after touch -d'
echo ttl=1m >"$lock@me"
near 60000 ttl=
echo renew=60s >>"$lock@me"
near 120000 renew=
expect_fail 'Invalid argument' touch -c -d '+2 hours' "$lock@me"
near 120000 'what is above max_ttl'

# It ends when it was last said to, and not before.
echo ttl=400ms >"$lock@me"
expect_ok touch -c "$lock@me"
wait_until '[ ! -e "$lock" ]'
