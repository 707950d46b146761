#!/bin/bash
# timeout: 300
# One user's flood does not slow another's locks by more than twice. Both times are of the same run, by turns; what else the
# machine does can only make the ratio worse, so the best of a few tries counts.
. "$(dirname "$0")/lib.sh"

mount_fs
as_user atlt1 mkdir "$MNT/custom/victim"
as_user atlt2 mkdir "$MNT/custom/flood"
tool=$ATLOCKFS_BUILD/mount-flood

median() {
	sort -n | sed -n "$((($1 + 1) / 2))p"
}

# The median of what one lock takes, in microseconds, alone ($1) or beside the flood ($2).
measure() {
	local i flood
	: >"$T/alone" && : >"$T/beside"
	for i in 1 2 3 4 5; do
		as_user atlt1 "$tool" time "$MNT/custom/victim/x" 200 >>"$T/alone"
		setpriv --reuid=atlt2 --regid=atlt2 --init-groups "$tool" on "$MNT/custom/flood" 32 &
		flood=$!
		wait_until '[ "$(ls "$MNT/custom/flood" | wc -l)" -ge $((32 * i)) ]' 30
		as_user atlt1 "$tool" time "$MNT/custom/victim/x" 200 >>"$T/beside"
		kill "$flood"
		wait "$flood" || true
	done
	alone=$(median 5 <"$T/alone") beside=$(median 5 <"$T/beside")
	echo "alone $alone us, beside a flood $beside us"
}

for _ in 1 2 3; do
	measure
	[ "$beside" -gt $((2 * alone)) ] || exit 0
done
fail "beside a flood a lock takes $beside us, alone $alone us"
