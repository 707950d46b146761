#!/bin/bash
# A lock that another looks at all the time, so that the kernel knows it well, can be taken the instant its lease is over.
. "$(dirname "$0")/lib.sh"
mount_fs

lock=$MNT/repos/acme/infra/-/modules/vpc/-/production
rounds=$((${ROUNDS:-1000} / 500 + 1))
for ((round = 0; round < rounds; round++)); do
	expect_ok touch "$lock@old"
	expect_ok bash -c 'echo ttl=700ms >"$1"' - "$lock@old"
	end=$(date -d "$(field "$lock" expires_at)" +%s%3N)
	tries=0
	until "$SYS" open "$lock@new" wronly,creat,excl 2>"$T/err"; do
		grep -q EEXIST "$T/err" || fail "$(cat "$T/err")"
		now=$(date +%s%3N)
		[ "$now" -le $((end + 1000 * TIME_FACTOR)) ] || fail "still EEXIST $((now - end)) ms after its end"
		stat "$lock" >/dev/null 2>&1 || true
		ls -l "${lock%/*}" >/dev/null
		tries=$((tries + 1))
	done
	[ "$(date +%s%3N)" -ge "$end" ] || fail "taken before its end"
	[ $tries -gt 0 ] || fail "never refused"
	expect_equal "$(field "$lock" who)" new
	expect_fail 'No such file' rm "$lock@old"
	expect_ok rm "$lock@new"
done
