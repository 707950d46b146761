#!/bin/bash
# timeout: 300
# atlock top with very many locks: it looks less often instead of all the time, and keys do not wait for it.
. "$(dirname "$0")/tmux.inc"
mount_fs -o sync=off
export ATLOCK MNT

mkdir "$MNT/custom/many"
seq -f "$MNT/custom/many/%05g@x" 10000 | xargs touch
expect_ok touch "$MNT/queue/custom/many/07777/high@w"
screen_start 80 24
run_there '"$ATLOCK" top -m "$MNT" -d 0.1'
see '  ok  10000 held  1 waiting'
see '^10000 locks  every (0\.[2-9]|[1-9])'
see_chosen custom/many/07777

# From one end to the other, and one of them out of all.
press End
see_chosen custom/many/10000
press PPage s s s
see 'by LOCK'
press Home
see_chosen custom/many/00001
press /
type_text 0500
press Enter
see '^11 of 10000 locks'
press End d y
see 'released custom/many/05009'
see '^10 of 9999 locks'
press q
see_no '^per second'
screen_end
