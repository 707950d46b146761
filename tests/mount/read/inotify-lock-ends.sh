#!/bin/bash
# Who watches a lock by inotify sees it go however it ends: by its lease, by the last close of a flock, with its process, by an
# administrator, by hand-over. Watching its directory shows what is made and removed by name.
# root
. tests/mount/lib.sh
# The kernel may forget the name of a file that is not open, and tells of no end then; it does when it has to drop its caches.
alone caches
mount_fs
mkdir -m 777 "$MNT/custom/d"
lock=$MNT/custom/d/x

# Starts to wait for an event, and returns when the watch is there.
watch() {
	: >"$T/watch"
	inotifywait -t $((10 * TIME_FACTOR)) -e "$1" --format %e "$2" >"$T/event" 2>"$T/watch" &
	watcher=$!
	wait_until 'grep -q established "$T/watch"'
}
# What came, in $seen.
event() {
	wait "$watcher" || true
	seen=$(cat "$T/event")
}

by_lease() {
	touch "$lock"
	watch delete_self "$lock"
	echo ttl=1s >>"$lock"
}
by_close() {
	rm -f "$T/held"
	"$SYS" open "$lock" rdonly,creat + flock ex + mark "$T/held" + pause &
	holder=$!
	wait_until '[ -e "$T/held" ]'
	watch delete_self "$lock"
	kill "$holder"
}
by_death() {
	rm -f "$T/held"
	bash -c 'touch "$1@pid:$$" "$2" && exec sleep 1000' bash "$lock" "$T/held" &
	holder=$!
	wait_until '[ -e "$T/held" ]'
	watch delete_self "$lock"
	kill -KILL "$holder"
}
by_force() {
	as_user atlt1 touch "$lock@a"
	watch delete_self "$lock"
	rm "$lock@a"
}

for end in by_lease by_close by_death by_force; do
	"$end"
	event
	wait_until '! [ -e "$lock" ]'
	expect_equal "$seen" DELETE_SELF "$end"
done

# With a hand-over the lock is held all the time, but what was watched was the last holder's.
touch "$lock@a"
touch "$MNT/queue/custom/d/x/normal@b"
watch delete_self "$lock"
rm "$lock@a"
event
expect_equal "$seen" DELETE_SELF hand-over
grep -q '^who=b$' "$lock" || fail "after the hand-over: $(cat "$lock")"
rm "$lock@b"
wait_until '! [ -e "$lock" ]'

watch create "$MNT/custom/d"
touch "$lock"
event
expect_equal "$seen" CREATE
watch delete "$MNT/custom/d"
rm "$lock"
event
expect_equal "$seen" DELETE
