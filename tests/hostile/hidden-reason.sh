#!/bin/bash
# What a lock's mode or the policy hides of its text shows nowhere else: not in `why` of a call that is refused, whichever it is,
# nor in attributes, lists, queues, events and metrics.
# root
. tests/mount/lib.sh
cat >"$T/rules" <<'END'
deny atlt2 read=reason global/*
END
mount_fs -o allow_other,policy="$T/rules"

hold() {
	as_user atlt1 sh -c 'umask "$1"; touch "$2" && printf "reason=%s\nplugh=%s\n" "$3" "$3" >>"$2"' sh "$@"
}
hold 077 "$MNT/custom/mode@a" 'xyzzy1'
hold 022 "$MNT/global/policy@a" 'xyzzy2'
hold 022 "$MNT/custom/open@a" 'shown'

# Every call that is refused because of the holder, and then why.
attempt() {
	local lock=$1 tree=${1%/*}
	"$SYS" open "$lock" wronly,creat,excl
	"$SYS" open "$lock" wronly,creat
	"$SYS" open "$lock" rdonly,creat + flock ex,nb
	"$SYS" open "$MNT/wait/${lock#"$MNT/"}" wronly,nonblock
	timeout 0.2 cat "$MNT/wait/${lock#"$MNT/"}"
	touch "$lock"
	touch -c "$lock@b"
	touch "$MNT/queue/${lock#"$MNT/"}/high@b"
	cat "$MNT/queue/${lock#"$MNT/"}/high@b"
	getfattr -d "$MNT/queue/${lock#"$MNT/"}/high@b"
	rm "$lock"
	chmod 777 "$lock"
	echo reason=mine >>"$lock"
	mv "$lock" "$tree/other"
	getfattr -d "$lock"
	getfattr -n user.reason "$lock"
	cat "$lock"
}
export -f attempt
export MNT SYS
tell() {
	as_user atlt2 bash -T -c 'trap "cat \"$MNT/why\"" DEBUG; attempt "$1"' bash "$MNT/$1" 2>&1 || true
	as_user atlt2 cat "$MNT/why" "$MNT/locks.jsonl" "$MNT/events/live" "$MNT/health" "$MNT/metrics/atlockfs.prom"
}
for lock in custom/mode global/policy custom/open; do
	tell "$lock"
done >"$T/told"
! grep xyzzy1 "$T/told" || fail 'hidden by the mode, and shown'
! grep -E 'reason="?xyzzy2|reason "xyzzy2' "$T/told" || fail 'hidden by the policy, and shown'
grep -q 'reason "shown"' "$T/told" || fail 'what is not hidden is not in why'
as_user atlt2 getfattr -d "$MNT/custom/mode" >"$T/keys" 2>/dev/null || true
! grep plugh "$T/keys" || fail 'the keys of a hidden text are listed'

# Those who may read it are told.
expect_fail 'xyzzy1' as_user atlt1 sh -c 'touch "$1" || { cat "$2" >&2; exit 1; }' sh "$MNT/custom/mode@b" "$MNT/why"
expect_fail 'xyzzy2' bash -c ': >"$1" || { cat "$2" >&2; exit 1; }' bash "$MNT/global/policy@b" "$MNT/why"
