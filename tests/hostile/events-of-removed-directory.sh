#!/bin/bash
# root
# Who makes a directory with the name of one that was closed and is gone sees no event of that one.
. "$(dirname "$0")/../mount/lib.sh"
mount_fs -o allow_other
seen() { as_user "$1" cat "$MNT/events/live" | grep -c merger || true; }

expect_ok as_user atlt1 mkdir -m 700 "$MNT/custom/priv" "$MNT/custom/priv/merger"
expect_ok as_user atlt1 touch "$MNT/custom/priv/merger/plan@x"
expect_ok as_user atlt1 rm "$MNT/custom/priv/merger/plan@x"
expect_ok as_user atlt1 rmdir "$MNT/custom/priv/merger" "$MNT/custom/priv"
expect_equal "$(seen atlt1) $(seen atlt2)" '4 0'
expect_ok as_user atlt2 mkdir -m 755 "$MNT/custom/priv"
expect_equal "$(seen atlt2)" 0
# Of the new one everybody sees what happens.
expect_ok as_user atlt2 mkdir -m 755 "$MNT/custom/priv/merger"
expect_ok as_user atlt2 touch "$MNT/custom/priv/merger/plan@y"
expect_equal "$(seen atlt2) $(seen atlt1) $(seen root)" '2 6 6'
