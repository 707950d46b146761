#!/bin/bash
# Apps go up and down at random while each tries to stop the resource: whoever may is alone, and saw all others down.
. tests/mount/lib.sh
mount_fs

cd "$MNT/shared"
mkdir db
apps=6
rounds=$((${ROUNDS:-1000} / 40))
for ((i = 0; i < apps; i++)); do
	echo DOWN >"db/apps/$i"
done

# An app that wants to work says UP, and looks whether the resource is being stopped: then it leaves again. One that stops it
# marks that with a directory that two cannot make, and looks whether anybody works. Both orders are decided by one store.
app() {
	local n
	for ((n = 0; n < rounds; n++)); do
		if ((RANDOM % 2)); then
			echo UP >"db/apps/$1"
			if [ ! -e db/stop ]; then
				: >"$T/works.$1"
				[ ! -e "$T/stopping" ] || echo "$1 works on what is stopped" >>"$T/wrong"
				rm "$T/works.$1"
			fi
			echo DOWN >"db/apps/$1"
		elif (set -C; : >"db/stop@$1") 2>/dev/null; then
			mkdir "$T/stopping" 2>/dev/null || echo "$1 is not alone" >>"$T/wrong"
			for other in "$T"/works.*; do
				[ ! -e "$other" ] || echo "$1 stops what $other works on" >>"$T/wrong"
			done
			rmdir "$T/stopping"
			rm "db/stop@$1"
			echo "$1" >>"$T/stopped"
		fi
	done
}
pids=()
for ((i = 0; i < apps; i++)); do
	app "$i" &
	pids+=($!)
done
for pid in "${pids[@]}"; do
	wait "$pid"
done
[ ! -e "$T/wrong" ] || fail "$(sort "$T/wrong" | uniq -c)"
[ -e "$T/stopped" ] || expect_ok touch db/stop@0
cd /
