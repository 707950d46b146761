#!/bin/bash
# root
# open(O_RDONLY|O_CREAT), which is how flock(1) opens, gives a handle and takes nothing, whoever holds the lock.
. "$(dirname "$0")/table.inc"

want=([free]=ok [mine]=ok [session]=ok [user]=ok [root]=ok)
after=([free]=free [mine]=same [session]=same [user]=same [root]=same)
call() { outcome "$2" "$SYS" open "$1" rdonly,creat + size + read; }
run_table
