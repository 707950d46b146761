#!/bin/bash
# root
# With run_as= the daemon is another user without capabilities once it is mounted, and everything works as before: sessions,
# processes, flock, administrators, stopping, crashing.
. tests/mount/lib.sh

status_of() { sed -n "s/^$2:[[:space:]]*//p" "/proc/$1/status"; }
uid=$(id -u atlt2)

# A store that root made before becomes the user's.
mount_fs
expect_ok touch "$MNT/custom/before@a"
unmount_fs
mode=$(stat -c %a "$MNT")
mount_fs -o run_as=atlt2
expect_equal "$(stat -c %U "$STORE" "$STORE"/*.mdb | sort -u)" atlt2
[ -e "$MNT/custom/before" ] || fail "the lock from before is gone"

# Two processes: one who stays root and holds the mount point, and the daemon.
served=$(cat "$STORE/owner.pid")
expect_equal "$(status_of "$served" PPid)" "$DAEMON"
expect_equal "$(status_of "$served" Uid)" "$uid	$uid	$uid	$uid"
expect_equal "$(status_of "$served" Gid | cut -f 1)" "$(id -g atlt2)"
for set in CapInh CapPrm CapEff CapBnd CapAmb; do
	expect_equal "$(status_of "$served" $set)" 0000000000000000 "$set"
done
expect_equal "$(status_of "$served" NoNewPrivs)" 1
expect_equal "$(status_of "$DAEMON" Uid | cut -f 1)" 0

# Sessions, of other users too.
session_start a
session_start b
expect_ok session a as_user atlt1 touch "$MNT/custom/s"
expect_ok session a as_user atlt1 touch "$MNT/custom/s"
expect_equal "$(field "$MNT/custom/s" owner)" atlt1
expect_fail '' session b as_user atlt1 touch "$MNT/custom/s"
expect_ok session a as_user atlt1 rm "$MNT/custom/s"

# A lock lives as long as a process of another user.
as_user atlt1 bash -c 'touch "$1/custom/p@pid:$$" && exec sleep 100' - "$MNT" &
wait_until '[ -e "$MNT/custom/p" ]'
sleeper=$(field "$MNT/custom/p" who)
expect_equal "$(ps -o user= -p "${sleeper#pid:}")" atlt1
kill -KILL "${sleeper#pid:}"
wait_until '[ ! -e "$MNT/custom/p" ]'
expect_fail 'Operation not permitted' as_user atlt1 touch "$MNT/custom/p@pid:1"

# flock waits and hands over.
expect_equal "$(as_user atlt1 flock "$MNT/custom/f" sed -n 's/^owner=//p' "$MNT/custom/f")" atlt1
[ ! -e "$MNT/custom/f" ] || fail "flock left its lock"

# Root still is the administrator, and the daemon's user is nobody special.
expect_ok as_user atlt1 touch "$MNT/custom/mine@a"
! as_user atlt2 rm -f "$MNT/custom/mine" 2>/dev/null || fail "the daemon's user may remove a lock of another's"
expect_ok rm "$MNT/custom/mine@a"

# Stopped by a signal to either of the two, it unmounts and gives the mount point back.
for which in DAEMON served; do
	expect_equal "$(mountpoint -q "$MNT" && echo yes)" yes
	kill -TERM "${!which}"
	daemon_wait
	! is_mounted || fail "still mounted"
	expect_equal "$(stat -c %a "$MNT")" "$mode"
	mount_fs -o run_as=atlt2
	served=$(cat "$STORE/owner.pid")
done
expect_equal "$(stat -c %a "$MNT")" 755
unmount_fs
expect_equal "$(stat -c %a "$MNT")" "$mode"

# A daemon that dies leaves a dead mount, never the bare directory.
mount_fs -o run_as=atlt2
served=$(cat "$STORE/owner.pid")
notifier=$(notifier_of "$served")
kill -KILL "$served"
wait "$DAEMON" && fail "a crash ended with status 0"
DAEMON=
notifier_wait "$notifier"
expect_fail 'Transport endpoint is not connected' touch "$MNT/custom/z"
fusermount3 -uz "$MNT"
expect_equal "$(stat -c %a "$MNT")" 555

# In the background it returns when the tree answers, and what goes wrong reaches the caller.
said=$("$ATLOCKFS_BUILD/atlockfs" --store "$STORE" -o run_as=atlt2 "$MNT" 2>&1)
expect_equal "$said" ''
[ -e "$MNT/custom/before" ] || fail "the lock is gone"
served=$(cat "$STORE/owner.pid")
mkdir "$T/m"
expect_fail "in use by process $served" "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" -o run_as=atlt2 "$T/m"
expect_equal "$(stat -c %a "$T/m")" 755
expect_ok umount "$MNT"
wait_until "is_gone $served"
expect_fail 'only that user' "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" -o run_as=atlt2,private "$MNT"
expect_fail 'only root' as_user atlt1 "$ATLOCKFS_BUILD/atlockfs" --store "$T/s" -o run_as=atlt2 "$MNT"
expect_fail 'name a user' "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" -o run_as=nobody-there "$MNT"

# A policy is read by the daemon: that root could does not help, neither at first nor later.
echo 'deny atlt1 acquire global/**' >"$T/policy"
chmod 600 "$T/policy"
expect_fail 'cannot be read' "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" -o run_as=atlt2,policy="$T/policy" "$MNT"
chmod 644 "$T/policy"
mount_fs -o run_as=atlt2,policy="$T/policy"
expect_fail 'Permission denied' as_user atlt1 touch "$MNT/global/x"
chmod 600 "$T/policy"
expect_fail 'Invalid argument' bash -c 'echo "$1" >"$2"' - "$T/policy" "$MNT/config/policy"
grep -q 'cannot be read' "$MNT/why" || fail "$(cat "$MNT/why")"
expect_fail 'Permission denied' as_user atlt1 touch "$MNT/global/x"
