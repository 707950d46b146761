#!/bin/bash
# root
# rm releases the caller's own lock. By its plain name root is a caller like any other; an administrator who names the holder may
# release any lock.
. "$(dirname "$0")/table.inc"

want=([free]=ENOENT [mine]=ok [session]=EPERM [user]=EACCES [root]=EACCES)
after=([free]=free [mine]=free [session]=same [user]=same [root]=same)
call() { outcome "$2" "$SYS" unlink "$1"; }
run_table

want=([free]='No such file or directory' [mine]=ok [session]='Operation not permitted' [user]='Permission denied'
	[root]='Permission denied')
call() { outcome "$2" rm "$1"; }
run_row

# rm -f is content with a lock that is not there, and with nothing else.
want[free]=ok
call() { outcome "$2" rm -f "$1"; }
run_row

# By the name of its holder, which nobody but an administrator can use for a session, not even that session.
want=([free]=ENOENT [mine]=EINVAL [session]=EINVAL [user]=ENOENT [root]=ok)
after=([free]=free [mine]=same [session]=same [user]=same [root]=free)
call() {
	local who
	who=$(field "$1" who 2>/dev/null) || who=sid:1
	outcome "$2" "$SYS" unlink "$1@$who"
}
run_table
