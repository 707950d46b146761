#!/bin/bash
# root
# atlock top of a user who is no administrator: what is another's stays so, by force too, and the last line says why; the own
# is the own, also what this very shell holds.
. "$(dirname "$0")/tmux.inc"
mount_fs
export ATLOCK MNT

expect_ok touch "$MNT/custom/root-1@build"
expect_ok as_user atlt1 touch "$MNT/custom/mine@job"
expect_ok touch "$MNT/queue/custom/mine/low@theirs"
expect_ok as_user atlt1 touch "$MNT/queue/custom/root-1/normal@mine"
screen_start 100 24
run_there 'setpriv --reuid=atlt1 --regid=atlt1 --init-groups sh -c "touch \"\$MNT/custom/shell\"; exec \"\$ATLOCK\" top -m \"\$MNT\" -d 0.2 -s lock"'
see '3 held  2 waiting'

# Another's.
press End k
see_chosen custom/root-1
press d
see 'Release custom/root-1, held by root@build'
press y
see '^custom/root-1 is held by root@build since .*Z until'
press F
see 'by FORCE'
press y
see 'custom/root-1 is held by root@build'
see 'administrator'
[ -e "$MNT/custom/root-1" ] || fail "it was released"

# One's own, by name and as a session.
press Home d y
see 'released custom/mine, which atlt1@job had'
press End
see_chosen custom/shell
press d y
see 'released custom/shell, which atlt1@sid:'
[ ! -e "$MNT/custom/shell" ] || fail "it is still held"

# Tickets likewise: custom/mine is root's now, who waited for it.
expect_ok touch "$MNT/queue/custom/mine/high@more"
press Tab
see '^custom/mine +1 +high +more +root'
press Home -
see 'that place in the queue of custom/mine belongs to root@more'
grep -q high <<<"$(ls "$MNT/queue/custom/mine")" || fail "another's priority was changed"
press d y
see 'that place in the queue of custom/mine belongs to root@more: F takes it'
press F y
see 'that place in the queue of custom/mine belongs to root@more: ask them'
expect_equal "$(ls "$MNT/queue/custom/mine" | wc -l)" 1
press End +
see 'atlt1@mine waits for custom/root-1 with priority high'
see '^custom/root-1 +1 +high +mine +atlt1'
press d y
see 'atlt1@mine is not in the queue of custom/root-1 any more'
expect_equal "$(ls "$MNT/queue/custom/root-1" | wc -l)" 0
press q
see_no '^per second'
screen_end
