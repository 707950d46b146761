#!/bin/bash
# Looking at one link or ticket costs the same among ten times as many: in by/, in pulls/ and in queue/, by the name that is listed
# and by the one that it was made under. And a directory of queue/ costs what is below it, whatever waits elsewhere.
. tests/mount/lib.sh
mount_fs -o sync=off,max_queue=100000
few=${ROUNDS:-250}
looks=$few
cd "$MNT"
touch global/few@h global/many@h

# Locks of one holder and of one pull request, tickets of one lock: as many of each as given.
fill() {
	seq "$2" | sed "s|.*|repos/acme/$1/-/d/-/w&@$1|" | xargs touch
	seq "$2" | sed "s|.*|repos/acme/$1/-/d/-/p&@pr:$3|" | xargs touch
	seq "$2" | sed "s|.*|queue/global/$1/low@w&|" | xargs touch
}
fill few "$few" 1
fill many $((few * 10)) 2

# The daemon's processor time, in clock ticks.
ticks() {
	awk '{ sub(/.*\) /, ""); print $12 + $13 }' "/proc/$DAEMON/stat"
}

# Looks at all names of a file and leaves what that took in $took.
look() {
	local before
	before=$(ticks)
	xargs -a "$1" stat -c %F >"$T/kinds"
	took=$(($(ticks) - before))
	expect_equal "$(wc -l <"$T/kinds")" "$looks" "looked at"
}

# Names are chosen all over, and known otherwise than by a listing where that is possible.
names() {
	case $1 in
	by) jq -r 'select(.who == "'"$2"'") | "by/who/'"$2"'/" + .id' locks.jsonl ;;
	pulls) jq -r 'select(.who == "pr:'"$3"'") | "pulls/github.com/acme/'"$2"'/-/'"$3"'/locks/" + .id' locks.jsonl ;;
	listed) find "queue/global/$2" -type f ;;
	made) seq "$4" | sed "s|.*|queue/global/$2/low@w&|" ;;
	esac | shuf -n "$looks"
}
for what in by pulls listed made; do
	names "$what" few 1 "$few" >"$T/few"
	names "$what" many 2 $((few * 10)) >"$T/many"
	look "$T/few"
	among_few=$took
	look "$T/many"
	echo "$what: $looks looks took $among_few ticks among $few, $took among ten times as many"
	[ "$took" -le $((3 * among_few + 15 * TIME_FACTOR)) ] || fail "$what: $took ticks among many, $among_few among few"
done

mkdir -p custom/q/a/b custom/q/empty
touch custom/q/a/b/l@h
touch queue/custom/q/a/b/l/low@x
list() {
	local before
	before=$(ticks)
	seq "$looks" | sed 's|.*|queue/custom/q|' | xargs find >"$T/found"
	took=$(($(ticks) - before))
	expect_equal "$(sed 's/[0-9]*-low-[0-9]*/N/' "$T/found" | sort -u | tr '\n' ' ')" \
		"queue/custom/q queue/custom/q/a queue/custom/q/a/b queue/custom/q/a/b/l queue/custom/q/a/b/l/N-$(id -un)@x "
}
list
alone=$took
seq $((few * 5)) | sed 's|.*|queue/repos/acme/many/-/d/-/w&/low@x|' | xargs touch
list
echo "queue/custom/q: $looks times took $alone ticks, $took beside $((few * 5)) queues"
[ "$took" -le $((3 * alone + 15 * TIME_FACTOR)) ] || fail "queue/custom/q: $took ticks beside other queues, $alone without"
cd /
