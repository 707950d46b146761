#!/bin/bash
# root
# Links below by/ of locks in very deep directories cost little more than those of others, also for a user whose right to search each of
# the directories is asked; and they go by the modes of these.
. tests/mount/lib.sh
mount_fs -o allow_other,sync=off

# The daemon's processor time so far, in hundredths of a second.
used() { awk '{ print $14 + $15 }' "/proc/$DAEMON/stat"; }
cat >"$T/deep" <<'PY'
import os, sys
os.chdir(sys.argv[1])
for i in range(1500):
    os.mkdir("d", 0o755)
    os.chdir("d")
for i in range(150):
    os.close(os.open("lock-%d@deep" % i, os.O_CREAT | os.O_WRONLY))
for i in range(150):
    os.close(os.open("%s/lock-%d@flat" % (sys.argv[1], i), os.O_CREAT | os.O_WRONLY))
PY
as_user atlt1 /usr/bin/python3 "$T/deep" "$MNT/custom"
# What `ls` of links takes, so many times.
times=$((${ROUNDS:-1000} / 250 + 1))
look() {
	local before i
	before=$(used)
	for i in $(seq $times); do
		expect_equal "$("${@:2}" ls -la "$MNT/by/who/$1/" | wc -l)" 153 "$i"
	done
	took=$(($(used) - before))
}
look deep env
for who in env 'as_user atlt2'; do
	# shellcheck disable=SC2086 # words
	look flat $who
	flat=$took
	# shellcheck disable=SC2086
	look deep $who
	echo "150 links $times times, with $who: in custom/ $flat, 1500 directories deep $took"
	[ "$took" -le $((4 * flat + 40)) ] || fail "deep links took $took, others $flat"
done

expect_equal "$(readlink "$MNT/by/who/deep/"* | sort -u | wc -l)" 150
link=$(readlink "$(find "$MNT/by/who/deep" -type l | head -n 1)")
expect_equal "${link%/lock-*}" "../../../custom$(printf '/d%.0s' $(seq 1500))"
as_user atlt1 chmod 700 "$MNT/custom/d/d/d"
expect_equal "$(as_user atlt2 ls "$MNT/by/who/deep/" | wc -l)" 0 'links below a closed directory'
expect_equal "$(as_user atlt1 ls "$MNT/by/who/deep/" | wc -l)" 150 'to its owner'
as_user atlt1 chmod 711 "$MNT/custom/d/d/d"
expect_equal "$(as_user atlt2 ls "$MNT/by/who/deep/" | wc -l)" 150 'open again'
