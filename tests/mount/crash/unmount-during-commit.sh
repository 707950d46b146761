#!/bin/bash
# long
# root
# timeout: 300
# The daemon is told to end while more locks are being taken and given back than it keeps without a thread, and none of that can
# be committed yet. It ends well; whoever is told that he has a lock has it afterwards, and whoever is told that he gave it back
# has not.
. tests/mount/lib.sh
. tests/mount/commits.inc
locks=320

# Without a log every commit is a transaction of LMDB, and that can be held.
mkdir -p "$STORE/commit.log.new"

all_wait() {
	local pid state
	for pid in "${pids[@]}"; do
		read -r _ _ state _ <"/proc/$pid/stat" && [ "/proc/$pid/exe" -ef "$SYS" ] || return 1
		case $state in S | D) ;; *) return 1 ;; esac
	done
	commit_is_held && daemon_sleeps
}

# Every second one is there already, and is given back. Each is in a directory of its own, or they would wait in the kernel.
start() {
	local i
	# shellcheck disable=SC2046 # numbers
	(cd "$MNT/custom" && touch $(seq -f '%g/x@me' 1 2 $locks))
	commits_hold
	pids=()
	for ((i = 0; i < locks; i++)); do
		if [ $((i % 2)) -eq 0 ]; then
			"$SYS" open "$MNT/custom/$i/x@me" wronly,creat,excl 2>/dev/null 8>&- &
		else
			"$SYS" unlink "$MNT/custom/$i/x@me" 2>/dev/null 8>&- &
		fi
		pids+=($!)
	done
	wait_until all_wait 60
}

# Told to end by this command.
ends() {
	local i told=()
	"$@"
	commits_go_on
	for ((i = 0; i < locks; i++)); do
		told[i]=0
		wait "${pids[i]}" || told[i]=$?
	done
	daemon_wait
	! is_mounted || fail "$*: still mounted"
	mount_fs "${options[@]}"
	for ((i = 0; i < locks; i++)); do
		[ "${told[i]}" -eq 0 ] || continue
		if [ $((i % 2)) -eq 0 ]; then
			[ -e "$MNT/custom/$i/x@me" ] || fail "$*: lock $i was taken and is not there"
		else
			[ ! -e "$MNT/custom/$i/x@me" ] || fail "$*: lock $i was given back and is there"
		fi
	done
	for ((i = 0; i < locks; i++)); do echo "$MNT/custom/$i/x@me"; done | xargs rm -f
}

for threads in 32 1; do
	options=(-o "max_threads=$threads")
	mount_fs "${options[@]}"
	# shellcheck disable=SC2046 # numbers
	(cd "$MNT/custom" && mkdir -p $(seq 0 $((locks - 1))))
	start && ends kill -TERM "$DAEMON"
	start && ends fusermount3 -uz "$MNT"
	start && ends umount -fl "$MNT"
	unmount_fs
	"$ATLOCK" fsck "$STORE" >/dev/null || fail 'the store is not in order'
done
