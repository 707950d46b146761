#!/bin/bash
# root
# A lock that an open file holds ends with that file: it cannot be given to somebody for whom nothing would end it.
. "$(dirname "$0")/lib.sh"
mount_fs

lock=$MNT/custom/x
mkfifo "$T/gate"
flock "$lock" cat "$T/gate" &
wait_until '[ -e "$lock" ]'
expect_fail 'Operation not permitted' chown atlt2 "$lock"
echo > "$T/gate"
wait $!
[ ! -e "$lock" ] || fail "still held: $(cat "$lock")"
