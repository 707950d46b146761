#!/bin/bash
# Text without '=' is kept as a note: `echo $$ > lock`, the oldest idiom there is, works, also with noclobber.
. "$(dirname "$0")/lib.sh"
mount_fs

lock=$MNT/custom/x
echo $$ >"$lock"
expect_equal "$(field "$lock" note)" $$
echo another >"$lock"
expect_equal "$(field "$lock" note)" another
expect_ok "$SYS" open "$lock" wronly,trunc + write $'two\nlines\n'
expect_equal "$(field "$lock" note)" 'two; lines'
echo 'note=with = in it' >>"$lock"
expect_equal "$(field "$lock" note)" 'with = in it'
expect_ok rm "$lock"

# The lock is held by the open, whatever becomes of the text.
expect_ok bash -c 'set -C; echo mine > "$1"' sh "$lock"
expect_equal "$(field "$lock" note)" mine
expect_fail 'cannot overwrite existing file' bash -c 'set -C; echo again > "$1"' sh "$lock"
expect_fail 'cannot overwrite existing file' in_session bash -c 'set -C; echo other > "$1"' sh "$lock"
expect_equal "$(field "$lock" note)" mine
expect_ok rm "$lock"
expect_fail 'Invalid argument' bash -c 'set -C; echo "bad key=1" > "$1"' sh "$lock"
expect_equal "$(field "$lock" state)" acquired
expect_fail 'Device or resource busy' in_session touch "$lock"
