#!/bin/bash
# root
# open(O_CREAT|O_EXCL) takes a free lock and fails on any other, one's own too.
. "$(dirname "$0")/table.inc"

want=([free]=ok [mine]=EEXIST [session]=EEXIST [user]=EEXIST [root]=EEXIST)
after=([free]=actor [mine]=same [session]=same [user]=same [root]=same)
call() { outcome "$2" "$SYS" open "$1" wronly,creat,excl; }
run_table

want=([free]=ok [mine]='File exists' [session]='File exists' [user]='File exists' [root]='File exists')
call() { outcome "$2" bash -c 'set -C; : > "$1"' sh "$1" | sed 's/.*: //; s/cannot overwrite existing file/File exists/'; }
run_row
