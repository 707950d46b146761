#!/bin/bash
# root
# A user who joins the queue of a lock under many names leaves places in it to others, whichever way they wait.
. tests/mount/lib.sh
mount_fs -o allow_other,sync=off,max_queue=40
cd "$MNT"
touch global/apply@root
as_user atlt1 bash -c 'for i in {1..60}; do : >"queue/global/apply/low@$i" || { cat why; exit 0; }; done' >"$T/refused" 2>"$T/err"
grep -q 'QUOTA: atlt1 has 10 places.*queue_share' "$T/refused" || fail "why says \"$(cat "$T/refused")\""
expect_equal "$(find queue/global/apply -type f | wc -l)" 10
# By a wait and by flock too, he has no more.
expect_fail 'Disk quota exceeded' as_user atlt1 cat wait/global/apply@more
expect_fail 'Disk quota exceeded' as_user atlt1 flock global/apply true

as_user atlt2 cat wait/global/apply@other >"$T/got" &
other=$!
wait_until 'find queue/global/apply -name "*atlt2@other" | grep . >/dev/null'
as_user atlt2 flock global/apply true &
locked=$!
wait_until '[ "$(find queue/global/apply -name "*-atlt2@*" | wc -l)" -eq 2 ]'
rm global/apply@root
wait "$other"
grep -q '^who=other$' "$T/got" || fail "the other user has \"$(cat "$T/got")\""
as_user atlt2 rm global/apply@other
wait "$locked"
cd /
