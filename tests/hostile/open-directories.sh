#!/bin/bash
# Memory of open directories does not grow with what is in them: a user who keeps many open over many locks takes a few KiB for
# each.
. tests/mount/lib.sh
mount_fs -o sync=off
DIRS=${SYS%/*}/dirs

seq "${ROUNDS:-20000}" | sed "s|.*|$MNT/repos/acme/infra/-/d/-/workspace-&@many|" | xargs touch
seq 200 | sed "s|.*|$MNT/global/g&@h&|" | xargs touch
before=$(anonymous)
coproc HOLD {
	for dir in repos/acme/infra/-/d/- by/who/many by/owner/"$(id -un)" by/who; do
		"$DIRS" hold 10 "$MNT/$dir" </dev/stdin &
	done
	wait
}
hold=$HOLD_PID # bash forgets it as soon as that has ended
for _ in 1 2 3 4; do
	read -r -t $((60 * TIME_FACTOR)) line <&"${HOLD[0]}"
	expect_equal "$line" open
done
after=$(anonymous)
echo "$before kB, then $after kB"
eval "exec ${HOLD[1]}>&-"
wait "$hold"
# A sanitizer keeps what was freed. What a call takes while it runs comes with the handles: as much for few as for many.
[ "$TIME_FACTOR" -ne 1 ] || [ $((after - before)) -le 3072 ] || fail "40 open directories took $((after - before)) kB"
