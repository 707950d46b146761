#!/bin/bash
# root
# @pr:123: every command of a pull request is the same holder, in any session, without a lease; another pull request is not.
. "$(dirname "$0")/lib.sh"
mount_fs

vpc=$MNT/repos/acme/infra/-/modules/vpc/-/production
dns=$MNT/repos/acme/infra/-/modules/dns/-/production
expect_ok in_session touch "$vpc@pr:123"
expect_equal "$(field "$vpc" who)" pr:123
expect_equal "$(field "$vpc" ttl)" never
expect_equal "$(field "$vpc" expires_at)" never
expect_ok in_session touch "$vpc@pr:123"
expect_ok in_session touch "$dns@pr:123"
expect_equal "$(field "$vpc" ttl)" never 'ttl after a renewal'
[ -e "$vpc@pr:123" ] || fail "not there"
! [ -e "$vpc@pr:12" ] || fail "another number is there"
expect_fail 'Device or resource busy' touch "$vpc@pr:124"
expect_fail 'Permission denied' as_user atlt1 touch "$vpc@pr:123"
expect_equal "$(field "$vpc" token) $(field "$dns" token)" '1 2'

# It may be given a lease, and lets go like any other.
expect_ok in_session sh -c 'echo ttl=1h >> "$1"' sh "$vpc@pr:123"
expect_equal "$(field "$vpc" ttl)" 1h
expect_ok in_session rm "$vpc@pr:123"
! [ -e "$vpc" ] || fail "still there"
[ -e "$dns@pr:123" ] || fail "the other lock went too"
for bad in pr: pr:0 pr:01 pr:-1 pr:1.5 pr:x pr:99999999999999999999; do
	expect_errno EINVAL open "$vpc@$bad" wronly,creat
done
