#!/bin/bash
# root
# A session that got the number of an earlier one is another holder. Numbers come again when told to in a pid namespace of
# one's own.
[ $$ -eq 1 ] || exec unshare --pid --fork --mount-proc --kill-child bash "$0"
. tests/mount/lib.sh
mount_fs

# Runs shell as the leader of a session with this number; again if somebody else, say a thread of the daemon, got the number.
as_session() {
	local number=$1 got=
	shift
	until [ "$got" = "$number" ]; do
		echo $((number - 1)) >/proc/sys/kernel/ns_last_pid
		setsid bash -c 'echo $$ >"$1"; [ $$ -ne "$2" ] || eval "$3"' - "$T/got" "$number" "$*" || return
		got=$(cat "$T/got")
	done
}

lock=$MNT/custom/x
expect_ok as_session 5000 "touch $lock && touch -c $lock"
expect_equal "$(field "$lock" who)" sid:5000
expect_fail 'busy' as_session 5000 "touch $lock"
expect_equal "$(field "$lock" who)" sid:5000

# A session that has lost its leader is still the same.
other=$MNT/custom/y
as_session 6000 "touch $other; (until [ -e $T/go ]; do sleep 0.02; done; touch -c $other && touch $other; echo \$? >$T/status) &"
expect_equal "$(field "$other" who)" sid:6000
wait_until '! [ -e /proc/6000 ]'
before=$(field "$other" version)
touch "$T/go"
wait_until '[ -s "$T/status" ]'
expect_equal "$(cat "$T/status")" 0
[ "$(field "$other" version)" -gt "$before" ] || fail "not renewed"
