#!/bin/bash
# Many apps go down at the same moment and each wants to stop what they share: exactly one of them does, and none while
# another is still up.
. "$(dirname "$0")/lib.sh"
mount_fs

apps=8
rounds=$((${ROUNDS:-1000} / 200 + 1))
cd "$MNT/shared"

# Each says DOWN, then tries. Whoever wins looks at the others from inside.
race() {
	local i pids=()
	rm -f "$T"/won.*
	for ((i = 0; i < $1; i++)); do
		bash -c 'echo DOWN >"db/apps/app-$1" && sleep "0.0$((RANDOM % 3))" && (set -C; : >"db/stop@app-$1") 2>/dev/null &&
			head -n 1 db/verdict >"$2/won.$1"' - "$i" "$T" &
		pids+=($!)
	done
	wait "${pids[@]}" || true
}

for ((round = 0; round < rounds; round++)); do
	mkdir db
	for ((i = 0; i < apps; i++)); do
		echo UP >"db/apps/app-$i"
	done
	# The last one stays up: nobody may.
	race $((apps - 1))
	[ -z "$(find "$T" -name 'won.*')" ] || fail "round $round: stopped while app-$((apps - 1)) is up"
	[ ! -e db/stop ]
	race "$apps"
	winners=$(find "$T" -name 'won.*' | wc -l)
	# None of those who tried early may have seen all down; then nobody stopped, which is safe.
	[ "$winners" -le 1 ] || fail "round $round: $winners winners"
	if [ "$winners" -eq 1 ]; then
		expect_equal "$(cat "$T"/won.*)" stop
		expect_equal "$(echo db/stop@app-* | wc -w)" 1
	else
		expect_ok touch db/stop@app-0
	fi
	rm "db/stop@$(field db/stop who)"
	rm -r db
done
cd /
