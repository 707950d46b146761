#!/bin/bash
# From a release to the next waiter no newcomer slips in, however fast it tries.
. tests/mount/lib.sh
mount_fs

lock=$MNT/custom/x
queue=$MNT/queue/custom/x
waiters=$((${ROUNDS:-1000} / 20 + 5))
expect_ok touch "$lock@w0"
"${SYS%/*}/race" newcomers "$lock" 4 >"$T/won" &
newcomers=$!

# Tickets, which are taken up after the grant.
for ((i = 1; i <= waiters; i++)); do
	expect_ok touch "$queue/normal@w$i"
done
for ((i = 0; i < waiters; i++)); do
	expect_ok rm "$lock@w$i"
	expect_ok touch -c "$lock@w$((i + 1))"
done

# And blocked calls.
pids=()
for ((i = waiters + 1; i <= waiters + 8; i++)); do
	{
		cat "$MNT/wait/custom/x@w$i" >/dev/null
		[ $i -eq $((waiters + 8)) ] || rm "$lock@w$i"
	} &
	pids+=($!)
	wait_until '[ "$(field "$lock" waiters)" -eq ${#pids[@]} ]'
done
expect_ok rm "$lock@w$waiters"
for pid in "${pids[@]}"; do
	expect_ok wait "$pid"
done
expect_equal "$(field "$lock" who)" "w$((waiters + 8))"
kill -TERM $newcomers
expect_ok wait $newcomers
expect_equal "$(cat "$T/won")" 0 'newcomers who got it'
