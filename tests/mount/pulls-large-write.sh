#!/bin/bash
# A table that the kernel has to send in pieces, wherever it lies in the writer's memory, is taken as a whole or not at all.
. "$(dirname "$0")/lib.sh"
mount_fs

pull=$MNT/pulls/github.com/acme/infra/-/1
cat >"$T/write.py" <<'EOF'
import mmap, os, sys
path, end, size, shift = sys.argv[1], sys.argv[2], int(sys.argv[3]), int(sys.argv[4])
# The first piece that the kernel sends ends where a page does: let a line end there, and another begin.
cut = size - shift
text = b"head=NEW\n"
i = 0
while len(text) < cut - 240:
    text += b"modules/%05d/%s\tw\t\tplanned\n" % (i, b"x" * 170)
    i += 1
last = b"last/%s\tw\t\t"
tail = b"planned\n"
text += last % (b"y" * (cut - len(text) - len(last % b"") - len(tail))) + tail
assert len(text) == cut
text += b"after\tw\t\t" + end.encode() + b"\n"
area = mmap.mmap(-1, len(text) + 8192)
area[shift:shift + len(text)] = text
fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
data = memoryview(area)[shift:shift + len(text)]
while data:
    data = data[os.write(fd, data):]
os.close(fd)
EOF
for shift in 0 16 4095; do
	for size in 131072 262144; do
		printf 'head=OLD\nkeep\tw\t\tapplied\n' >"$T/old"
		expect_ok cp "$T/old" "$pull/projects.tsv"
		expect_fail "Invalid argument" python3 "$T/write.py" "$pull/projects.tsv" BOGUS $size $shift
		expect_equal "$(cat "$pull/projects.tsv")" "$(cat "$T/old")"
		expect_ok python3 "$T/write.py" "$pull/projects.tsv" applied $size $shift
		expect_equal "$(cat "$pull/head")" NEW
		expect_equal "$(cat "$pull/projects/after/-/w")" applied
		[ "$(wc -l <"$pull/projects.tsv")" -gt 500 ] || fail "the table is not whole"
	done
done
