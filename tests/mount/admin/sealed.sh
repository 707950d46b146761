#!/bin/bash
# key_file: what users write into locks, tickets and pull requests is nowhere in the store to be read; the wrong key, or none, is
# refused and changes nothing; keys can be changed, begun with and given up.
. tests/mount/lib.sh

secret=correct-horse-battery
lock=custom/a
pull=pulls/github.com/acme/infra/-/7

# Every byte of the store, whatever file it is in; the daemon's words and what it says has happened, too.
expect_hidden() {
	! grep -rqaF "$secret" "$STORE" "${T%/*}"/daemon*.log || fail "a text can be read"
	! is_mounted || ! grep -rqaF "$secret" "$MNT/events" || fail "a text is in the events"
	! grep -rqaf <(cat "$T"/key?) "$STORE" "${T%/*}"/daemon*.log || fail "a key can be read"
}

expect_texts() {
	expect_equal "$(field "$MNT/$lock" plan)" "$secret"
	expect_equal "$(getfattr -n user.plan --only-values "$MNT/$lock")" "$secret"
	expect_equal "$(cat "$MNT/$pull/meta")" "plan=$secret"
	expect_equal "$(jq -r 'select(.lock=="custom/a").meta.plan' "$MNT/locks.jsonl")" "$secret"
}

expect_refused() {
	local text=$1 before
	shift
	before=$(cat "$STORE"/data.mdb "$STORE"/commit.log | sha256sum)
	expect_fail "$text" "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" "$@" "$MNT"
	! is_mounted || fail "mounted"
	expect_equal "$(cat "$STORE"/data.mdb "$STORE"/commit.log | sha256sum)" "$before" "the store was changed"
}

# The store whole and without what LMDB has set free, as OPERATIONS.md says.
compact() {
	mkdir "$T/copy"
	mdb_copy -c "$STORE" "$T/copy"
	rm -r "$STORE"
	mv "$T/copy" "$STORE"
	chmod 700 "$STORE"
}

# Key files: made for their owner alone, never over another.
id=$("$ATLOCK" key new "$T/key1")
expect_equal "$(stat -c %a "$T/key1")" 600
expect_equal "$("$ATLOCK" key id "$T/key1")" "$id"
expect_status 1 "$ATLOCK" key new "$T/key1"
id2=$("$ATLOCK" key new "$T/key2")
[ "$id" != "$id2" ] || fail "two keys are the same"
expect_status 64 "$ATLOCK" key
expect_status 64 "$ATLOCK" key old "$T/key1"
cp "$T/key1" "$T/loose"
chmod 644 "$T/loose"
expect_status 77 "$ATLOCK" key id "$T/loose"
expect_fail 'chmod 600' "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" -o key_file="$T/loose" "$MNT"
expect_fail 'No such file' "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" -o key_file="$T/missing" "$MNT"
expect_fail 'whole path' "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" -o key_file=key1 "$MNT"

# From the first mount on with a key.
mount_fs -o key_file="$T/key1"
expect_ok touch "$MNT/$lock@x"
echo "plan=$secret" >>"$MNT/$lock@x"
echo "plan=$secret" >>"$MNT/$pull/meta"
expect_texts
expect_fail 'not permitted' sh -c "echo $T/key2 >$MNT/config/key_file"
expect_hidden
kill_daemon
expect_hidden
mount_fs -o key_file="$T/key1"
expect_texts
unmount_fs
expect_hidden

# Another key, or none.
expect_refused "sealed with key $id"
expect_refused 'wrong key' -o key_file="$T/key2"
expect_refused 'wrong key' -o key_file="$T/key2,old_key_file=$T/key2"

# From one key to another; then the old one is no longer needed, nor any use.
mount_fs -o key_file="$T/key2,old_key_file=$T/key1"
expect_texts
expect_equal "$(jq -r 'select(.type=="sealed").subject' "$MNT"/events/live | tail -1)" "key=$id2 texts=2 damaged=0"
remount_fs -o key_file="$T/key2"
expect_texts
unmount_fs
expect_refused "sealed with key $id2" -o key_file="$T/key1"
expect_hidden

# Given up: decrypted, and mounted without a key from then on.
mount_fs -o old_key_file="$T/key2"
expect_texts
remount_fs
expect_texts
unmount_fs
grep -rqaF "$secret" "$STORE" || fail "still sealed"

# Begun with in a store that has texts already: all are sealed, and a compact copy has no trace of what they were.
mount_fs -o key_file="$T/key1"
expect_texts
unmount_fs

# Its log is verified with the key, with the mount away; another key, or none, is refused.
expect_status 0 "$ATLOCK" audit verify --store "$STORE" --key-file "$T/key1"
grep -q 'are as they were written$' "$T/out" || fail "$(cat "$T/out")"
expect_fail "$id" "$ATLOCK" audit verify --store "$STORE" --key-file "$T/key2"
expect_fail key "$ATLOCK" audit verify --store "$STORE"
compact
expect_hidden
mount_fs -o key_file="$T/key1"
expect_texts

# What a waiter brings for the lock to come.
printf 'plan=%s\n' "$secret" >"$MNT/wait/$lock@y" &
waiter=$!
wait_until '[ "$(field "$MNT/$lock" waiters)" = 1 ]'
expect_hidden
expect_ok rm "$MNT/$lock@x"
expect_ok wait $waiter
expect_equal "$(field "$MNT/$lock@y" plan)" "$secret"
expect_hidden
