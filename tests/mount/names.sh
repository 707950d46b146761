#!/bin/bash
# Names are bytes: what a workspace, project, directory or lock may be called, is read back as it was written.
. "$(dirname "$0")/lib.sh"
mount_fs

# A name that can be taken, listed, read, renewed and released; other locks stay as they are.
usable() {
	local path=$1
	expect_ok touch "$MNT/$path"
	[ -f "$MNT/$path" ] || fail "$path is not there"
	expect_equal "$(ls -A "$MNT/${path%/*}")" "${path##*/}" listing
	expect_equal "$(find "$MNT/repos" "$MNT/custom" "$MNT/global" -type f)" "$MNT/$path" find
	expect_fail 'Device or resource busy' in_session touch "$MNT/$path"
	expect_ok rm "$MNT/$path"
	! [ -e "$MNT/$path" ] || fail "$path is still there"
}
for name in 'with space' ' leading and trailing ' 'ümläut' '日本語' $'e\u0301' $'\u00e9' $'\xff\xfe not utf-8' '.hidden' '..two' '...' \
	'a.b' '-dash' '--' '-x' '%25' '100%25' 'a%40b' "quote'\"\`\$x;|&<>*?[]{}()!#~\\" 'CON' '=' 'k=v' '+' ',' '_' "$(printf 'x%.0s' $(seq 255))"; do
	usable "custom/$name"
	usable "repos/acme/infra/-/modules/vpc/-/$name"
	usable "global/$name"
done

# A project after ':' is another lock than none. In custom/ and global/ a colon is a byte like any other.
ws=$MNT/repos/acme/infra/-/modules/vpc/-/production
expect_ok touch "$ws" "$ws:vpc" "$ws:dns" "$ws:a%2Fb"
expect_equal "$(ls "${ws%/*}" | tr '\n' ' ')" 'production production:a%2Fb production:dns production:vpc '
expect_equal "$(field "$ws:vpc" workspace),$(field "$ws:vpc" project),$(field "$ws" project)" production,vpc,
expect_equal "$(field "$ws:a%2Fb" project)" a/b
expect_ok rm "$ws:vpc"
[ -e "$ws" ] && ! [ -e "$ws:vpc" ] || fail "the wrong one went"
expect_ok rm "${ws%/*}"/*
usable custom/a:b:c
usable global/a:b
expect_errno EINVAL open "$ws:" wronly,creat
expect_errno EINVAL open "${ws%/*}/:vpc" wronly,creat
expect_errno EINVAL open "$ws:a:b" wronly,creat

# Case and Unicode forms are not folded.
expect_ok touch "$MNT/custom/a" "$MNT/custom/A" "$MNT/custom/"$'\u00e9' "$MNT/custom/"$'e\u0301'
expect_equal "$(ls "$MNT/custom" | wc -l)" 4
expect_ok rm "$MNT"/custom/*
