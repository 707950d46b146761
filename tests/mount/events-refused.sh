#!/bin/bash
# A refusal is an event with its code, who asked and for what; a flood of them is sampled, and all are counted.
# root
. "$(dirname "$0")/lib.sh"
mount_fs

log=$MNT/events/live
lock=$MNT/custom/db
refused() { jq -r 'select(.type == "refused") | [.code, .lock, .call, .actor, .comm] | map(. // "-") | join(" ")' "$log"; }
counted() { sed -n "s/^atlockfs_refusals_total{code=\"$1\"} //p" "$MNT/metrics/atlockfs.prom"; }

expect_ok as_user atlt1 touch "$lock@build-17"
expect_fail 'denied' as_user atlt2 touch "$lock@build-18"
wait_until '[ -n "$(refused)" ]'
expect_equal "$(refused | head -n 1 | cut -d' ' -f 1-2)" 'LOCK_EXISTS custom/db'
expect_equal "$(refused | head -n 1 | cut -d' ' -f 4-)" 'atlt2 touch'
expect_fail 'denied' as_user atlt2 rm -f "$lock"
expect_fail 'not permitted' as_user atlt2 sh -c "echo 3h > '$MNT/config/max_ttl'"
wait_until '[ "$(refused | grep -c PERMISSION_DENIED)" -ge 2 ]'
refused | grep -E '^PERMISSION_DENIED - - atlt2 sh$' >/dev/null || fail "$(refused)"
expect_fail 'nvalid' bash -c "echo ttl=soon > '$MNT/global/x'"
wait_until 'refused | grep INVALID_REQUEST >/dev/null'

# A flood: no more than asked for are written in a second, all are counted, and what was left out is told.
echo 1 >"$MNT/config/events_refused"
before=$(counted LOCK_EXISTS)
lines=$(refused | grep -c LOCK_EXISTS)
start=$SECONDS
for _ in $(seq 200); do echo "$lock@build-19"; done | as_user atlt2 xargs touch 2>/dev/null || true
[ $(($(counted LOCK_EXISTS) - before)) -ge 200 ] || fail "only $(($(counted LOCK_EXISTS) - before)) counted"
sleep 1.1
expect_fail 'denied' as_user atlt2 touch "$lock@build-19"
wait_until '[ -n "$(jq "select(.skipped > 0)" "$log")" ]'
written=$(($(refused | grep -c LOCK_EXISTS) - lines))
[ "$written" -le $((SECONDS - start + 2)) ] || fail "$written written in $((SECONDS - start)) s"
expect_ok "$ATLOCK" -m "$MNT" audit verify >/dev/null
expect_equal "$("$ATLOCK" -m "$MNT" audit show --type refused --user atlt2 | cut -f 2 | sort | uniq | head -n 1)" 'refused LOCK_EXISTS'
