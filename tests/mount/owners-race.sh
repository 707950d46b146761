#!/bin/bash
# root
# 32 users, each with a spelling of his own, claim one URL at the same time: one has it, 31 are told who, in each round.
. "$(dirname "$0")/lib.sh"
mount_fs

users=32
for round in 1 2 3; do
	mkfifo "$T/start"
	exec {start}<>"$T/start"
	pids=()
	for ((i = 0; i < users; i++)); do
		case $((i % 4)) in
		0) url=https://github.com/acme/infra.git ;;
		1) url=git@github.com:acme/infra ;;
		2) url=ssh://git@GitHub.com:22/Acme/Infra ;;
		3) url=https://user$i:token@github.com/acme/infra ;;
		esac
		# Numbers that nobody has: such users are called by them.
		setpriv --reuid=$((70000 + i)) --regid=$((70000 + i)) --clear-groups sh -c '
			read -r _ <"$1"
			touch "$2/applications/app-$3" 2>/dev/null && echo "won" || grep -o "belongs to [^ ]*" "$4/why"
		' sh "$T/start" "$MNT/owners/$url/-" "$i" "$MNT" >"$T/result-$i" &
		pids+=($!)
	done
	for ((i = 0; i < users; i++)); do echo go; done >&"$start"
	wait "${pids[@]}" || true
	exec {start}>&-
	rm "$T/start"
	expect_equal "$(cat "$T"/result-* | grep -c '^won$')" 1 "round $round: $(cat "$T"/result-*)"
	winner=$(basename "$(grep -l '^won$' "$T"/result-*)")
	winner=${winner#result-}
	owner=$MNT/owners/github.com/acme/infra/-/owner
	expect_equal "$(field "$owner" owner),$(field "$owner" applications)" "uid:$((70000 + winner)),1"
	expect_equal "$(cat "$T"/result-* | grep -c "^belongs to uid:$((70000 + winner))$")" $((users - 1))
	expect_ok rm "$MNT/owners/github.com/acme/infra/-/applications/app-$winner"
	[ -z "$(ls "$MNT/owners")" ] || fail "not free after round $round"
done
