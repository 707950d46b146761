#!/bin/bash
# long
# root
# timeout: 300
# atlock top on all kinds of terminals: narrow, small, resized, without colours; names that would harm one; it gives the
# terminal back however it ends, stays when the mount goes away, does not wait for a daemon that hangs, and is in nobody's way
# who unmounts.
. tests/mount/lib.sh
. tests/mount/tmux.inc
mount_fs
export ATLOCK MNT

expect_ok touch "$MNT/custom/"$'\u00fcml\u00e4ut@\u30ed\u30c3\u30af' "$MNT/custom/a-rather-long-name-for-a-lock@build-17" \
	"$MNT/custom/"$'c1\u009b31mred\u202erev@x' "$MNT/custom/"$'byte\xff@x' "$MNT/custom/line%0Abreak@x"
echo $'reason=a\u202eb\u009bc' >"$MNT/custom/line%0Abreak@x"
screen_start 40 24
run_there 'NO_COLOR=1 "$ATLOCK" top -m "$MNT" -d 0.2 -s lock'

# 40 columns: what matters most, each line on its own.
see '^LOCK +WHO +HELD +LEFT$'
see $'^…-name-for-a-lock +build-17 +[0-9ms]+ +29m[0-9]+s$|^…[a-z-]*for-a-lock +build-17 '
see 'ok  5 held  0 waiting$'
see '^/s [0-9.]+ gra [0-9.]+ rel [0-9.]+ ref [0-9.]+ exp$'
see $'custom/\u00fcml\u00e4ut +\u30ed\u30c3\u30af '
expect_equal "$(screen | wc -L)" 40
! in_tmux capture-pane -t main -p -e | grep -E $'\033\\[([0-9;]*;)?[34][0-7]' >/dev/null || fail "colours in spite of NO_COLOR"

# Wider, lower, and much too small; it follows and draws anew.
screen_resize 150 12
see '^LOCK +WHO +OWNER +HELD +LEFT +WAIT +PULL +REASON'
see '^custom/a-rather-long-name-for-a-lock +build-17'
see '^custom/c1\?31mred\?rev +x +root'
see '^custom/line%0Abreak +x .* a\?b\?c$'
see '^custom/byte%FF +x'
screen_resize 12 4
see '^LOCK'
screen_resize 3 2
screen_resize 80 5
see '^LOCK +WHO'
screen_resize 80 24
see '^per second'
press End
see_chosen $'custom/\u00fcml\u00e4ut'
# By its id it is found even where JSON cannot spell its name.
press /
type_text byte
press Enter d y
see 'released custom/byte%FF'
[ ! -e "$MNT/custom/"$'byte\xff' ] || fail "it is still held"
press Escape q
see_no '^per second'
run_there clear

# Colours.
run_there '"$ATLOCK" top -m "$MNT" -d 0.2'
see '  ok  4 held'
in_tmux capture-pane -t main -p -e | grep -E $'\033\\[([0-9;]*;)?32' >/dev/null || fail "no colours"

# ^Z gives the terminal to the shell, fg takes it again.
press C-z
see Stopped
run_there fg
see '^per second'
press C-c
see_no '^per second'

# However it ends, the terminal is as it was.
tty=$(in_tmux display-message -p '#{pane_tty}')
declare -A status=([q]=0 [TERM]=143 [HUP]=129 [INT]=130)
for how in q TERM HUP INT; do
	run_there "clear; sh -c '\"\$ATLOCK\" top -m \"\$MNT\" -d 0.2; echo after \$? $how; stty -a'"
	see '^per second'
	[ $how = q ] && press q || kill -$how "$(pgrep -x -t "${tty#/dev/}" atlock)"
	see "^after ${status[$how]} $how"
	see '( |^)icanon'
	see '( |^)echo '
	see_no '^per second'
done

# A daemon that hangs: keys still do what they can, and it says so.
run_there 'clear; "$ATLOCK" top -m "$MNT" -d 0.2'
see '  ok  4 held'
kill -STOP "$DAEMON"
see 'no answer for [0-9]+s'
press Tab
see '^0 waiters'
press '?'
see 'this text'
press q Tab
kill -CONT "$DAEMON"
see 'every 0.2s'
# Nor is it kept from ending.
kill -STOP "$DAEMON"
see 'no answer for [0-9]+s'
press q
see_no '^per second'
run_there 'clear; echo status $?'
see '^status'
kill -CONT "$DAEMON"
run_there 'clear; "$ATLOCK" top -m "$MNT" -d 0.2'
see '  ok  4 held'

# Nobody is kept from unmounting. It says that the mount is gone, and goes on once there is one again.
unmounted=
for _ in $(seq 100); do
	! fusermount3 -u "$MNT" 2>/dev/null || { unmounted=1 && break; }
done
[ -n "$unmounted" ] || fail "it cannot be unmounted"
daemon_wait
see '  gone  4 held'
see 'no atlockfs is mounted there; trying again'
press d y
see '^no atlockfs is mounted there$'
mount_fs
see '  ok  4 held'
see_no 'trying again'
crash_daemon
see '  gone  4 held'
see 'the daemon is dead; trying again'
fusermount3 -uz "$MNT"
mount_fs
see '  ok  4 held'
press q
see_no '^per second'

# As often as asked for.
run_there 'clear; "$ATLOCK" top -m "$MNT" -d 0.2 -n 3; echo status $?'
see '^status 0'
see_no '^per second'

# A terminal of which nothing is known, and one that is known to be dumb.
run_there 'clear; TERM=nonsense "$ATLOCK" top -m "$MNT"; echo status $?'
see 'nothing is known of the terminal "nonsense": set TERM'
see '^status 69'
run_there 'clear; TERM=dumb "$ATLOCK" top -m "$MNT" -n 1; echo status $?'
see '^LOCK '
see '^status 0'
# What is piped in is not typed.
run_there 'clear; echo q | "$ATLOCK" top -m "$MNT" -d 0.2'
see '^per second  [0-9]'
press q
see_no '^per second'

# A store that is gone: the mount is there, but it is not well.
run_there 'clear; "$ATLOCK" top -m "$MNT" -d 0.2'
see '  ok  4 held'
rm -r "$STORE"
see '  failing  4 held'
see '^failing store: '
press q
see_no '^per second'
screen_end
