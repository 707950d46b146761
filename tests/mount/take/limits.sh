#!/bin/bash
# What one user may have and ask for at most. Refusals name the limit and the option; giving back is never limited.
. tests/mount/lib.sh

mount_fs -o max_locks_per_user=3
c=$MNT/config
why_has() {
	grep -q "$1" < <(as_user atlt1 cat "$MNT/why") || fail "not \"$1\": $(as_user atlt1 cat "$MNT/why")"
}

# Locks, however many names one has.
for i in 1 2 3; do expect_ok as_user atlt1 touch "$MNT/custom/l$i@$i"; done
expect_fail 'Disk quota exceeded' as_user atlt1 touch "$MNT/custom/l4@4"
why_has 'QUOTA: atlt1 holds or waits for 3 locks.*max_locks_per_user'
expect_fail 'Disk quota exceeded' as_user atlt1 flock "$MNT/custom/l4" true
expect_ok as_user atlt1 touch "$MNT/custom/l1@1"
expect_ok as_user atlt2 touch "$MNT/custom/l4@4"
for i in 5 6 7 8; do expect_ok touch "$MNT/custom/l$i@$i"; done
expect_ok as_user atlt1 rm "$MNT/custom/l1@1"
expect_ok as_user atlt1 touch "$MNT/custom/l9@1"
# Racing for the last place, one gets it.
expect_ok as_user atlt1 rm "$MNT/custom/l9@1"
for i in $(seq 8); do as_user atlt1 touch "$MNT/custom/race$i@$i" 2>/dev/null & jobs[i]=$!; done
won=0
for i in $(seq 8); do wait "${jobs[i]}" && won=$((won + 1)); done
expect_equal "$won" 1
free_lock "$MNT"/custom/race*
echo 0 >"$c/max_locks_per_user"

# Waits.
echo 2 >"$c/max_waiters_per_user"
for i in 5 6; do expect_ok as_user atlt1 touch "$MNT/queue/custom/l$i/normal@w"; done
expect_fail 'Disk quota exceeded' as_user atlt1 touch "$MNT/queue/custom/l7/normal@w"
why_has 'QUOTA: atlt1 waits 2 times.*max_waiters_per_user'
expect_fail 'Disk quota exceeded' as_user atlt1 timeout 5 cat "$MNT/wait/custom/l8@w"
expect_ok as_user atlt2 touch "$MNT/queue/custom/l7/normal@w"
expect_ok as_user atlt1 rm "$MNT/queue/custom/l5/normal@w"
expect_ok as_user atlt1 touch "$MNT/queue/custom/l7/normal@w"
echo 0 >"$c/max_waiters_per_user"

# Directories of custom/.
echo 100 >"$c/dirs_share"
echo 2 >"$c/max_dirs"
expect_ok as_user atlt1 mkdir -p "$MNT/custom/d/e"
expect_fail 'Disk quota exceeded' as_user atlt1 mkdir "$MNT/custom/f"
why_has 'QUOTA: custom/ has 2 directories.*max_dirs'
expect_ok as_user atlt1 rmdir "$MNT/custom/d/e"
expect_ok as_user atlt1 mkdir "$MNT/custom/f"

# What a lock keeps and how names are: limits that are always there say so, too.
expect_ok as_user atlt1 touch "$MNT/custom/big@b"
expect_fail 'Disk quota exceeded' as_user atlt1 bash -c 'head -c 20000 /dev/zero | tr "\0" x >"$1"' - "$MNT/custom/big@b"
why_has 'QUOTA: .*16384'

# Calls a second: a burst of a second's worth, then no more.
echo 5 >"$c/rate_limit"
sleep 1.1
expect_fail 'Resource temporarily unavailable' as_user atlt1 touch "$MNT"/custom/r{1,2,3,4,5,6,7,8,9}@r
why_has 'RATE_LIMIT: atlt1 has made 5 calls in a second.*rate_limit'
expect_ok as_user atlt2 touch "$MNT/custom/other@r"
for i in 1 2 3 4 5 6 7 8 9; do expect_ok touch "$MNT/custom/root$i@r"; done
expect_ok as_user atlt1 rm -f "$MNT"/custom/r{1,2,3,4,5,6,7,8,9}@r
expect_equal "$(ls "$MNT/custom" | grep -c '^r[1-9]$' || true)" 0

# Not only locks. Each of these is done again and again by one user until it is too much.
echo 1 >"$c/rate_limit"
until_refused() {
	as_user atlt1 bash -c 'cd "$1"; for i in $(seq 300); do eval "$2" 2>"$3" || exit 0; done; exit 1' - "$MNT" "$1" "$T/said" || fail "never refused: $1"
	grep -q 'Resource temporarily unavailable' "$T/said" || fail "$1: $(cat "$T/said")"
	why_has 'RATE_LIMIT: atlt1 has made 1 call in a second.*rate_limit'
}
: >"$T/said" && chmod 666 "$T/said"
expect_ok mkdir "$MNT/shared/db"
echo UP >"$MNT/shared/db/apps/web"
expect_ok chown atlt1 "$MNT/shared/db/apps/web"
expect_ok touch "$MNT/global/busy@r" "$MNT/queue/global/busy/low@r"
until_refused 'mkdir shared/r$i'
until_refused 'echo UP > shared/db/apps/web'
until_refused 'touch shared/db/apps/web'
until_refused 'echo planned > pulls/github.com/a/b/-/1/projects/vpc/-/default'
until_refused 'echo abc$i > pulls/github.com/a/b/-/1/head'
until_refused 'touch owners/github.com/a/b$i/-/applications/web'
echo 0 >"$c/rate_limit"
expect_ok as_user atlt1 touch "$MNT/queue/global/busy/low@w"
echo 1 >"$c/rate_limit"
until_refused 'mv queue/global/busy/low@w queue/global/busy/high@w && mv queue/global/busy/high@w queue/global/busy/low@w'
# What removes goes on.
expect_ok as_user atlt1 rm -f "$MNT/shared/db/apps/web"
expect_ok as_user atlt1 bash -c 'cd "$1"; rmdir shared/r*; rm queue/global/busy/*@w; rmdir pulls/github.com/a/b/-/1' - "$MNT"
