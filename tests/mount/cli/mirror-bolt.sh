#!/bin/bash
# root
# timeout: 120
# atlock mirror --from: what a running Atlantis locks in its Bolt file is held here while it has it; the file is never written.
. tests/mount/lib.sh
. tests/mount/import.inc
mount_fs

record() { # <directory> <pull number>
	printf '{"bucket":"runLocks","key":"acme/infra/%s/prod/","value":{"Project":{"ProjectName":"","RepoFullName":"acme/infra","Path":"%s"},"Pull":{"Num":%d},"User":{"Username":"alice"},"Workspace":"prod"}}\n' "$1" "$1" "$2"
}
lock() { echo "$MNT/repos/acme/infra/-/$1/-/prod"; }

# Bolt files with these locks, made in a tree of their own.
files_make() {
	local name=$1
	shift
	for spec; do record "${spec%=*}" "${spec#*=}"; done >"$T/lines"
	[ $# -eq 0 ] || expect_ok atlock import "$T/lines"
	expect_ok atlock export --to "bolt:$T/$name.db"
	for spec; do free_lock "$(lock "${spec%=*}")"; done
}
files_make none
files_make vpc vpc=5
files_make two vpc=5 both=8

# Writes the pages of a file over another one as a transaction of its own: data, then the meta pages with a higher number.
cat >"$T/commit.py" <<'END'
import struct, sys
def fnv(data):
    h = 0xcbf29ce484222325
    for b in data:
        h = (h ^ b) * 0x100000001b3 & 0xffffffffffffffff
    return h
new = bytearray(open(sys.argv[1], 'rb').read())
with open(sys.argv[2], 'r+b') as there:
    size = struct.unpack_from('<I', there.read(4096), 16 + 8)[0]
    metas = []
    for page in 0, 1:
        there.seek(page * size)
        metas.append(struct.unpack_from('<Q', there.read(80), 16 + 48)[0])
    for page in 0, 1:
        at = page * size + 16
        struct.pack_into('<Q', new, at + 48, max(metas) + 1 + page)
        struct.pack_into('<Q', new, at + 56, fnv(new[at:at + 56]))
    there.seek(0, 2)
    there.truncate(max(there.tell(), len(new)))
    there.seek(2 * size)
    there.write(new[2 * size:])
    there.flush()
    there.seek(0)
    there.write(new[:2 * size])
END
cp "$T/none.db" "$T/atlantis.db"
commit() { python3 "$T/commit.py" "$T/$1.db" "$T/atlantis.db"; }

# Atlantis has the file locked all the time.
exec 7<"$T/atlantis.db"
flock -n 7
expect_status 75 atlock import "$T/atlantis.db"
"$ATLOCK" -m "$MNT" mirror --interval 50ms --from "$T/atlantis.db" >"$T/mirror.out" 2>"$T/mirror.err" &
mirror=$!
commit vpc
wait_until '[ -e "$(lock vpc)" ]' 10
expect_equal "$(field "$(lock vpc)" owner)@$(field "$(lock vpc)" who)" alice@pr:5
expect_status 1 touch "$(lock vpc)@pr:6"
commit none
wait_until '[ ! -e "$(lock vpc)" ]' 10

# What Atlantis still has comes back when it is released here, and a lock that both gave is a conflict.
expect_ok touch "$(lock both)@pr:7"
commit two
wait_until '[ -e "$(lock vpc)" ]' 10
wait_until 'field "$MNT/health" mirror | grep "both/-/prod is another.s there: pr:7 here, pr:8 there" >/dev/null' 10
token=$(field "$(lock vpc)" token)
free_lock "$(lock vpc)"
wait_until '[ "$(field "$(lock vpc)" token 2>/dev/null || echo "$token")" != "$token" ]' 10
expect_ok rm "$(lock both)@pr:7"
wait_until '[ "$(field "$(lock both)" who 2>/dev/null)" = pr:8 ]' 10
wait_until '[ "$(field "$MNT/health" mirror)" = ok ]' 10
kill -TERM "$mirror"
wait "$mirror" || fail "$(cat "$T/mirror.out" "$T/mirror.err")"
grep -q '^wrote 0 records, deleted 0, ' "$T/mirror.out" || fail "$(cat "$T/mirror.out")"

# Read while it changes all the time: each look is one state, and none says that the file is damaged.
(while [ ! -e "$T/stop" ]; do commit vpc; commit two; done) &
writer=$!
for _ in 1 2 3 4 5; do
	"$ATLOCK" -m "$MNT" mirror --once --from "$T/atlantis.db" >"$T/out" 2>"$T/err" || grep -q 'changes while it is read' "$T/err" || fail "$(cat "$T/err")"
done
touch "$T/stop"
wait "$writer"
exec 7<&-

# Words.
expect_status 64 atlock mirror --from "$T/atlantis.db" --one-way
expect_status 64 atlock mirror --from redis://127.0.0.1:1/0
expect_status 64 atlock mirror --to "$T/atlantis.db"
expect_status 64 atlock mirror --from "$T/atlantis.db" --to redis://127.0.0.1:1/0
expect_status 66 atlock mirror --once --from "$T/absent.db"
