#!/bin/bash
# root
# Writing to a lock is for its holder. On a free one `>>` takes it first, as any open with O_CREAT does.
. "$(dirname "$0")/table.inc"

want=([free]=ENOENT [mine]=ok [session]=EBUSY [user]=EACCES [root]=EACCES)
after=([free]=free [mine]=changed [session]=same [user]=same [root]=same)
call() { outcome "$2" "$SYS" open "$1" wronly,append + write $'color=red\n'; }
check() { [ "$3" != mine ] || expect_equal "$(field "$1" color)" red; }
run_table

want=([free]=ok [mine]=ok [session]='Device or resource busy' [user]='Permission denied' [root]='Permission denied')
after[free]=actor
call() { outcome "$2" sh -c 'echo color=red >> "$1"' sh "$1"; }
run_row
call() { outcome "$2" sh -c 'echo color=red > "$1"' sh "$1"; }
run_row
