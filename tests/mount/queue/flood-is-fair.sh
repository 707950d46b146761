#!/bin/bash
# timeout: 300
# One user's flood does not slow another's locks by more than twice. Both times are of the same run, by turns; what else the
# machine does can only make the ratio worse, so the best of a few tries counts. Where it leaves no processor to measure that, the
# flood itself tells: whose locks wait in one queue with it take as long as its own, and another user's at most half of that.
. tests/mount/lib.sh

mount_fs
as_user atlt1 mkdir "$MNT/custom/victim"
as_user atlt2 mkdir "$MNT/custom/flood" "$MNT/custom/member"
tool=${SYS%/*}/flood

median() {
	sort -n | sed -n "$((($1 + 1) / 2))p"
}

# The median of what one lock takes, in microseconds: alone, beside the flood, and one of the flood's own at the same time.
measure() {
	local i flood member
	: >"$T/alone" && : >"$T/beside" && : >"$T/own"
	for i in 1 2 3 4 5; do
		as_user atlt1 "$tool" time "$MNT/custom/victim/x" 200 >>"$T/alone"
		setpriv --reuid=atlt2 --regid=atlt2 --init-groups "$tool" on "$MNT/custom/flood" 32 &
		flood=$!
		wait_until '[ "$(ls "$MNT/custom/flood" | wc -l)" -ge $((32 * i)) ]' 30
		as_user atlt2 "$tool" time "$MNT/custom/member/x" 100 >>"$T/own" &
		member=$!
		as_user atlt1 "$tool" time "$MNT/custom/victim/x" 200 >>"$T/beside"
		wait "$member"
		kill "$flood"
		wait "$flood" || true
	done
	alone=$(median 5 <"$T/alone") beside=$(median 5 <"$T/beside") own=$(median 5 <"$T/own")
	echo "alone $alone us, beside a flood $beside us, of the flood $own us"
}

for try in 1 2 3; do
	as_user atlt2 find "$MNT/custom/flood" -mindepth 1 -delete
	measure
	[ "$beside" -gt $((2 * alone)) ] && [ $((2 * beside)) -gt "$own" ] || exit 0
done
fail "in $try tries a lock takes $beside us beside a flood, alone $alone us, and the flood's own $own us"
