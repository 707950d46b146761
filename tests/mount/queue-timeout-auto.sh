#!/bin/bash
# queue_timeout=auto: ten minutes for a lock that nothing is known of, then by how long it was held before.
. "$(dirname "$0")/lib.sh"
mount_fs -o queue_timeout=auto

expect_equal "$(cat "$MNT/config/queue_timeout")" auto
lock=custom/a
# How many seconds the ticket of this name has left.
left() { echo $(($(date -d "$(field "$MNT/queue/$lock/normal@$1" deadline)" +%s) - $(date +%s))); }
between() { [ "$1" -ge "$2" ] && [ "$1" -le "$3" ] || fail "$1 is not between $2 and $3"; }

expect_ok touch "$MNT/$lock@h"
expect_ok touch "$MNT/queue/$lock/normal@x"
between "$(left x)" $((600 - 30 * TIME_FACTOR)) 600
expect_ok rm "$MNT/$lock@h"
# Held for a moment so far: a minute is enough.
expect_ok touch "$MNT/queue/$lock/normal@y"
between "$(left y)" $((60 - 30 * TIME_FACTOR)) 60
