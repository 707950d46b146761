#!/bin/bash
# health: a first word for scripts and monitors, then the checks, and counts that follow what happens.
. tests/mount/lib.sh
mount_fs

health() { field "$MNT/health" "$1"; }
first() { local word rest; read -r word rest <"$MNT/health" && echo "$word"; }
expect_equal "$(first)" ok
expect_equal "$(head -n 1 "$MNT/health")" ok
for check in engine store room sweeper writer clock memory deadlocks; do
	expect_equal "$(health "$check")" ok "$check"
done
expect_equal "$(health held),$(health waiting)" 0,0
updates=$(health updates)
events=$(health events)
expect_ok touch "$MNT/custom/a@x" "$MNT/custom/b@x"
expect_ok touch "$MNT/queue/custom/a/normal@y"
expect_equal "$(health held),$(health waiting)" 2,1
[ "$(health updates)" -gt "$updates" ] && [ "$(health events)" -gt "$events" ] || fail "$(cat "$MNT/health")"
expect_ok rm "$MNT/custom/b@x"
expect_equal "$(health held),$(health waiting)" 1,1
[ "$(health store_free)" -gt 0 ] && [ "$(health store_used)" -gt 0 ] || fail "$(cat "$MNT/health")"
remount_fs
expect_equal "$(first),$(health held),$(health waiting)" ok,1,1
expect_equal "$(as_user atlt1 head -n 1 "$MNT/health")" ok
expect_equal "$(awk '$1 == "atlockfs_health" { print $2 }' "$MNT/metrics/atlockfs.prom")" 0

# The search for deadlocks has a line, also where it is switched off.
echo off >"$MNT/config/deadlock_policy"
expect_equal "$(health deadlocks)" 'ok not looked for: deadlock_policy=off'
echo lifo >"$MNT/config/deadlock_policy"
expect_equal "$(awk '$1 == "atlockfs_deadlock_search_failing" { print $2 }' "$MNT/metrics/atlockfs.prom")" 0

# Looking at it changes nothing, and reading it writes at most once a second.
commits=$(health commits)
stat "$MNT/health" "$MNT/health" "$MNT/health" >/dev/null
for _ in 1 2 3 4 5 6; do cat "$MNT/health" >/dev/null; done
[ "$(health commits)" -le $((commits + 2 * TIME_FACTOR)) ] || fail "$commits commits became $(health commits)"

# A store that is gone is not answered from.
rm -r "$STORE"
wait_until '[ "$(first)" = failing ]'
gone='its files were moved, removed or written to by another program: nothing is answered until the daemon is started again'
expect_equal "$(head -n 1 "$MNT/health")" "failing store: $gone"
expect_equal "$(health store)" "failing $gone"
expect_status 1 "$ATLOCK" --mount "$MNT" status
expect_equal "$(awk '$1 == "atlockfs_health" { print $2 }' "$MNT/metrics/atlockfs.prom")" 2
