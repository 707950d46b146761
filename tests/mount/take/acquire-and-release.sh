#!/bin/bash
# The shortest way through: touch takes a lock, cat shows it, rm lets it go.
. tests/mount/lib.sh
mount_fs

lock=$MNT/repos/acme/infra/-/modules/vpc/-/production
expect_fail 'No such file or directory' cat "$lock"
expect_ok touch "$lock"
expect_equal "$(field "$lock" owner)" "$(id -un)"
expect_equal "$(field "$lock" state)" acquired
expect_equal "$(ls "${lock%/*}")" production
expect_fail 'busy' in_session touch "$lock"
expect_ok rm "$lock"
expect_fail 'No such file or directory' cat "$lock"
expect_equal "$(ls "$MNT/repos")" ''
