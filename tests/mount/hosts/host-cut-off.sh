#!/bin/bash
# A host that is cut off ends the processes of its flocks and of @pid: locks before another host has their locks; others go on.
# root
. tests/mount/lib.sh
. tests/mount/hosts.inc

RELAY=yes
hosts_start -o "host_timeout=$((5 * TIME_FACTOR))s,engine_timeout=1s"

(exec flock -x "$A/custom/f" sh -c "echo \$\$ >'$T/f'; exec sleep 600") &
flock=$!
flock -x "$A/custom/g" sh -c "echo \$\$ >'$T/g'; sleep 600; true" &
sh -c "touch '$A/custom/p@pid:'\$\$; : >'$T/p'; exec sleep 600" &
process=$!
wait_until '[ -s "$T/f" ] && [ -s "$T/g" ] && [ -e "$T/p" ]'
command=$(cat "$T/f")
script=$(cat "$T/g")
expect_ok touch "$A/custom/n@job" "$A/custom/s"

# These have a file of a lock open and hold nothing.
sleep 600 8<"$A/custom/f" &
reader=$!
sleep 600 8<"$A/custom/n" &
named=$!

# Whoever gets a lock of A's on B finds the processes of A gone.
for lock in f g p; do
	(flock -x "$B/custom/$lock" sh -c "for i in $flock $command $script $process; do
		read -r stat 2>/dev/null </proc/\$i/stat || continue
		case \${stat##*) } in [ZX]*) ;; *) echo \$i; exit 1 ;; esac
	done") &
	waiters+=("$!")
	wait_until '[ -n "$(ls "$B/queue/custom/'"$lock"'" 2>/dev/null)" ]'
done
kill -STOP "$RELAY"
for waiter in "${waiters[@]}"; do
	wait "$waiter" || fail "a waiter on B failed, or found a process of A alive"
done
! is_gone "$reader" || fail "a reader was ended"
! is_gone "$named" || fail "a process with the file of a named lock was ended"
[ ! -e "$B/custom/s" ] || fail "the session's lock is held"
expect_equal "$(field "$B/custom/n" who)" job
grep -q '4 locks of processes, sessions and open files of this host are over' "${T%/*}/daemon$MOUNTS.log" ||
	fail "the log does not say what is over"

# It is back, in another life.
kill -CONT "$RELAY"
wait_until '[ "$(field "$A/custom/n" who 2>/dev/null)" = job ]' 30
expect_ok flock -n -x "$A/custom/f" true
expect_ok rm "$A/custom/n@job"

# An engine that is away is the same; lost_signal=none tells nobody.
expect_ok sh -c "echo none >'$A/config/lost_signal'"
(exec flock -x "$A/custom/f" sh -c "echo \$\$ >'$T/h'; exec sleep 600") &
flock=$!
wait_until '[ -s "$T/h" ]'
kill -STOP "$RELAY"
expect_ok flock -w 60 -x "$B/custom/f" true
! is_gone "$flock" || fail "a process was ended with lost_signal=none"
kill -CONT "$RELAY"
kill "$flock" "$(cat "$T/h")" "$reader" "$named"
wait_until '[ ! -e "$A/custom/f" ]' 30

hosts_stop
