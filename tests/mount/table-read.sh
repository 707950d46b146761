#!/bin/bash
# root
# Everybody may read who holds a lock; a free one is not there. Reading changes nothing.
. "$(dirname "$0")/table.inc"

want=([free]='No such file or directory' [mine]=ok [session]=ok [user]=ok [root]=ok)
after=([free]=free [mine]=same [session]=same [user]=same [root]=same)
call() { outcome "$2" cat "$1"; }
run_table

# Every caller reads the same.
check() { [ "$3" = free ] || expect_equal "$(actor "$2" cat "$1")" "$4"; }
want[free]=ENOENT
call() { outcome "$2" "$SYS" open "$1" rdonly; }
run_row
