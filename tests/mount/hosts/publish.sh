#!/bin/bash
# With publish=yes in the address a host's events are published by the Redis, for programs that know nothing of mounts.
# root
. tests/mount/lib.sh
. tests/mount/hosts.inc

command -v redis-cli >/dev/null || skip "no redis-cli"
realm_start
plain=$STORE

# published: the messages that have come. "pmessage", the pattern, the channel and the message are a line each.
stdbuf -oL redis-cli -h 127.0.0.1 -p "$PORT" --raw psubscribe 'atlantis:lock:*' >"$T/heard" &
subscriber=$!
wait_until 'grep -q psubscribe "$T/heard"'
heard() {
	grep -A1 -Fx "atlantis:lock:$1" "$T/heard" | grep '^{' | jq -r --arg lock "$2" 'select(.lock == $lock) | .realm + " " + .who'
}

STORE="$plain&publish=yes"
mount_fs -o host_timeout=30s,engine_timeout=5s
STORE=$plain
mount_b -o host_timeout=30s,engine_timeout=5s

expect_ok touch "$B/custom/silent@b"
expect_ok touch "$A/custom/x@a"
expect_ok rm "$A/custom/x@a"
wait_until '[ "$(heard released custom/x)" = "ci a" ]'
expect_equal "$(heard acquired custom/x)" 'ci a'
expect_equal "$(heard acquired custom/silent)" ''

# The rest of the message is the line of events/.
message=$(grep -A1 -Fx atlantis:lock:released "$T/heard" | grep '^{')
expect_equal "$(jq -Sc 'del(.realm)' <<<"$message")" "$(jq -Sc 'select(.type == "released")' "$A/events/live")"

# The last event of a host is published as well.
unmount_b
STORE="$plain&publish=yes"
mount_b -o host_timeout=30s,engine_timeout=5s
unmount_b
wait_until 'grep -qFx atlantis:lock:closed "$T/heard"'

# A user who may not publish is told so when mounting, not later.
redis-cli -h 127.0.0.1 -p "$PORT" ACL SETUSER mute on nopass '~atlantis:enhanced:{ci}:*' +info '+script|load' +eval +evalsha +hmget +hset \
	+hdel +hscan +xadd +xrange +xread +time resetchannels >/dev/null
as_mute="redis://mute@127.0.0.1:$PORT/0?realm=ci"
export ATLOCK_REDIS_PASSWORD=none
expect_fail 'publish' timeout 60 "$ATLOCKFS_BUILD/atlockfs" -f --store "$as_mute&publish=yes" "$B"
STORE=$as_mute
mount_b -o host_timeout=30s,engine_timeout=5s
unmount_b
unset ATLOCK_REDIS_PASSWORD
expect_fail 'publish=maybe: yes or no' "$ATLOCKFS_BUILD/atlockfs" -f --store "$plain&publish=maybe" "$B"

kill "$subscriber"
wait "$subscriber" || true
unmount_fs
server_stop
