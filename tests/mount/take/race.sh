#!/bin/bash
# long
# Many ask for one free lock at the same moment, and one of them has it.
# timeout: 300
. tests/mount/lib.sh

# 64 processes create the same lock at the same time: exactly one gets it, in each of many rounds.
by_create() {
	mount_fs

	rounds=${ROUNDS:-1000}
	race=${SYS%/*}/race
	lock=$MNT/repos/acme/infra/-/modules/vpc/-/production
	expect_ok "$race" exclusive "$lock" 64 "$rounds"
	expect_ok "$race" named "$lock" 64 $((rounds / 5 + 1))
	expect_ok "$race" create "$lock" 64 $((rounds / 5 + 1))
	expect_ok "$race" exclusive "$MNT/custom/x" 64 $((rounds / 5 + 1))
	[ ! -e "$lock" ] || fail "left behind: $(cat "$lock")"
}

# The oldest idiom: `set -C; > lock` in many shells at once, and one of them has it.
by_noclobber() {
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
}

behaviours by_create by_noclobber
