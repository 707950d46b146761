#!/bin/bash
# root
# atlock backup copies a store in use, as of one moment; restore makes a store of it; fsck finds and repairs what does not fit.
. tests/mount/lib.sh
mount_fs

atlock() {
	"$ATLOCK" "$@"
}
expect_status 64 atlock backup -m "$MNT/nowhere" "$T/copy"
grep -q 'which store? --store says so' "$T/err" || fail "$(cat "$T/err")"
expect_status 64 atlock backup -m "$MNT"

# Without --store it is that of the mount, for who may read it.
expect_status 0 atlock backup -m "$MNT" "$T/of-mount"
grep -qF "$T/of-mount: 0 locks" "$T/out" || fail "$(cat "$T/out")"
expect_status 64 as_user atlt1 "$ATLOCK" backup -m "$MNT" "$T/not-mine"
[ ! -e "$T/not-mine" ] || fail "made a directory"
mv "$STORE/owner.pid" "$T/owner.pid"
expect_status 64 atlock backup -m "$MNT" "$T/copy"
mv "$T/owner.pid" "$STORE/owner.pid"
expect_status 64 atlock backup --store "$STORE"
expect_status 66 atlock backup --store "$T/nowhere" "$T/copy"
expect_status 64 atlock restore "$T/copy"
expect_status 64 atlock fsck

# Each change takes or releases a pair: a copy of one moment never has half of one.
mkdir "$MNT/custom/d"
cat >"$T/change" <<'END2'
for i in $(seq 100000); do
	"$ATLOCK" lock -m "$MNT" "custom/d/a$1" --who w >/dev/null
	touch "$MNT/custom/d/b$1@w"
	rm "$MNT/custom/d/b$1@w" "$MNT/custom/d/a$1@w"
done
END2
export ATLOCK MNT
bash "$T/change" 1 2>/dev/null &
one=$!
bash "$T/change" 2 2>/dev/null &
two=$!
expect_ok touch "$MNT/repos/acme/infra/-/vpc/-/prod@build-1" "$MNT/queue/repos/acme/infra/-/vpc/-/prod/high@build-2"
echo reason=kept >>"$MNT/repos/acme/infra/-/vpc/-/prod@build-1"
for i in 1 2 3 4 5; do
	expect_status 0 atlock backup --store "$STORE" "$T/copy$i"
	grep -q ' 1 waiter,' "$T/out" || fail "$(cat "$T/out")"
	expect_equal "$(ls "$T/copy$i")" data.mdb
	for n in 1 2; do
		expect_status 0 atlock ls --store "$T/copy$i" custom/d
		! grep -q "^custom/d/b$n" "$T/out" || grep -q "^custom/d/a$n" "$T/out" || fail "half of a pair"
	done
done
kill -KILL $one $two
wait $one $two 2>/dev/null || true
for n in 1 2; do rm -f "$MNT/custom/d/a$n@w" "$MNT/custom/d/b$n@w"; done

# A copy is not written over anything.
expect_status 1 atlock backup --store "$STORE" "$T/copy1"
grep -q 'not empty' "$T/err" || fail "$(cat "$T/err")"
mkdir "$T/other"
touch "$T/other/file"
expect_status 1 atlock backup --store "$STORE" "$T/other"
expect_equal "$(ls "$T/other")" file
if [ -c /dev/full ]; then
	expect_status 74 sh -c '"$1" backup --store "$2" "$3" >/dev/full' sh "$ATLOCK" "$STORE" "$T/full"
fi

# restore: refuses what is there, and makes a store that mounts with the same locks and newer tokens.
expect_status 1 atlock restore --store "$STORE" "$T/copy1"
expect_status 66 atlock restore --store "$T/new" "$T/nowhere"
token=$(field "$MNT/repos/acme/infra/-/vpc/-/prod" token)
expect_status 0 atlock restore --store "$T/new" "$T/copy1"
unmount_fs
STORE=$T/new
mount_fs
expect_equal "$(field "$MNT/repos/acme/infra/-/vpc/-/prod" token)" "$token"
expect_equal "$(field "$MNT/repos/acme/infra/-/vpc/-/prod" reason)" kept
expect_equal "$(field "$MNT/repos/acme/infra/-/vpc/-/prod" waiters)" 1
expect_ok touch "$MNT/custom/later@w"
[ "$(field "$MNT/custom/later" token)" -gt $((token + 4000000000)) ] || fail "a token may come twice"

# fsck: beside the daemon it only looks; repair is for a store that nobody uses.
expect_status 0 atlock fsck "$STORE"
grep -q 'all is in order' "$T/out" || fail "$(cat "$T/out")"
unmount_fs
spoil=${SYS%/*}/spoil
expect_ok "$spoil" "$STORE" o >/dev/null
expect_status 1 atlock fsck "$STORE"
grep -q 'index of holders' "$T/out" || fail "$(cat "$T/out")"
grep -q -- --repair "$T/err" || fail "$(cat "$T/err")"
expect_status 65 atlock restore --store "$T/again" "$STORE"
[ ! -e "$T/again/data.mdb" ] || fail "restored what is broken"
expect_status 0 atlock fsck --repair "$STORE"
grep -q '^repaired' "$T/out" || fail "$(cat "$T/out")"
expect_status 0 atlock fsck "$STORE"
mount_fs
expect_equal "$(field "$MNT/repos/acme/infra/-/vpc/-/prod" token)" "$token"
expect_equal "$(readlink "$MNT/by/who/build-1/"* | wc -l)" 1
expect_status 0 atlock fsck --repair "$STORE"
