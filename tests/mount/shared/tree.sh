#!/bin/bash
# shared/: a resource is made with mkdir, its apps are files with one word in them, and both go with rm and rmdir.
. tests/mount/lib.sh
mount_fs

cd "$MNT/shared"
expect_ok mkdir db-1
expect_equal "$(ls)" db-1
expect_equal "$(ls db-1)" "$(printf 'apps\nverdict')"
expect_fail 'File exists' mkdir db-1
expect_equal "$(cat db-1/verdict)" keep 'nobody is registered, so nobody may stop it'

# Registering and saying.
app=db-1/apps/app-a
expect_ok touch "$app"
expect_equal "$(cat "$app")" UNKNOWN
for word in UP DOWN UNKNOWN; do
	before=$EPOCHREALTIME
	echo "$word" >"$app"
	read -r said <"$app"
	expect_equal "$said" "$word"
	expect_equal "$(stat -c %s "$app")" "$((${#word} + 1))"
	[ "$(date -d "$(stat -c %y "$app")" +%s%6N)" -ge "${before/[.,]/}" ] || fail "mtime is not when it was written"
done
printf DOWN >"$app"
expect_equal "$(cat "$app")" DOWN
echo UP >>"$app"
expect_equal "$(cat "$app")" UP
for word in up UPP 'UP DOWN' OFF ''; do
	expect_fail 'Invalid argument' bash -c 'echo "$1" >"$2"' - "$word" "$app"
	expect_equal "$(cat "$app")" UP "after \"$word\""
done
grep -q 'UP, DOWN or UNKNOWN' "$MNT/why"
expect_equal "$(getfattr -n user.status --only-values "$app")" UP
expect_equal "$(getfattr -n user.said --only-values "$app")" UP
expect_equal "$(getfattr -n user.owner --only-values "$app")" "$(id -un)"
getfattr -n user.written_at --only-values "$app" | grep '^20..-..-..T.*Z$' >/dev/null
expect_errno EINVAL utimens "$app" +60 +60
expect_errno EEXIST open "$app" wronly,creat,excl
expect_errno EINVAL open db-1/apps/none rdonly,creat
expect_equal "$(ls db-1/apps)" app-a

# Names, and what does not belong here.
expect_errno EPERM open loose wronly,creat
expect_errno EPERM open db-1/loose wronly,creat
expect_errno EPERM mkdir db-1/dir
expect_errno EPERM mkdir db-1/apps/dir
expect_errno ENOENT open none/apps/app-a wronly,creat
for name in a@b pid:1 pr:2 sid:3 flock:4 a%40b %41; do
	expect_errno EINVAL open "db-1/apps/$name" wronly,creat
done
expect_errno EINVAL mkdir a@b
expect_errno EPERM rename "$app" db-1/apps/app-b
expect_fail 'Operation not permitted' chmod 600 "$app"
expect_fail 'Operation not permitted' bash -c 'echo stop >db-1/verdict'

# It is there after the daemon, however that ended.
cd /
echo DOWN >"$MNT/shared/$app"
remount_fs
expect_equal "$(cat "$MNT/shared/$app")" DOWN
echo UP >"$MNT/shared/$app"
kill_daemon
mount_fs
expect_equal "$(cat "$MNT/shared/$app")" UP

# Leaving.
cd "$MNT/shared"
touch db-1/apps/app-b
expect_fail 'Directory not empty' rmdir db-1
expect_fail 'Directory not empty' rmdir db-1/apps
expect_ok rm "$app"
expect_equal "$(ls db-1/apps)" app-b
expect_fail 'No such file' cat "$app"
expect_ok rm db-1/apps/app-b
expect_ok rmdir db-1
expect_equal "$(ls)" ''

# All of it at once, unless an app may stop it: that is a lock, which goes by its holder's name.
mkdir db-2
touch db-2/apps/{a,b,c}
echo DOWN | tee db-2/apps/* >/dev/null
touch db-2/stop@b
expect_fail 'Operation not permitted' rm -r db-2
expect_ok rm db-2/stop@b
expect_ok rm -r db-2
expect_equal "$(ls)" ''
expect_equal "$(cat "$MNT/locks.jsonl")" ''
cd /
