#!/bin/bash
# The names that the hosts of repositories really use, with slashes and all, and the triples that must not meet.
. "$(dirname "$0")/lib.sh"
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
