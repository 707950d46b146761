#!/bin/bash
# What is written to pulls/: taken as a whole or not at all.
. tests/mount/lib.sh

# A pull request is one repository and one number: neither a prefix nor another number is touched. Repositories of any depth
# and spelling; the host is not part of a lock.
exact() {
	needs_root
	mount_fs

	lock() { touch "$MNT/repos/$1/-/d/-/w@pr:$2"; }
	lock org/app 5 && lock org/app-infra 5 && lock org/app/sub 5 && lock org 5 && lock other/app 5
	touch "$MNT/repos/org/app/-/d/-/w2@pr:55" "$MNT/global/plan@pr:5" "$MNT/custom/c@pr:5"
	for repo in org/app org/app-infra org/app/sub org; do
		echo planned >"$MNT/pulls/github.com/$repo/-/5/projects/d/-/w"
	done
	echo planned >"$MNT/pulls/github.com/org/app/-/55/projects/d/-/w"
	expect_equal "$(ls "$MNT/pulls/github.com/org/app/-")" $'5\n55'
	expect_equal "$(ls "$MNT/pulls/github.com/org")" $'-\napp\napp-infra'
	expect_equal "$(readlink "$MNT/pulls/github.com/org/app/-/5/locks"/*)" ../../../../../../../repos/org/app/-/d/-/w
	expect_equal "$(readlink "$MNT/pulls/gitlab.com/org/app/-/5/locks"/*)" ../../../../../../../repos/org/app/-/d/-/w 'another host'
	expect_ok rmdir "$MNT/pulls/github.com/org/app/-/5"
	expect_equal "$(ls "$MNT/by/who/pr:5" | wc -l)" 6
	! [ -e "$MNT/repos/org/app/-/d/-/w" ] || fail "not released"
	for other in org/app-infra/-/d/-/w org/app/sub/-/d/-/w org/-/d/-/w other/app/-/d/-/w org/app/-/d/-/w2; do
		[ -e "$MNT/repos/$other" ] || fail "$other went too"
	done
	expect_equal "$(cat "$MNT/pulls/github.com/org/app/-/55/projects/d/-/w" "$MNT/pulls/github.com/org/app-infra/-/5/projects/d/-/w")" \
		$'planned\nplanned'
	expect_equal "$(ls "$MNT/pulls/github.com/org/app/-")" 55

	# Spellings: as in repos/.
	dash="$MNT/pulls/dev.azure.com/My Org/%2D/a%25b/-/7"
	expect_ok sh -c 'printf "100%%25/x\ta:b@c\tp/q\tplanned\n" > "$1/projects.tsv"' sh "$dash"
	expect_equal "$(cat "$dash/projects/100%25/x/-/a%3Ab%40c:p%2Fq")" planned
	expect_equal "$(cat "$dash/projects.tsv")" $'100%25/x\ta:b@c\tp/q\tplanned'
	expect_equal "$(field "$dash/summary" repo)" 'My Org/-/a%b'
	expect_ok touch "$MNT/repos/My Org/%2D/a%25b/-/x/-/w@pr:7"
	expect_equal "$(field "$dash/summary" locks)" 1
	for bad in 0 01 -1 x 1.5 99999999999999999999; do
		expect_errno EINVAL open "$MNT/pulls/h/r/-/$bad" rdonly
	done
	grep -q 'a decimal number above 0' "$MNT/why"
	expect_errno EINVAL open "$MNT/pulls/-/r" rdonly
	expect_errno EINVAL open "$MNT/pulls/h/-" rdonly
	expect_errno EINVAL open "$MNT/pulls/h/%41/-/1" rdonly
	expect_errno EINVAL open "$dash/projects/d/-/w@who" wronly,creat
	expect_errno ENOENT open "$dash/other" rdonly
	expect_errno ENOENT open "$dash/projects/d/-/w" rdonly
	expect_errno ENOENT open "$dash/locks/lock_1_root_00000000" rdonly
	long=$(printf '%0200d' 0)
	expect_errno ENAMETOOLONG open "$MNT/pulls/$long/$long/$long/-/1" rdonly
	expect_errno ENAMETOOLONG open "$MNT/pulls/$long/$long/-/1/projects/$long/-/w" wronly,creat

	# Nobody made the directories above, so nothing keeps them from being removed but what is in them.
	expect_fail 'Directory not empty' rmdir "$MNT/pulls/github.com/org"
	expect_ok rm -r "$MNT/pulls/github.com/org"
	expect_equal "$(find "$MNT/pulls/github.com")" "$MNT/pulls/github.com"
}

# A table that the kernel has to send in pieces, wherever it lies in the writer's memory, is taken as a whole or not at all.
large_write() {
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
}

behaviours exact large_write
