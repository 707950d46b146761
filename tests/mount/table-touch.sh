#!/bin/bash
# root
# touch exits 0 exactly if who asks holds the lock afterwards. On one's own it renews.
. "$(dirname "$0")/table.inc"

want=([free]=ok [mine]=ok [session]='Device or resource busy' [user]='Permission denied' [root]='Permission denied')
after=([free]=actor [mine]=changed [session]=same [user]=same [root]=same)
call() { outcome "$2" touch "$1"; }
check() {
	[ "$3" != mine ] || [ "$(field "$1" expires_at)" \> "$(sed -n 's/^expires_at=//p' <<<"$4")" ] || fail "not renewed"
}
run_table
