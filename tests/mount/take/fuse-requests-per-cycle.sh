#!/bin/bash
# What the kernel asks the daemon for one call, counted in what `atlockfs -d` prints. A request more for everybody is a
# regression of speed that no test of behaviour would see.
. tests/mount/lib.sh
mount_fs -d

log=${T%/*}/daemon1.log
dir=$MNT/repos/acme/infra/-/modules/vpc/-

known=$MNT/README
# The requests that a command causes, sorted, without those that nobody waits for.
requests() {
	local before after=-1
	stat "$known" >/dev/null
	before=$(stat -c %s "$log")
	"$@" >/dev/null
	# The close is answered after the command has ended.
	while [ "$after" != "$(stat -c %s "$log")" ]; do
		after=$(stat -c %s "$log")
		sleep 0.2
	done
	tail -c "+$((before + 1))" "$log" | sed -n 's/.*opcode: \([A-Z]*\) .*/\1/p' | sed '/FORGET/d' | sort | xargs
}

# Steps until two rounds agree: the first one looks up directories, and a lifetime may end in the middle of one.
expect_requests() {
	local want=$1 got
	shift
	for _ in {1..15}; do
		got=$(requests "$@")
		[[ ! $got =~ ^$want$ ]] || return 0
	done
	fail "\"$got\" instead of \"$want\" for: $*"
}

# Whoever has been there before has the directories.
expect_requests 'CREATE LOOKUP RELEASE UNLINK' "$SYS" open "$dir/w" wronly,creat,excl + close + unlink "$dir/w"
expect_requests 'CREATE LOOKUP RELEASE SETATTR UNLINK' sh -c 'touch "$1" && rm "$1"' sh "$dir/w"
expect_requests 'CREATE GETATTR LOOKUP LOOKUP LOOKUP RELEASE SETATTR UNLINK' sh -c 'touch "$1" && rm "$1"' sh "$dir/w@a"
expect_requests 'CREATE LOOKUP RELEASE UNLINK' "$SYS" open "$MNT/custom/w" wronly,creat,excl + close + unlink "$MNT/custom/w"
# Scripts name whole paths: the directories on the way are kept, too, if everybody may pass.
deep=$MNT/custom/team/db/eu
mkdir -p "$deep"
known=$deep
expect_requests 'CREATE LOOKUP RELEASE UNLINK' "$SYS" open "$deep/w" wronly,creat,excl + close + unlink "$deep/w"
expect_requests 'CREATE LOOKUP RELEASE SETATTR UNLINK' sh -c 'touch "$1" && rm "$1"' sh "$deep/w"
chmod 700 "$MNT/custom/team"
expect_requests 'CREATE LOOKUP LOOKUP LOOKUP RELEASE UNLINK' "$SYS" open "$deep/w" wronly,creat,excl + close + unlink "$deep/w"

expect_ok touch "$dir/held"
known=$dir/held
expect_requests '' stat "$dir/held"
expect_requests '' test -e "$dir/held"
expect_requests 'FLUSH OPEN READ RELEASE' "$SYS" open "$dir/held" rdonly + read

# Renewing and writing. OPEN does not say that it truncates: the kernel does so afterwards. A name whose file was open for writing is
# looked up again, since the next process does not get that file's node.
expect_requests 'OPEN RELEASE SETATTR' touch "$dir/held"
expect_requests 'FLUSH OPEN RELEASE WRITE' "$SYS" open "$dir/held" wronly,append + write note=x
expect_requests 'FLUSH GETXATTR( LOOKUP)? OPEN RELEASE SETATTR WRITE' "$SYS" open "$dir/held" wronly,trunc + write note=x

# Who waits changes what a lock says, not that it is there: the kernel asks for its attributes, and goes on to know its name.
known=$MNT/README
for _ in 1 2 3 4 5; do
	expect_ok "$SYS" open "$dir/w" wronly,creat,excl + stat "$dir/w"
	expect_ok touch "$MNT/queue/${dir#"$MNT/"}/w/normal@b"
	got=$(requests stat "$dir/w")
	expect_equal "$(stat -c %s "$dir/w")" "$(cat "$dir/w" | wc -c)"
	expect_ok rm "$dir/w"
	expect_ok rm "$dir/w@b"
	[ "$got" != GETATTR ] || break
done
expect_equal "$got" GETATTR 'requests of stat when somebody has begun to wait'

# One list, with all that ls -l wants to know; it asks for attributes that nobody has once, not once a file.
for i in $(seq 50); do : >"$dir/l$i"; done
expect_requests 'GETATTR GETXATTR GETXATTR OPENDIR READDIRPLUS READDIRPLUS RELEASEDIR' ls -l "$dir"
