#!/bin/bash
# README in the root: what it tells people to do, works as it stands.
. tests/mount/lib.sh
mount_fs

cd "$MNT"
grep -q 'Files here are locks' README || fail "$(cat README)"
expect_ok touch repos/acme/infra/-/modules/vpc/-/production
expect_ok cat repos/acme/infra/-/modules/vpc/-/production >/dev/null
expect_ok rm repos/acme/infra/-/modules/vpc/-/production
expect_ok bash -c '(set -C; > global/apply)'
expect_fail 'cannot overwrite' bash -c '(set -C; > global/apply)'
expect_ok sh -c "echo 'reason=migration' >> global/apply"
expect_equal "$(field global/apply reason)" migration
expect_ok cat wait/global/apply >/dev/null
expect_ok bash -c "printf 'priority=high\nttl=2h\n' > wait/global/apply"
grep -q 'cat config/queue_timeout' README || fail 'it does not say that waits end'
expect_equal "$(cat config/queue_timeout)" 10m
expect_equal "$(flock custom/nightly sed -n 's/^state=//p' custom/nightly)" acquired
expect_ok touch queue/global/apply/high@build-17
expect_equal "$(ls queue/global/apply | wc -l)" 1
! test -e global/apply@build-17 || fail 'not its turn yet'
expect_fail 'busy' in_session touch global/apply
grep -q '^LOCK_EXISTS' why || fail "$(cat why)"
# Every tree and file it names is there.
for name in $(grep -oE '^ *(repos|custom|global|locks\.jsonl)' README | sort -u) wait queue why health; do
	[ -e "$name" ] || fail "$name is not there"
done
expect_ok rm global/apply
expect_equal "$(field global/apply state)" pending
expect_ok test -e global/apply@build-17
expect_equal "$(field global/apply state)" acquired
cd /
