#!/bin/bash
# long
# root
# timeout: 240
# Every kind of file by every way of reading: read, pread, mmap, sendfile, splice, and the tools that use them. All of them find
# the whole text, however the kernel gets at it.
. tests/mount/lib.sh
. tests/mount/read-ways.inc
mount_fs -o allow_other
cd "$MNT"

url=owners/https:/github.com/acme/infra/-
pull=pulls/github.com/acme/infra/-/7
touch custom/plain custom/named@n
busybox touch custom/busybox
for i in $(seq 60); do printf 'long%d=%0200d\n' "$i" 0; done >custom/long@n
touch queue/custom/plain/high@waits
mkdir shared/db
echo DOWN >shared/db/apps/a
touch "$url/applications/web"
echo abc >"$pull/head"
echo url=https://github.com/acme/infra/pull/7 >"$pull/meta"
echo planned >"$pull/projects/modules/vpc/-/production"

files=(custom/plain custom/named@n custom/busybox custom/long queue/custom/plain/high@waits locks.jsonl metrics/atlockfs.prom
	events/live health why README config/max_ttl shared/db/apps/a shared/db/verdict "$url/owner" "$url/applications/web"
	"$pull/head" "$pull/meta" "$pull/projects.tsv" "$pull/summary" "$pull/projects/modules/vpc/-/production")

# Texts that count requests or seconds are compared without their numbers.
compare() {
	python3 - "$@" <<'EOF'
import glob, re, sys
dir, files = sys.argv[1], sys.argv[2:]
shape = lambda text: re.sub(rb"[0-9]+", b"N", text)
for got in sorted(glob.glob(dir + "/got.*")):
    way, i = got.split(".")[-2:]
    want, text = (open(f, "rb").read() for f in (f"{dir}/got.read.{i}", got))
    if shape(want) != shape(text):
        sys.exit(f"{files[int(i)]} by {way}: {len(text)} bytes instead of {len(want)}")
EOF
}

for i in "${!files[@]}"; do
	file=$MNT/${files[i]}
	[ -s "$file" ] || fail "test -s ${files[i]}"
	for way in "${ways[@]}"; do
		way "$way" "$file" "$T/got.$way.$i" 2>"$T/err" && continue
		# Files of two file systems; tools go on by reading.
		[ "$way" = copy_file_range ] && grep -qF EXDEV "$T/err" || fail "${files[i]} by $way: $(cat "$T/err")"
		rm -f "$T/got.$way.$i"
	done
	rm -f "$T"/*.tar
done
expect_ok python_ways "$T/got" "${files[@]/#/$MNT/}"
expect_ok node_ways "$T/got" "${files[@]/#/$MNT/}"
expect_ok compare "$T" "${files[@]}"

# The size is that of the text, where neither changes by itself.
for file in custom/plain custom/named@n custom/busybox custom/long locks.jsonl README config/max_ttl "$url/owner" "$pull/summary"; do
	expect_equal "$(stat -c %s "$file")" "$(cat "$file" | wc -c)" "$file"
done

# A list of locks too long to be kept: all ways find all of it. What changes after its size was told is not cut off in silence.
for i in $(seq 300); do echo "custom/many$i@x"; done | xargs touch
[ "$(stat -c %s locks.jsonl)" -gt 65536 ] || fail 'the list is short'
for way in "${ways[@]}"; do
	[ "$way" != bash ] || continue
	way "$way" "$MNT/locks.jsonl" "$T/long.$way" 2>"$T/err" || { [ "$way" = copy_file_range ] && continue; } ||
		fail "a long list by $way: $(cat "$T/err")"
	cmp -s "$T/long.read" "$T/long.$way" || fail "a long list by $way: $(diff "$T/long.read" "$T/long.$way")"
done
cat >"$T/size.py" <<'EOF'
import os, sys
fd = os.open(sys.argv[1], os.O_RDONLY)
left = os.fstat(fd).st_size
os.close(os.open(sys.argv[2], os.O_WRONLY | os.O_CREAT))
while left > 0:
    left -= len(os.read(fd, left)) or sys.exit("short")
EOF
expect_ok python3 "$T/size.py" locks.jsonl "$T/unrelated"
expect_fail 'Input/output error' python3 "$T/size.py" locks.jsonl custom/before@x
cd /
