#!/bin/bash
# root
# A user who gives locks away, in a directory that is closed to the one who gets them, fills a small part of what that user may have.
. "$(dirname "$0")/../mount/lib.sh"
mount_fs -o allow_other,max_locks_per_user=80
expect_ok as_user atlt1 mkdir -m 700 "$MNT/custom/mine"
give() {
	as_user atlt1 bash -c 'echo reason=bait >"$1" && echo owner=atlt2 >>"$1"' - "$MNT/custom/mine/$1@pr:1"
}
for i in {1..10}; do expect_ok give "$i"; done
expect_fail 'quota' give 11
expect_equal "$(field "$MNT/custom/mine/11" owner)" atlt1
grep -q 'can be given no more' <<<"$(as_user atlt1 cat "$MNT/why")" || fail "$(as_user atlt1 cat "$MNT/why")"
# The other seventy are his own, and administrators give as many as they like.
expect_ok as_user atlt2 bash -c 'for i in {1..70}; do : >"$1/$i@x" || exit 1; done' - "$MNT/global"
expect_fail 'quota' as_user atlt2 bash -c ': >"$1/71@x"' - "$MNT/global"
expect_ok chown atlt2 "$MNT/custom/mine/11@pr:1"
# One without a lease does not stay for ever.
[ "$(field "$MNT/custom/mine/1" state) $(field "$MNT/custom/mine/1" ttl)" = 'pending never' ] || fail "$(cat "$MNT/custom/mine/1")"
[[ $(field "$MNT/custom/mine/1" claim_by) == 20*Z ]] || fail "$(cat "$MNT/custom/mine/1")"
