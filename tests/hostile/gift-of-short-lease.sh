#!/bin/bash
# root
# A holder cannot trick another user into working without a lock by giving it with a lease that is about to end. One who waits for
# it gets what he asked for; one who takes it by name gets a lease of his own.
. "$(dirname "$0")/../mount/lib.sh"
mount_fs -o allow_other
lock=$MNT/custom/apply

# To one who waits: lease, text, mode and priority are what he asked for.
expect_ok as_user atlt1 sh -c 'printf "ttl=1m\nreason=bait\n" >"$1"; chmod 600 "$1"' - "$lock@a"
token=$(field "$lock" token)
as_user atlt2 sh -c 'printf "ttl=2h\nreason=work\npriority=high\n" >"$1"' - "$MNT/wait/custom/apply@build-17" &
waits=$!
wait_until '[ "$(field "$lock" waiters)" = 1 ]'
expect_ok as_user atlt1 sh -c 'printf "ttl=1s\nowner=atlt2\nwho=build-17\n" | dd bs=1k of="$1" conv=notrunc oflag=append status=none' - "$lock@a"
expect_ok wait "$waits"
expect_equal "$(grep -E '^(state|owner|who|priority|token|ttl|reason)=' "$lock")" "state=acquired
owner=atlt2
who=build-17
priority=high
token=$token
ttl=2h
reason=work"
expect_equal "$(stat -c %a "$lock")" 644
expect_ok as_user atlt2 rm "$lock@build-17"

# To one who does not: pending, until he comes.
for take in 'touch "$1"' 'touch -c "$1"' 'cat "$1"' 'test -e "$1"' 'echo k=v >>"$1"' 'cat "$2"'; do
	expect_ok as_user atlt1 sh -c 'echo ttl=20s >"$1"; echo owner=atlt2 >>"$1"' - "$lock@job"
	expect_equal "$(field "$lock" state) $(field "$lock" ttl)" 'pending 20s'
	expect_equal "$(field "$lock" claim_by)" "$(field "$lock" expires_at)"
	expect_ok as_user atlt2 sh -c "$take" - "$lock@job" "$MNT/wait/custom/apply@job"
	expect_equal "$(field "$lock" state) $(field "$lock" ttl)" 'acquired 30m' "$take"
	expect_ok as_user atlt2 rm "$lock@job"
done
