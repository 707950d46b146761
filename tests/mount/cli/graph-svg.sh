#!/bin/bash
# atlock graph --svg draws who waits for whom, without Graphviz: well-formed whatever locks and waiters are called.
. tests/mount/lib.sh
mount_fs

atlock() {
	local command=$1
	shift
	"$ATLOCK" "$command" -m "$MNT" "$@"
}
svg() {
	expect_status 0 atlock graph --svg "$@"
	expect_ok xmllint --noout "$T/out"
}
texts() {
	xmllint --xpath "//*[local-name()='$1']//text()" "$T/out"
}

svg
texts text | grep -x 'No lock is waited for' >/dev/null || fail "$(cat "$T/out")"
expect_equal "$(xmllint --xpath "count(//*[local-name()='rect'])" "$T/out")" 0

# Two waiters of one lock, of which one has a waiter of its own.
expect_ok touch "$MNT/custom/a@one" "$MNT/custom/b@two"
expect_ok touch "$MNT/queue/custom/a/low@two" "$MNT/queue/custom/a/high@three" "$MNT/queue/custom/b/normal@four"
svg
me=$(id -un)
expect_equal "$(xmllint --xpath "count(//*[local-name()='rect'])" "$T/out")" 4
expect_equal "$(xmllint --xpath "count(//*[local-name()='path' and @marker-end])" "$T/out")" 3
texts title | grep -x "$me@three waits for custom/a of $me@one" >/dev/null || fail "$(cat "$T/out")"
texts text | grep -F '#2 low' >/dev/null || fail "$(cat "$T/out")"
texts text | grep -x '3 wait' >/dev/null || fail "$(cat "$T/out")"
# Who waits stands left of whom it waits for.
left() {
	xmllint --xpath "string(//*[local-name()='g'][*[local-name()='title'] = '$me@$1']/*[local-name()='rect']/@x)" "$T/out"
}
[ "$(left four)" -lt "$(left two)" ] && [ "$(left two)" -lt "$(left one)" ] || fail "$(cat "$T/out")"

# The other forms are as they were, and the last that is asked for counts.
expect_status 0 atlock graph --svg --dot
grep -q '^digraph' "$T/out" || fail "$(cat "$T/out")"
expect_status 0 atlock graph
expect_equal "$(head -n 1 "$T/out")" "$me@one"

# Names are bytes.
for name in '<&">' ']]>' '<!--' $'\xef\xbf\xbf' $'\xef\xbf\xbe' $'\xff\xfe' 'ä🔒' "$(printf 'x%.0s' {1..200})"; do
	expect_ok touch "$MNT/custom/$name@holds&<>"
	expect_ok touch "$MNT/queue/custom/$name/normal@waits\"'&<>"
done
svg
expect_equal "$(xmllint --xpath "count(//*[local-name()='path' and @marker-end])" "$T/out")" 11
texts text | grep 'custom/xxx*…x' >/dev/null || fail "the long name was not cut"

unmount_fs
expect_status 0 "$ATLOCK" graph --svg --store "$STORE"
expect_ok xmllint --noout "$T/out"
expect_status 74 sh -c '"$1" graph --svg --store "$2" >/dev/full' sh "$ATLOCK" "$STORE"
