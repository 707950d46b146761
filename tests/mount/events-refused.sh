#!/bin/bash
# A refusal is an event with its code, who asked and for what; a flood of them is sampled, and all are counted.
# root
. "$(dirname "$0")/lib.sh"
mount_fs

log=$MNT/events/live
lock=$MNT/custom/db
refused() { jq -r 'select(.type == "refused") | [.code, .lock // .subject, .call, .actor, .comm] | map(. // "-") | join(" ")' "$log"; }
counted() { sed -n "s/^atlockfs_refusals_total{code=\"$1\"} //p" "$MNT/metrics/atlockfs.prom"; }

expect_ok as_user atlt1 touch "$lock@build-17"
expect_fail 'denied' as_user atlt2 touch "$lock@build-18"
wait_until '[ -n "$(refused)" ]'
expect_equal "$(refused | head -n 1 | cut -d' ' -f 1-2)" 'LOCK_EXISTS custom/db'
expect_equal "$(refused | head -n 1 | cut -d' ' -f 4-)" 'atlt2 touch'
expect_fail 'denied' as_user atlt2 rm -f "$lock"
expect_fail 'not permitted' as_user atlt2 sh -c "echo 3h > '$MNT/config/max_ttl'"
wait_until '[ "$(refused | grep -c PERMISSION_DENIED)" -ge 2 ]'
refused | grep -E '^PERMISSION_DENIED config/max_ttl - atlt2 sh$' >/dev/null || fail "$(refused)"
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

# What the file system decides by itself is about something, too: a lock, or the path of what is none. A name of owners/ may be a
# password and is in no event.
about() {
	local want=$1 key
	shift
	! as_user atlt2 bash -c "cd '$MNT'; $*" 2>/dev/null || fail "succeeded: $*"
	key=$([ "${want#lock }" = "$want" ] && echo subject || echo lock)
	wait_until "[ -n \"\$(jq -r --arg want '${want#* }' 'select(.type == \"refused\" and .$key == \$want) | .seq' '$log')\" ]"
}
echo 100 >"$MNT/config/events_refused"
expect_ok mkdir "$MNT/custom/closed" "$MNT/shared/db"
expect_ok as_user atlt2 touch "$MNT/queue/custom/db/low@q"
about 'lock custom/closed/x' touch custom/closed/x
about 'lock custom/db' touch queue/custom/db/urgent
about 'lock custom/mine' 'touch custom/mine && mv custom/mine custom/other'
about 'lock global/free' touch wait/global/free
about 'lock global/y' 'exec 9<>global/y; flock -s 9'
about 'subject foo' touch foo
about 'subject custom/%41' touch custom/%41
about 'subject custom/closed/d' mkdir custom/closed/d
about 'subject queue/x' mkdir queue/x
about 'subject wait/global' rmdir wait/global
about 'subject shared/db/x' touch shared/db/x
about 'subject by/x' touch by/x
about 'subject events/live' rm events/live
about 'subject pulls/github.com/a/b/-/1/x' touch pulls/github.com/a/b/-/1/x
about 'subject owners' mkdir owners/bot:hunter2@github.com/a/b/-/applications/x
! grep -q hunter2 "$log" || fail 'a password is in an event'
expect_ok "$ATLOCK" -m "$MNT" audit show --type refused --lock config/max_ttl >/dev/null
