#!/bin/bash
# events/ of each host has the events of all: each host's own chain, one file for all, whose lines stay where they are.
# root
. tests/mount/lib.sh
. tests/mount/hosts.inc

hosts_start -o host_timeout=30s,engine_timeout=5s
live_a=$A/events/live live_b=$B/events/live

# acquired LOCK FILE: the chain of the event.
acquired() {
	jq -r --arg lock "$1" 'select(.type == "acquired" and .lock == $lock) | .chain' "$2"
}

expect_ok touch "$A/custom/one@a"
expect_ok touch "$B/custom/two@b"
expect_ok rm "$A/custom/one@a"
expect_equal "$(acquired custom/one "$live_b")" 1
expect_equal "$(acquired custom/two "$live_a")" 2
expect_equal "$(jq -r 'select(.lock == "custom/one") | .type' "$live_b" | xargs)" 'acquired released'
expect_equal "$(sort "$live_a")" "$(sort "$live_b")"
expect_equal "$(stat -Lc %s "$live_b")" "$(wc -c <"$live_b")"

# What was read stays in its place, whoever adds to it; a reader goes on from its offset.
cp "$live_a" "$T/before"
for i in 1 2 3 4 5; do
	expect_ok touch "$A/custom/a$i@a" "$B/custom/b$i@b"
done
size=$(stat -c %s "$T/before")
head -c "$size" "$live_a" >"$T/again"
cmp "$T/before" "$T/again" || fail "lines have moved"
expect_equal "$(tail -c "+$((size + 1))" "$live_a" | jq -r 'select(.type == "acquired") | .lock' | sort | xargs)" \
	"$(printf 'custom/%s ' a1 a2 a3 a4 a5 b1 b2 b3 b4 b5 | xargs)"
expect_equal "$(dd if="$live_a" bs=100 skip=3 status=none | cksum)" "$(tail -c +301 "$live_a" | cksum)"

# Who may not search a directory sees neither host's events in it.
expect_ok mkdir -m 700 "$A/custom/secret"
expect_ok touch "$A/custom/secret/x@a" "$B/custom/secret/y@b"
as_user atlt1 cat "$live_b" >"$T/seen"
! grep -e secret/x -e secret/y "$T/seen" || fail "another user sees them"
expect_equal "$(stat -c %s "$T/seen")" "$(stat -Lc %s "$live_b")"

# The chains, and whether each is whole.
expect_equal "$(jq -c '[.chain, .own]' "$A/events/chains" | xargs)" '[1,true] [2,false]'
expect_equal "$(jq -c '[.chain, .own]' "$B/events/chains" | xargs)" '[1,false] [2,true]'
case $(ls "$A/events") in *chains*) ;; *) fail "events/chains is not listed" ;; esac
"$ATLOCK" -m "$A" audit verify >"$T/verified" || fail "the chains are not whole"
expect_equal "$(grep -c 'are as they were written' "$T/verified")" 2
last=$(grep '^2/' "$T/verified")

# Copies are checked in the same way, with an event that must be in them; what was changed is named with its chain.
cp "$B"/events/20*.jsonl "$T"
expect_ok "$ATLOCK" audit verify --anchor "$last" "$T"/20*.jsonl
sed -i 's,custom/b3,custom/b9,' "$T"/20*.jsonl
expect_fail 'chain 2: event 5 was changed' "$ATLOCK" audit verify "$T"/20*.jsonl
sed -i '/custom\/a3"/d;s,custom/b9,custom/b3,' "$T"/20*.jsonl
expect_fail 'chain 1: event 6 is missing' "$ATLOCK" audit verify "$T"/20*.jsonl

# An archive has the events of its own host; the others still have theirs.
expect_ok "$ATLOCK" -m "$A" audit archive --before now "$T/archive.jsonl"
expect_equal "$(jq -r 'select(.seq) | .chain' "$T/archive.jsonl" | sort -u)" 1
expect_ok "$ATLOCK" -m "$B" audit verify
expect_ok "$ATLOCK" -m "$A" audit verify
expect_equal "$(acquired custom/b1 "$live_a")" 2
expect_equal "$(acquired custom/a1 "$live_b")" ''
expect_ok "$ATLOCK" audit verify "$T/archive.jsonl"

# A host that comes again, and has lost its mirror, has them all.
mirror=$(dirname "$(grep -lx "$DAEMON_B" "$T"/cache/atlockfs/*/*/owner.pid)")
unmount_b
rm -r "$mirror"
mount_b -o host_timeout=30s,engine_timeout=5s
expect_equal "$(acquired custom/b1 "$live_b")" 2
expect_ok "$ATLOCK" -m "$B" audit verify

hosts_stop
