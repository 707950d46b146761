#!/bin/bash
# root
# What others may not read in a lock they do not read in locks.jsonl either; that it is held they see.
. "$(dirname "$0")/lib.sh"
mount_fs

as_user atlt1 sh -c 'umask 077; touch "$1" && echo secret=hunter2 >>"$1"' sh "$MNT/custom/private@a"
as_user atlt1 sh -c 'touch "$1" && echo note=public >>"$1"' sh "$MNT/custom/open@a"
meta() { as_user "$1" cat "$MNT/locks.jsonl" | jq -c --arg lock "custom/$2" 'select(.lock == $lock) | .meta'; }
expect_equal "$(meta atlt2 private)" '{}'
expect_equal "$(meta atlt2 open)" '{"note":"public"}'
expect_equal "$(meta atlt1 private)" '{"secret":"hunter2"}'
expect_equal "$(meta root private)" '{"secret":"hunter2"}'
