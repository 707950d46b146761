#!/bin/bash
# root
# rm releases the caller's own lock; root, an administrator, may release any.
. "$(dirname "$0")/table.inc"

want=([free]=ENOENT [mine]=ok [session]=EPERM [user]=EACCES [root]=ok)
after=([free]=free [mine]=free [session]=same [user]=same [root]=free)
call() { outcome "$2" "$SYS" unlink "$1"; }
run_table

want=([free]='No such file or directory' [mine]=ok [session]='Operation not permitted' [user]='Permission denied' [root]=ok)
call() { outcome "$2" rm "$1"; }
run_row

# rm -f is content with a lock that is not there, and with nothing else.
want[free]=ok
call() { outcome "$2" rm -f "$1"; }
run_row
