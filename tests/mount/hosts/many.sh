#!/bin/bash
# A change that is larger than one step of the store is made in several: a pull request that is closed, a process that ends.
# root
. tests/mount/lib.sh
. tests/mount/hosts.inc

hosts_start -o host_timeout=30s,engine_timeout=5s

# 500 locks have more keys than a commit takes.
seq -f "$A/repos/acme/infra/-/d%g/-/w@pr:5" 500 | xargs touch || fail "not all locks were taken"
wait_until '[ "$(wc -l <"$B/locks.jsonl")" = 500 ]' 30
expect_ok rmdir "$B/pulls/github.com/acme/infra/-/5"
wait_until '[ "$(wc -l <"$A/locks.jsonl")" = 0 ]' 30

# One process has them all, and ends.
(exec bash -c 'seq -f "$1/custom/l%g@pid:$$" 500 | xargs touch; wc -l <"$1/locks.jsonl" >"$2"' - "$A" "$T/held")
expect_equal "$(cat "$T/held")" 500
wait_until '[ "$(wc -l <"$B/locks.jsonl")" = 0 ]' 30

hosts_stop
