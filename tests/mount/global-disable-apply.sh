#!/bin/bash
# root
# -o disable_apply holds global/apply for good; without the option it is free again.
. "$(dirname "$0")/lib.sh"
mount_fs
apply=$MNT/global/apply
expect_ok as_user atlt1 touch "$apply@ops"

remount_fs -o disable_apply
expect_equal "$(field "$apply" owner)@$(field "$apply" who) $(field "$apply" state) $(field "$apply" ttl)" \
	'root@disable_apply acquired never'
expect_equal "$(field "$apply" reason)" 'applies are disabled by the option disable_apply'
[ -n "$(field "$apply" acquired_at)" ] || fail "no time"
! as_user atlt1 test -e "$apply@ops" || fail "still there"
expect_fail 'Permission denied' as_user atlt1 touch "$apply"
expect_fail 'Device or resource busy' touch "$apply"
grep -q 'held by root@disable_apply since .* until never, 0 waiting, reason "applies are disabled' "$MNT/why"
expect_fail 'Operation not permitted' rm "$apply"
grep -q 'while the option disable_apply is set' "$MNT/why"
expect_fail 'Operation not permitted' chown atlt1 "$apply"
expect_fail 'Operation not permitted' touch -c "$apply"
expect_errno EINVAL open "$apply@disable_apply" wronly,creat
expect_equal "$(readlink "$MNT/by/who/disable_apply"/*)" ../../../global/apply
token=$(field "$apply" token)
expect_ok touch "$MNT/queue/global/apply/high@next"

# The same lock after a restart; another command is another lock; a crash does not free it.
remount_fs -o disable_apply
expect_equal "$(field "$apply" token)" "$token"
kill_daemon
mount_fs -o disable_apply
expect_equal "$(field "$apply" token)" "$token"
for command in plan unlock policy_check approve_policies autoplan version import state cancel; do
	expect_ok touch "$MNT/global/$command@ops"
done
expect_equal "$(ls "$MNT/global" | wc -l)" 10
remount_fs
expect_equal "$(field "$apply" who)" next 'who has it without the option'

# A second lock of the same command says who has it, since when, and why.
expect_ok sh -c 'echo reason=migration >> "$1"' sh "$MNT/global/plan@ops"
expect_fail 'Device or resource busy' touch "$MNT/global/plan@other"
grep -q 'global/plan is held by root@ops since 20.* until .*, 0 waiting, reason "migration": ' "$MNT/why"
