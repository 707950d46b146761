#!/bin/bash
# root
# A file that was opened while its lock was free shows no later holder's text to a user who could not open it then: not past the
# lock's mode, nor past its directory's. What an open file shows is for its opener, also if root reads it.
. tests/mount/lib.sh
echo 'deny atlt2 read=password **' >"$T/policy"
mount_fs -o allow_other,policy="$T/policy"
as_user atlt1 mkdir -m 777 "$MNT/custom/team"

# Opens a free lock as flock(1) does, and reads it whenever it is told to.
lock=$MNT/custom/team/l
mkfifo "$T/go" "$T/told"
chmod 666 "$T/go" "$T/told"
cat >"$T/peer" <<'EOF'
echo opened >"$2"
while read -r line <"$1" && [ "$line" = read ]; do
	"$SYS" fd 0 + lseek 0 + read >"$2" 2>&1
done
EOF
export SYS
as_user atlt2 "$SYS" open "$lock" rdonly,creat + exec bash "$T/peer" "$T/go" "$T/told" &
peer=$!
expect_equal "$(cat "$T/told")" opened
peek() {
	echo read >"$T/go"
	cat "$T/told"
}

expect_equal "$(peek)" ''
# What everybody may read can be read.
expect_ok as_user atlt1 bash -c 'umask 022; echo key=plain >"$1"' bash "$lock@a"
grep -qF key=plain <<<"$(peek)" || fail 'a lock of mode 644 cannot be read'
# Its mode changes: open files keep what they were opened with, and this one was opened with nothing.
expect_ok as_user atlt1 chmod 600 "$lock@a"
expect_equal "$(peek)" 'read: EACCES' 'after chmod'
expect_ok as_user atlt1 rm "$lock@a"
expect_equal "$(peek)" ''
# The next holder's.
expect_ok as_user atlt1 bash -c 'umask 077; echo key=s3cret >"$1"' bash "$lock@b"
expect_equal "$(peek)" 'read: EACCES' 'a mode of 600'
expect_ok as_user atlt1 rm "$lock@b"
# A closed directory.
expect_ok as_user atlt1 bash -c 'umask 022; echo key=s3cret >"$1"' bash "$lock@c"
expect_ok as_user atlt1 chmod 700 "$MNT/custom/team"
expect_equal "$(peek)" 'read: EACCES' 'a directory of 700'
expect_ok as_user atlt1 chmod 777 "$MNT/custom/team"
grep -qF key=s3cret <<<"$(peek)" || fail 'cannot be read in an open directory'
# What the policy hides.
expect_ok as_user atlt1 bash -c 'echo password=s3cret >"$1"' bash "$lock@c"
expect_equal "$(peek | sed -n 's/^password=//p')" '[hidden]'
echo end >"$T/go"
expect_ok wait "$peer"

# Root, as a set-user-ID program, reads what atlt2 opened.
expect_equal "$(field "$lock" password)" s3cret
cp "$(command -v cat)" "$T/cat"
chmod 4755 "$T/cat"
expect_equal "$(as_user atlt2 bash -c '"$1" <"$2"' bash "$T/cat" "$lock" | sed -n 's/^password=//p')" '[hidden]' 'read by root'
