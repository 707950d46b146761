#!/bin/bash
# After kill -9 of the daemon in the middle of work everything it has acknowledged is there: what was taken is held with the
# same token, what was released is free, and new tokens are greater than all before.
. tests/mount/lib.sh
mount_fs

# Takes locks, releases every third, and notes what was acknowledged, until the daemon is gone.
work() {
	local i lock token
	for ((i = 0; ; i++)); do
		lock=custom/$1-$i
		[ $((i % 2)) -eq 0 ] || lock=repos/acme/infra/-/$1/-/ws$i
		touch "$MNT/$lock@$1" 2>/dev/null || return 0
		token=$(field "$MNT/$lock" token 2>/dev/null) || return 0
		echo "held $lock $token" >>"$T/log-$1"
		[ $((i % 3)) -eq 0 ] || continue
		echo "releasing $lock" >>"$T/log-$1"
		rm "$MNT/$lock@$1" 2>/dev/null || return 0
		echo "free $lock" >>"$T/log-$1"
	done
}

expect_ok mkdir -m 750 "$MNT/custom/made"
pids=()
for name in a b c; do
	work $name &
	pids+=($!)
done
wait_until '[ "$(cat "$T"/log-* | grep -c ^free)" -ge 60 ]' 60
kill_daemon
wait "${pids[@]}"
mount_fs

newest=0
for name in a b c; do
	declare -A held=() freed=() releasing=()
	while read -r what lock token; do
		case $what in
		held) held[$lock]=$token ;;
		releasing) releasing[$lock]=1 ;;
		free) freed[$lock]=1 ;;
		esac
	done <"$T/log-$name"
	for lock in "${!held[@]}"; do
		[ "${held[$lock]}" -le "$newest" ] || newest=${held[$lock]}
		if [ -n "${freed[$lock]:-}" ]; then
			[ ! -e "$MNT/$lock" ] || fail "$lock is back"
		elif [ -z "${releasing[$lock]:-}" ]; then
			expect_equal "$(field "$MNT/$lock" token)" "${held[$lock]}" "$lock"
			expect_equal "$(field "$MNT/$lock" who)" $name
		fi
	done
done
expect_equal "$(stat -c %a "$MNT/custom/made")" 750
expect_ok touch "$MNT/custom/new@x"
[ "$(field "$MNT/custom/new" token)" -gt "$newest" ] || fail "a token was given out twice"
