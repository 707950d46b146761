#!/bin/bash
# global/: locks of the whole tree.
# root
. tests/mount/lib.sh

# global/ holds the locks of commands: flat, no mkdir, for everybody, told apart from all others.
locks() {
	mount_fs

	expect_ok as_user atlt1 touch "$MNT/global/apply@ops"
	expect_equal "$(ls "$MNT/global")" apply
	expect_equal "$(field "$MNT/global/apply" type)" global
	expect_fail 'Permission denied' as_user atlt2 touch "$MNT/global/apply"
	expect_ok as_user atlt2 touch "$MNT/global/plan"
	expect_ok touch "$MNT/custom/apply" "$MNT/repos/a/b/-/c/-/apply"
	expect_fail 'Operation not permitted' mkdir "$MNT/global/dir"
	expect_errno ENOTDIR open "$MNT/global/apply/below" wronly,creat
	expect_errno ENOENT open "$MNT/global/none/below" wronly,creat
	expect_ok as_user atlt1 rm "$MNT/global/apply@ops"
	expect_equal "$(ls "$MNT/global")" plan
	remount_fs
	expect_equal "$(ls "$MNT/global")" plan
	expect_equal "$(field "$MNT/global/plan" owner)" atlt2
}

# A lock of a command has no lease unless given one: a freeze must not lift itself.
lasts() {
	mount_fs -o default_ttl=1s
	expect_ok as_user atlt1 touch "$MNT/global/apply@freeze"
	expect_equal "$(field "$MNT/global/apply" ttl) $(field "$MNT/global/apply" expires_at)" 'never never'
	expect_ok as_user atlt1 touch "$MNT/global/apply@freeze"
	expect_ok as_user atlt1 sh -c 'echo reason=release >>"$1"' sh "$MNT/global/apply@freeze"
	expect_ok as_user atlt1 sh -c 'echo who=thaw >>"$1"' sh "$MNT/global/apply@freeze"
	expect_equal "$(field "$MNT/global/apply" who) $(field "$MNT/global/apply" ttl)" 'thaw never'

	# Given one, it has that one; a waiter's has none again.
	expect_ok as_user atlt1 touch "$MNT/queue/global/apply/normal@next"
	expect_ok as_user atlt1 sh -c 'echo ttl=1s >>"$1"' sh "$MNT/global/apply@thaw"
	wait_until 'as_user atlt1 test -e "$MNT/global/apply@next"'
	expect_equal "$(field "$MNT/global/apply" ttl)" never
	expect_ok as_user atlt1 rm "$MNT/global/apply@next"
	expect_ok as_user atlt1 sh -c 'echo ttl=1s >"$1"' sh "$MNT/wait/global/plan@short"
	expect_equal "$(field "$MNT/global/plan" ttl)" 1s
}

# -o disable_apply holds global/apply for good; without the option it is free again.
disable_apply() {
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
	grep -q 'held by root@disable_apply since .* without a lease, 0 waiting, reason "applies are disabled' "$MNT/why"
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
	grep -q 'global/plan is held by root@ops since 20.* without a lease, 0 waiting, reason "migration": ' "$MNT/why" || fail "$(cat "$MNT/why")"
}

behaviours locks lasts disable_apply
