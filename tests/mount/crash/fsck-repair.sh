#!/bin/bash
# root
# Whatever table of a store is lost or damaged, atlock fsck names it, --repair sets it right with a line for each, and every lock
# that was held is held. What an administrator has to look at afterwards is kept from everybody else.
. tests/mount/lib.sh
spoil=${SYS%/*}/spoil
mount_fs

lock=$MNT/repos/acme/infra/-/vpc/-/prod
expect_ok touch "$lock@build-1" "$MNT/queue/repos/acme/infra/-/vpc/-/prod/high@build-2"
echo reason=kept >>"$lock@build-1"
expect_ok mkdir -p "$MNT/custom/a/b" "$MNT/custom/c"
expect_ok touch "$MNT/custom/a/b/lock@w" "$MNT/custom/top@w" "$MNT/global/plan@pr:5"
expect_ok mkdir "$MNT/shared/db"
echo UP >"$MNT/shared/db/apps/one"
echo DOWN >"$MNT/shared/db/apps/two"
expect_ok touch "$MNT/shared/db/stop@one"
echo ttl=1h >>"$MNT/shared/db/stop@one"
expect_ok touch "$MNT/owners/github.com/acme/infra/-/applications/web"
echo planned >"$MNT/pulls/github.com/acme/infra/-/5/projects/vpc/-/prod"
echo 3h >"$MNT/config/max_ttl"
unmount_fs
expect_status 0 "$ATLOCK" fsck "$STORE"
held() {
	"$ATLOCK" ls --store "$1" | grep -c '@'
}
before=$(held "$STORE")

# Each time from the same store. Hold times, options and texts need not be there, and nothing can be wrong with a text.
try() {
	local key=$1 how=$2 copy=$T/copy
	rm -rf "$copy"
	mkdir "$copy"
	cp "$STORE/data.mdb" "$copy/"
	# shellcheck disable=SC2086 # a word or none
	expect_ok "$spoil" "$copy" "$key" $how >/dev/null
	expect_status 1 "$ATLOCK" fsck "$copy"
	[ -s "$T/out" ] || fail "$key $how: nothing was told"
	expect_status 0 "$ATLOCK" fsck --repair "$copy"
	[ "$(grep -c ': .*: ' "$T/out")" -gt 0 ] || fail "$key $how: $(cat "$T/out")"
	grep -q '^repaired: [0-9]* problems\?$' "$T/out" || fail "$key $how: $(cat "$T/out")"
	"$ATLOCK" fsck "$copy" >"$T/left" 2>&1 || fail "$key $how: $(cat "$T/left")"
	expect_equal "$(held "$copy")" "$before" "$key $how"
}
for key in l q Q o w x E d D r R s a p j fcounter ftail fdirs; do
	try "$key" ''
	try "$key" garble
done
try c garble

# Events are never mended.
try_events() {
	rm -rf "$T/copy"
	mkdir "$T/copy"
	cp "$STORE/data.mdb" "$T/copy/"
	expect_ok "$spoil" "$T/copy" e garble >/dev/null
	expect_status 1 "$ATLOCK" fsck --repair "$T/copy"
	grep -q '^events: ' "$T/out" || fail "$(cat "$T/out")"
	expect_equal "$(held "$T/copy")" "$before"
}
try_events

# A store of which nobody knows the format is told of and left alone.
for how in '' garble; do
	rm -rf "$T/copy"
	mkdir "$T/copy"
	cp "$STORE/data.mdb" "$T/copy/"
	# shellcheck disable=SC2086 # a word or none
	expect_ok "$spoil" "$T/copy" fformat $how >/dev/null
	expect_status 1 "$ATLOCK" fsck "$T/copy"
	grep -q '^fformat: ' "$T/out" || fail "$(cat "$T/out")"
	expect_status 65 "$ATLOCK" fsck --repair "$T/copy"
	grep -q "restore a copy" "$T/err" || fail "$(cat "$T/err")"
done

# A damaged store as it comes back.
expect_ok "$spoil" "$STORE" l garble >/dev/null
expect_ok "$spoil" "$STORE" d garble >/dev/null
expect_ok "$spoil" "$STORE" a >/dev/null
expect_ok "$spoil" "$STORE" ftail >/dev/null
expect_status 0 "$ATLOCK" fsck --repair "$STORE"
grep -q "^lracme/infra/-/vpc/-/prod: the lock's record is damaged or gone: made anew" "$T/out" || fail "$(cat "$T/out")"
mount_fs
expect_equal "$(field "$lock" who)" build-1
expect_equal "$(field "$lock" reason)" kept
expect_equal "$(field "$lock" waiters)" 1
expect_ok touch -c "$lock@build-1"
expect_equal "$(stat -c '%a %U' "$MNT/custom/a/b")" '700 root'
expect_ok rm "$MNT/custom/a/b/lock@w"
expect_equal "$(cat "$MNT/shared/db/apps/lost")" UNKNOWN
expect_ok rm "$MNT/shared/db/stop@one"
expect_fail 'busy' touch "$MNT/shared/db/stop@one"
expect_ok tail -n 1 "$MNT/events/live" >/dev/null
expect_ok rm "$lock@build-1"
expect_equal "$(field "$lock@build-2" who)" build-2
