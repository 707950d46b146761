#!/bin/bash
# df and stat -f show the locks that are held as used inodes, and the room that is left.
. "$(dirname "$0")/lib.sh"
mount_fs

used() { df --output=iused "$MNT" | tail -n 1 | tr -d ' '; }
expect_equal "$(used)" 0
expect_ok touch "$MNT"/custom/{a,b,c}
expect_equal "$(used)" 3
expect_ok rm "$MNT/custom/a"
expect_equal "$(used)" 2
expect_equal "$(df --output=source,fstype "$MNT" | tail -n 1 | tr -s ' ')" 'atlockfs fuse.atlockfs'
[ "$(df --output=avail "$MNT" | tail -n 1)" -gt 1000 ] || fail "$(df "$MNT")"
[ "$(df --output=iavail "$MNT" | tail -n 1)" -gt 1000 ] || fail "$(df -i "$MNT")"
expect_equal "$(stat -f -c %l "$MNT")" 255
[ "$(stat -f -c %f "$MNT")" -le "$(stat -f -c %b "$MNT")" ] || fail "$(stat -f "$MNT")"
