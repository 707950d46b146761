#!/bin/bash
# root
# timeout: 60
# By every way of reading, wait/<lock> waits and then shows the lock, or fails: nothing ends with status 0 and without the lock.
# sendfile(2) and pages take a free lock and fail on a held one: busybox and Python go on by read(2), and wait.
. tests/mount/lib.sh
. tests/mount/read-ways.inc
mount_fs -o allow_other

# Those that insist on a size which nobody can know before the wait is over, and those that cannot copy without seeking.
fails=' mmap sendfile splice sendfile-file copy_file_range tar rsync python-map node-copy pread pread7 '

one() {
	case $1 in
	python-*) python_ways "$3" "$2" >/dev/null ;;
	node-*) node_ways "$3" "$2" ;;
	*) way "$1" "$2" "$3" ;;
	esac
}

# Free: at once. Held: not before it is given back.
check() {
	local way=$1 lock=custom/$1 status=0 reader
	one "$way" "$MNT/wait/$lock@free" "$T/free" 2>"$T/err" || status=$?
	[ "$status" -ne 0 ] || expect_equal "$(cat "$T/free")" "$(cat "$MNT/$lock")" "$way of a free lock"
	[ "$status" -ne 0 ] || expect_equal "$(field "$MNT/$lock" who)" free "$way of a free lock"
	[ "$status" -eq 0 ] || [[ $fails = *" $way "* ]] || fail "$way of a free lock: $(cat "$T/err")"

	[ -e "$MNT/$lock@free" ] || expect_ok touch "$MNT/$lock@free"
	one "$way" "$MNT/wait/$lock@held" "$T/held" 2>"$T/err" &
	reader=$!
	wait_until "[ \"\$(field '$MNT/$lock' waiters)\" = 1 ] || is_gone $reader"
	if is_gone "$reader"; then
		! wait "$reader" || fail "$way: status 0 while the lock is another's"
		[[ $fails = *" $way "* ]] || fail "$way of a held lock: $(cat "$T/err")"
		return
	fi
	expect_ok rm "$MNT/$lock@free"
	status=0
	wait "$reader" || status=$?
	[ "$status" -eq 0 ] || [[ $fails = *" $way "* ]] || fail "$way of a held lock: $(cat "$T/err")"
	[ "$status" -ne 0 ] || expect_equal "$(field "$MNT/$lock" who)" held "$way of a held lock"
	[ "$status" -ne 0 ] || expect_equal "$(cat "$T/held")" "$(cat "$MNT/$lock")" "$way of a held lock"
}
for way in "${ways[@]}"; do
	check "$way"
done

# Python and Node by all their ways in turn; those that fail say so.
for way in shutil.copyfile node-copy node-read; do
	lock=custom/$way
	touch "$MNT/$lock@other"
	case $way in
	shutil.copyfile) python3 -c 'import shutil, sys; shutil.copyfile(*sys.argv[1:])' "$MNT/wait/$lock@me" "$T/$way" 2>"$T/err" & ;;
	node-copy) node -e 'require("fs").copyFileSync(...process.argv.slice(1))' "$MNT/wait/$lock@me" "$T/$way" 2>"$T/err" & ;;
	node-read) node -e 'process.stdout.write(require("fs").readFileSync(process.argv[1]))' "$MNT/wait/$lock@me" >"$T/$way" 2>"$T/err" & ;;
	esac
	reader=$!
	wait_until "[ \"\$(field '$MNT/$lock' waiters)\" = 1 ] || is_gone $reader" 30
	expect_ok rm "$MNT/$lock@other"
	if wait "$reader"; then
		expect_equal "$(cat "$T/$way")" "$(cat "$MNT/$lock@me")" "$way"
	else
		[ "$way" = node-copy ] || fail "$way: $(cat "$T/err")"
	fi
done

# No page is waited for: with it a directory could be held in the kernel.
lock=$MNT/custom/held
touch "$lock@other"
"$SYS" open "$MNT/wait/custom/held@me" rdonly + sendfile 2>"$T/err" | cat >"$T/pipe" || true
grep -qF EIO "$T/err" || fail "sendfile of a held lock: $(cat "$T/err")"
expect_equal "$(field "$lock" waiters)" 0
expect_equal "$(field "$lock" who)" other
