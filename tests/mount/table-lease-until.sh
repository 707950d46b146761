#!/bin/bash
# root
# utimensat(a time to come) sets the end of the caller's lease, within max_ttl; the past is EINVAL.
. "$(dirname "$0")/table.inc"

want=([free]=ENOENT [mine]=ok [session]=EPERM [user]=EPERM [root]=EPERM)
after=([free]=free [mine]=changed [session]=same [user]=same [root]=same)
call() { outcome "$2" "$SYS" utimens "$1" +3600 +3600; }
check() {
	[ "$3" = mine ] || return 0
	expect_equal "$(field "$1" ttl)" 1h
	left=$(($(date -d "$(field "$1" expires_at)" +%s) - $(date +%s)))
	[ "$left" -gt 3500 ] && [ "$left" -le 3601 ] || fail "expires in $left s"
}
run_table

unset -f check
want[mine]=EINVAL after[mine]=same
for then in +7300 +86400000 1000000000 0; do
	call() { outcome "$2" "$SYS" utimens "$1" "$then" "$then"; }
	run_cell "$MNT/custom/nightly" a:atlt1 a:atlt1
done

# As people write it.
lock=$MNT/global/plan
expect_ok touch "$lock"
expect_ok touch -c -d '+2 hours' "$lock"
expect_equal "$(field "$lock" ttl)" 2h
expect_fail 'Invalid argument' touch -c -d '+3 hours' "$lock"
expect_fail 'Invalid argument' touch -c -d '1 hour ago' "$lock"
grep -q . "$MNT/why" || fail "no reason given"
expect_ok touch -d '+10 minutes' "$lock"
expect_equal "$(field "$lock" ttl)" 10m
