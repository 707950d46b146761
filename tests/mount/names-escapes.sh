#!/bin/bash
# One lock has one name: a byte is escaped exactly if it must be, control bytes are never raw, and why says how it is spelled.
. "$(dirname "$0")/lib.sh"
mount_fs

bad() { expect_errno EINVAL open "$MNT/$1" wronly,creat; }
for tree in custom global repos/acme/infra/-/modules/vpc/-; do
	bad "$tree/100%"
	bad "$tree/%zz"
	bad "$tree/%4"
	bad "$tree/%41"
	bad "$tree/%2d"
	bad "$tree/a%2Db"
	bad "$tree/%00"
	bad "$tree/a%2fb"
	bad "$tree/%c3%bc"
	bad "$tree/%C3%BC"
	bad "$tree/"$'tab\there'
	bad "$tree/"$'new\nline'
	bad "$tree/"$'\x1b[31mred'
	bad "$tree/"$'\x7f'
	bad "$tree/"$'\x01'
	bad "$tree/-"
	for good in 100%25 %2D %2E %2E%2E a%2Fb %09 %0A %1B[31m %7F a%40b; do
		expect_ok touch "$MNT/$tree/$good"
		expect_ok rm "$MNT/$tree/$good"
	done
done
bad repos/acme/infra/-/modules/vpc/-/a%3A:b%3a
bad custom/a%3Ab
bad global/a%3Ab
expect_ok touch "$MNT/repos/acme/infra/-/modules/vpc/-/a%3Ab:c%40d"
expect_equal "$(field "$MNT/repos/acme/infra/-/modules/vpc/-/a%3Ab:c%40d" workspace)" a:b
expect_equal "$(field "$MNT/repos/acme/infra/-/modules/vpc/-/a%3Ab:c%40d" project)" c@d
expect_ok touch "$MNT/custom/%0A"
expect_equal "$(wc -l <"$MNT/locks.jsonl")" 2 'every line is one line'

touch "$MNT/global/a%41" 2>/dev/null || true
grep -q '"a%41" is spelled "aA"' "$MNT/why" || fail "$(cat "$MNT/why")"

# In the way to a lock.
for dir in 'a%2Fb' '%41' 'x%' $'a\tb'; do
	expect_errno EINVAL open "$MNT/repos/$dir/r/-/d/-/w" wronly,creat
	expect_errno EINVAL open "$MNT/repos/o/r/-/$dir/-/w" wronly,creat
done
for dir in 'a%25b' '%2D' 'a:b' 'a@b' 'with space' '.github' ; do
	expect_ok touch "$MNT/repos/o/$dir/-/$dir/x/-/w"
	expect_ok rm "$MNT/repos/o/$dir/-/$dir/x/-/w"
done
expect_errno EINVAL mkdir "$MNT/custom/a%41"
expect_errno EINVAL mkdir "$MNT/custom/"$'a\nb'
expect_errno EINVAL mkdir "$MNT/custom/a@b"
