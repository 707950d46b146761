#!/bin/bash
# long
# How locks may be spelled, and how they are read back.
# timeout: 240
. tests/mount/lib.sh

# Names are bytes: what a workspace, project, directory or lock may be called, is read back as it was written.
bytes() {
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
}

# One lock has one name: a byte is escaped exactly if it must be, control bytes are never raw, and why says how it is spelled.
escapes() {
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
}

# 255 bytes a component, as everywhere; below repos/ all of a name together has a limit; below custom/ depth has none.
length() {
	mount_fs

	long() { head -c "$1" /dev/zero | tr '\0' "${2:-x}"; }
	for tree in custom global repos/acme/infra/-/modules/vpc/-; do
		expect_ok touch "$MNT/$tree/$(long 255)"
		expect_equal "$(ls "$MNT/$tree")" "$(long 255)"
		expect_ok rm "$MNT/$tree/$(long 255)"
		expect_errno ENAMETOOLONG open "$MNT/$tree/$(long 256)" wronly,creat
		expect_errno ENAMETOOLONG stat "$MNT/$tree/$(long 256)"
		expect_errno ENAMETOOLONG unlink "$MNT/$tree/$(long 256)"
		expect_errno ENAMETOOLONG open "$MNT/$tree/$(long 200)@$(long 56 w)" wronly,creat
	done
	expect_errno ENAMETOOLONG mkdir "$MNT/custom/$(long 256)"
	expect_ok touch "$MNT/custom/$(long 190)@$(long 64 w)"
	expect_equal "$(field "$MNT/custom/$(long 190)" who)" "$(long 64 w)"

	# Characters of several bytes count as bytes.
	expect_ok touch "$MNT/custom/$(printf 'ü%.0s' $(seq 127))"
	expect_errno ENAMETOOLONG open "$MNT/custom/$(printf 'ü%.0s' $(seq 128))" wronly,creat

	# One key of the store.
	a=$(long 200 a) b=$(long 200 b)
	expect_ok touch "$MNT/repos/$a/$b/-/d/-/w"
	expect_errno ENAMETOOLONG open "$MNT/repos/$a/$b/-/$(long 200 d)/-/w" wronly,creat
	touch "$MNT/repos/$a/$b/-/$(long 200 d)/-/w" 2>/dev/null || true
	grep -q '^INVALID_REQUEST: ' "$MNT/why" || fail "$(cat "$MNT/why")"

	# Deep in custom/, further than any path can be written.
	cd "$MNT/custom"
	for _ in $(seq 40); do
		mkdir "$(long 250 d)"
		cd "$(long 250 d)"
	done
	expect_ok touch bottom
	expect_equal "$(ls)" bottom
	expect_equal "$(field bottom owner)" "$(id -un)"
	expect_fail 'Device or resource busy' in_session touch bottom
	expect_equal "$(jq -r .lock "$MNT/locks.jsonl" | grep -c '^custom/-/d.*/bottom$')" 1 'locks.jsonl survives it'
	expect_ok rm bottom
	cd "$MNT/custom"
	expect_ok rm -r "$(long 250 d)"
	expect_equal "$(find . -type d)" .
	cd /
}

# The names that the hosts of repositories really use, with slashes and all, and the triples that must not meet.
repositories() {
	mount_fs

	holds() {
		local repo=$1 dir=$2 workspace=$3 lock=$MNT/repos/$1/-/$2/-/$3
		expect_ok touch "$lock"
		expect_equal "$(field "$lock" repo)" "$repo"
		expect_equal "$(field "$lock" dir)" "${dir%/}"
		expect_equal "$(field "$lock" workspace)" "$workspace"
	}
	holds acme/infra . default                                       # GitHub, root directory
	holds acme/infra modules/vpc default
	holds group/sub/sub-sub/project envs/prod default                # GitLab
	holds 'My Org/My Project/My Repo' 'stacks/eu west' default       # Azure DevOps
	holds 'Platform Team/Some Repository' terraform default          # Bitbucket Server's display names
	holds PLAT/some-repo terraform production
	holds '~jdoe/private' . default
	holds 'acme/.github' .github/workflows default
	holds acme/infra modules/vpc 'a+b=c&d#e'
	holds acme/my.repo_name-1 a/b/c/d/e/f/g default
	expect_equal "$(jq -r 'select(.state == "acquired") | .repo' "$MNT/locks.jsonl" | sort -u | wc -l)" 8

	# The root directory is '.', which the kernel drops, or nothing; both are one lock.
	[ -e "$MNT/repos/acme/infra/-/-/default" ] || fail "the root directory has two names"
	expect_equal "$(stat -c %i "$MNT/repos/acme/infra/-/./-/default")" "$(stat -c %i "$MNT/repos/acme/infra/-/-/default")"
	find "$MNT/repos/acme/infra" -name default | grep -- '/-/-/default$' >/dev/null || fail "not found"

	# What a join by '/' would confuse.
	for path in a/b/-/c/-/d a/-/b/c/-/d a/b/c/-/-/d a/b/-/c/-/d:e a/b/-/c/-/d%3Ae a/b/-/c/d/-/e a/b/c/-/d/-/e; do
		expect_ok in_session touch "$MNT/repos/$path"
	done
	expect_equal "$(find "$MNT/repos/a" -type f | wc -l)" 7

	# A workspace named like a directory is no obstacle to that directory.
	expect_ok touch "$MNT/repos/acme/infra/-/modules/-/vpc"
	[ -d "$MNT/repos/acme/infra/-/modules/vpc" ] && [ -f "$MNT/repos/acme/infra/-/modules/-/vpc" ] || fail "one hides the other"
}

behaviours bytes escapes length repositories
