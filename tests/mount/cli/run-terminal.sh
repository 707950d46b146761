#!/bin/bash
# On a terminal the command of atlock run has it: it can read, ^C ends it and the script around it, ^Z stops both.
. tests/mount/lib.sh
mount_fs

export ATLOCK MNT T
# It reads from the terminal.
expect_ok on_terminal sh -c '"$ATLOCK" run -m "$MNT" -l custom/x -- sh -c "echo ready; read -r a; echo got \$a"' <<'END2'
expect ready
send hello\n
expect got hello
status 0
END2

# ^C ends the command and the script; the lock is gone when the script is.
cat >"$T/script" <<'END2'
"$ATLOCK" run -m "$MNT" -l custom/x -- sh -c 'trap "echo caught >>\"$T/caught\"; trap - INT; kill -INT \$\$" INT; echo ready; while :; do sleep 0.1; done'
echo went on
touch "$T/went-on"
END2
expect_ok on_terminal bash "$T/script" <<'END2'
expect ready
send \x03
status -2
END2
expect_equal "$(cat "$T/caught")" caught 'once'
[ ! -e "$T/went-on" ] || fail "the script went on"
[ ! -e "$MNT/custom/x" ] || fail "left behind"

# ^C while it waits.
expect_ok touch "$MNT/custom/x@other"
expect_ok on_terminal sh -c 'exec "$ATLOCK" run -m "$MNT" -l custom/a -l custom/x -w never -- true' <<'END2'
until grep -qx waiters=1 "$MNT/custom/x"
send \x03
status -2
END2
grep -qx waiters=0 "$MNT/custom/x" && [ ! -e "$MNT/custom/a" ] || fail "left behind"
expect_ok rm "$MNT/custom/x@other"

# ^Z gives the shell its terminal back, the lock stays, fg goes on.
expect_ok on_terminal bash --norc --noprofile -i <<'END2'
send PS1='> '; "$ATLOCK" run -m "$MNT" -l custom/x -- sh -c 'echo rea""dy; read -r a; echo got $a'\n
expect ready
send \x1a
expect Stopped
send test -e "$MNT/custom/x" && echo he""ld\n
expect held
send fg\n
expect run -m
send more\n
expect got more
send exit 4\n
status 4
END2
[ ! -e "$MNT/custom/x" ] || fail "left behind"
