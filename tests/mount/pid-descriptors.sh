#!/bin/bash
# A process that cannot be watched gets no lock that would live as long as it: none is left behind when all are gone.
. "$(dirname "$0")/lib.sh"
ulimit -n 64
mount_fs

pids=()
for i in $(seq 60); do
	bash -c 'touch "$1@pid:$$" 2>/dev/null && exec sleep 60' sh "$MNT/custom/l$i" &
	pids+=($!)
done
wait_until '[ "$(ls "$MNT/custom" | wc -l)" -ge 10 ]'
kill "${pids[@]}" 2>/dev/null || true
wait "${pids[@]}" 2>/dev/null || true
wait_until '[ "$(ls "$MNT/custom" | wc -l)" -eq 0 ]' 20
