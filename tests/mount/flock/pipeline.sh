#!/bin/bash
# Many workers that count under flock lose no update: one at a time is inside.
. tests/mount/lib.sh
mount_fs

rounds=$((${ROUNDS:-1000} / 100 + 1))
workers=8
echo 0 >"$T/count"
pids=()
for ((w = 0; w < workers; w++)); do
	for ((i = 0; i < rounds; i++)); do
		flock "$MNT/custom/counter" bash -c 'read -r n <"$1" && mkdir "$1.inside" && echo $((n + 1)) >"$1" && rmdir "$1.inside"' \
			- "$T/count"
	done &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	expect_ok wait "$pid"
done
expect_equal "$(cat "$T/count")" $((workers * rounds))
# The kernel tells of the last close in the background.
wait_until '[ ! -e "$MNT/custom/counter" ]' 2
