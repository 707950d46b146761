#!/bin/bash
# What lies below a directory of custom/ that a user may not search shows in no list: locks.jsonl, by/, events. What he did there
# himself, what lies elsewhere and the length of the event log stay as they are; administrators see all, and can check the log.
# root
. tests/mount/lib.sh
mount_fs -o allow_other

as_user atlt1 sh -c 'cd "$1" && mkdir -m 755 closed closed/inner open && : >closed/inner/xyzzy@hold1 && : >closed/xyzzy2@hold2 &&
	touch open/seen@hold3 && : >../global/apply@hold3' sh "$MNT/custom"
chmod 777 "$MNT/custom/closed/inner"
as_user atlt1 touch "$MNT/queue/custom/closed/inner/xyzzy/high@lurks"
as_user atlt2 touch "$MNT/custom/closed/inner/mine@own"
as_user atlt1 chmod 700 "$MNT/custom/closed"
expect_fail 'Permission denied' as_user atlt1 sh -c ': >"$1"' sh "$MNT/custom/closed/inner/mine@steals"

today=$MNT/events/$(readlink "$MNT/events/live")
lists() {
	as_user "$@" cat "$MNT/locks.jsonl" "$MNT/events/live" "$MNT/why" "$MNT/health" "$MNT/metrics/atlockfs.prom"
	as_user "$@" sh -c 'find "$1/by" "$1/queue" -printf "%p -> %l\n"' sh "$MNT" 2>"$T/find.err" || true
}
lists atlt2 >"$T/seen"
! grep -E 'xyzzy|hold1|hold2|steals|lurks' "$T/seen" || fail 'seen by another user'
grep -q '"lock":"custom/open/seen".*hold3' "$T/seen" || fail 'what is open is hidden'
grep -q 'by/who/hold3' "$T/seen" || fail 'what is open is hidden in by/'
[ "$(grep -c '"type":"acquired".*custom/closed/inner/mine' "$T/seen")" -eq 1 ] || fail 'his own is hidden'
id=$(readlink -f "$(echo "$MNT"/by/who/hold1/*)")
expect_equal "$id" "$MNT/custom/closed/inner/xyzzy"
expect_fail 'No such file' as_user atlt2 readlink -v "$(echo "$MNT"/by/who/hold1/*)"

# Those who may search it see all of it, one group among several is enough, and so do administrators.
for who in 'atlt1' 'root'; do
	lists "$who" >"$T/seen"
	for name in '"type":"acquired","lock":"custom/closed/xyzzy2"' '"lock":"custom/closed/inner/xyzzy"' 'by/who/hold1/.* -> ../../../custom/closed/inner/xyzzy' '"who":"lurks"'; do
		grep -q -- "$name" "$T/seen" || fail "$who does not see $name"
	done
done
chgrp 54321 "$MNT/custom/closed"
chmod 710 "$MNT/custom/closed"
setpriv --reuid=atlt2 --regid=atlt2 --groups=54320,54321 cat "$MNT/locks.jsonl" >"$T/seen"
grep -q '"lock":"custom/closed/inner/xyzzy"' "$T/seen" || fail 'a supplementary group is not enough'

# A directory that is gone has no mode: what was in it stays hidden.
as_user atlt1 sh -c 'mkdir "$1/custom/gone" && touch "$1/custom/gone/vanished" && rm "$1/custom/gone/vanished" && rmdir "$1/custom/gone"' sh "$MNT"
! as_user atlt2 grep 'vanished' "$today" || fail 'seen in a directory that is gone'

# Lines stay where they are, and are JSON; only an administrator's copy can be checked.
wait_until '[ "$(as_user atlt2 wc -c <"$today")" = "$(wc -c <"$today")" ]'
as_user atlt2 cat "$today" >"$T/copy"
cat "$today" >"$T/whole"
expect_equal "$(head -c "$(wc -c <"$T/copy")" "$T/whole" | jq -r .seq | md5sum)" "$(jq -r .seq "$T/copy" | md5sum)"
expect_ok "$ATLOCK" audit verify "$T/whole"
expect_fail 'hidden' "$ATLOCK" audit verify "$T/copy"
as_user atlt2 "$ATLOCK" -m "$MNT" audit show >"$T/shown"
! grep -E 'xyzzy|hidden' "$T/shown" || fail 'audit show prints what is hidden'
