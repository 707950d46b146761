#!/bin/bash
# root
# @pid: binds a lock to the caller or one of his ancestors, of his own uid; nobody can tie it to a stranger's life.
. "$(dirname "$0")/lib.sh"
mount_fs

lock=$MNT/custom/x
sleep 1000 &
stranger=$!
expect_fail 'Operation not permitted' touch "$lock@pid:$stranger"
grep -q 'neither yours nor an ancestor' "$MNT/why" || fail "why says: $(cat "$MNT/why")"
expect_fail 'Operation not permitted' cat "$MNT/wait/custom/x@pid:$stranger"
expect_fail 'Operation not permitted' touch "$MNT/queue/custom/x/high@pid:$stranger"
expect_fail 'Operation not permitted' touch "$lock@pid:$DAEMON"
# An ancestor, but of another user.
expect_fail 'Operation not permitted' as_user atlt1 touch "$lock@pid:$$"
expect_fail 'Operation not permitted' as_user atlt1 touch "$lock@pid:1"
for bad in pid: pid:0 pid:-1 pid:01 pid:x pid:1x pid:99999999999; do
	expect_fail 'Invalid argument' touch "$lock@$bad"
done
[ ! -e "$lock" ] || fail "taken: $(cat "$lock")"

# Any depth of ancestors will do, and threads' processes count.
expect_ok touch "$lock@pid:$$"
expect_ok bash -c 'bash -c "touch -c \"$0@pid:$1\"; true"' "$lock" $$
expect_equal "$(field "$lock" who)" "pid:$$"
# A stranger can neither renew nor release under that name.
renewed=$(field "$lock" renewed_at)
expect_ok as_user atlt1 touch -c "$lock@pid:$$"
expect_fail 'Operation not permitted' as_user atlt1 touch "$lock@pid:$$"
expect_fail 'No such file' as_user atlt1 rm "$lock@pid:$$"
expect_equal "$(field "$lock" renewed_at)" "$renewed"
expect_equal "$(field "$lock" who)" "pid:$$"
expect_ok rm "$lock@pid:$$"
