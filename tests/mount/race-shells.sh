#!/bin/bash
# The oldest idiom: `set -C; > lock` in many shells at once, and one of them has it.
. "$(dirname "$0")/lib.sh"
mount_fs

rounds=$((${ROUNDS:-1000} / 100 + 1))
for ((round = 0; round < rounds; round++)); do
	pids=()
	for ((i = 0; i < 16; i++)); do
		setsid -w bash -c 'set -C; : >"$1" && echo won' - "$MNT/custom/x$round" 2>/dev/null >"$T/$i" &
		pids+=($!)
	done
	wait "${pids[@]}" || true
	expect_equal "$(cat "$T"/[0-9]* | wc -l)" 1 "winners of round $round"
done
