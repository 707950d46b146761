#!/bin/bash
# root
# open(O_CREAT) for writing takes a free lock, opens one's own, and is refused on another's; `> f` is that and no more.
. "$(dirname "$0")/table.inc"

want=([free]=ok [mine]=ok [session]=EBUSY [user]=EACCES [root]=EACCES)
after=([free]=actor [mine]=same [session]=same [user]=same [root]=same)
call() { outcome "$2" "$SYS" open "$1" wronly,creat; }
run_table
call() { outcome "$2" "$SYS" open "$1" rdwr,creat,trunc,nonblock; }
run_row

want=([free]=ok [mine]=ok [session]='Device or resource busy' [user]='Permission denied' [root]='Permission denied')
call() { outcome "$2" sh -c ': > "$1"' sh "$1"; }
run_row
