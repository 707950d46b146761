#!/bin/bash
# root
# Where /proc hides the processes of others, run_as= leaves the daemon the one capability that lets it see them.
. tests/mount/lib.sh
needs_own_mounts

for how in 1 2; do
	mount -t proc -o hidepid=$how proc /proc
	! as_user atlt2 cat /proc/$$/stat >/dev/null 2>&1 || fail "hidepid=$how hides nothing"
	mount_fs -o run_as=atlt2
	expect_equal "$(sed -n 's/^CapEff:[[:space:]]*//p' "/proc/$(cat "$STORE/owner.pid")/status")" 0000000000080000

	as_user atlt1 bash -c 'touch "$1/custom/p@pid:$$" && exec sleep 100' - "$MNT" &
	wait_until '[ -e "$MNT/custom/p" ]'
	sleeper=$(field "$MNT/custom/p" who)
	expect_equal "$(ps -o user= -p "${sleeper#pid:}")" atlt1
	kill -KILL "${sleeper#pid:}"
	wait_until '[ ! -e "$MNT/custom/p" ]'
	expect_ok as_user atlt1 setsid -w touch "$MNT/custom/s$how"
	expect_equal "$(field "$MNT/custom/s$how" owner)" atlt1
	unmount_fs
	umount /proc
done
