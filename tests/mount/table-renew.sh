#!/bin/bash
# root
# utimensat(now) renews the caller's lease and nobody else's.
. "$(dirname "$0")/table.inc"

want=([free]=ENOENT [mine]=ok [session]=EPERM [user]=EPERM [root]=EPERM)
after=([free]=free [mine]=changed [session]=same [user]=same [root]=same)
call() { outcome "$2" "$SYS" utimens "$1" now now; }
check() {
	[ "$3" = mine ] || return 0
	[ "$(field "$1" expires_at)" \> "$(sed -n 's/^expires_at=//p' <<<"$4")" ] || fail "the expiry has not moved"
	[ "$(field "$1" renewed_at)" \> "$(sed -n 's/^renewed_at=//p' <<<"$4")" ] || fail "renewed_at has not moved"
	expect_equal "$(field "$1" acquired_at)" "$(sed -n 's/^acquired_at=//p' <<<"$4")"
	expect_equal "$(field "$1" ttl)" 30m
}
run_table

# touch -c says nothing about a file that is not there, and makes none.
want=([free]=ok [mine]=ok [session]='Operation not permitted' [user]='Operation not permitted' [root]='Operation not permitted')
call() { outcome "$2" touch -c "$1"; }
run_row
