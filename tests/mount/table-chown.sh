#!/bin/bash
# root
# chown by an administrator who names its holder gives a lock to another user: same token, same queue. Nobody else may.
. "$(dirname "$0")/table.inc"

want=([free]=ENOENT [mine]=EPERM [session]=EPERM [user]=EPERM [root]=EPERM)
after=([free]=free [mine]=same [session]=same [user]=same [root]=same)
uid=$(id -u daemon)
eval "$(declare -f expect_after | sed '1s/expect_after/expect_after_plain/')"
expect_after() {
	local lock=$2 before=$5 key
	if [ "$1" != transferred ]; then
		expect_after_plain "$@"
		return
	fi
	expect_equal "$(field "$lock" owner)" daemon
	expect_equal "$(stat -c %u "$lock")" "$uid"
	for key in who token acquired_at ttl expires_at; do
		expect_equal "$(field "$lock" "$key")" "$(sed -n "s/^$key=//p" <<<"$before")" "$key"
	done
}
call() { outcome "$2" chown daemon "$1" | sed 's/No such file or directory/ENOENT/; s/Operation not permitted/EPERM/'; }
run_table

want=([free]=ENOENT [mine]=EINVAL [session]=EINVAL [user]=ENOENT [root]=ok)
after[root]=transferred
call() {
	local who
	who=$(field "$1" who 2>/dev/null) || who=sid:1
	outcome "$2" chown daemon "$1@$who" | sed 's/No such file or directory/ENOENT/; s/Invalid argument/EINVAL/'
}
run_table
