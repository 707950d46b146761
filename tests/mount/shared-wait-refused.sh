#!/bin/bash
# A condition is not waited for: queue/, wait/ and flock refuse the lock of a shared resource, at once and with a reason.
. "$(dirname "$0")/lib.sh"
mount_fs

cd "$MNT"
mkdir shared/db
touch shared/db/apps/a
told() {
	grep -q "$1" why || fail "$(cat why)"
}
for held in '' yes; do
	[ -z "$held" ] || touch shared/db/stop@a
	expect_fail 'Invalid argument' timeout 5 cat wait/shared/db/stop@a
	told 'read its verdict'
	expect_fail 'Invalid argument' timeout 5 bash -c 'echo timeout=1s >wait/shared/db/stop@a'
	expect_fail 'Invalid argument' touch queue/shared/db/stop/high@a
	told 'read its verdict'
	expect_fail 'Invalid argument' timeout 5 flock shared/db/stop true
	told 'read its verdict'
	expect_fail 'Invalid argument' timeout 5 flock -n shared/db/stop true
	told 'stop@<app>'
done
expect_equal "$(find queue wait -mindepth 1)" ''
expect_equal "$(field shared/db/stop waiters)" 0
cd /
