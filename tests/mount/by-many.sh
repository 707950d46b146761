#!/bin/bash
# Looking at every link of a holder of many locks costs a look at each, not at all of them each time; an id that was seen
# before is not taken for a lock that has changed hands.
. "$(dirname "$0")/lib.sh"
mount_fs -o sync=off

cd "$MNT"
seq 2000 | sed 's|^|global/l|; s|$|@many|' | xargs touch
me=$(id -un)
start=$SECONDS
expect_equal "$(find by/who/many -type l -printf '%l\n' | sort -u | wc -l)" 2000
expect_equal "$(ls -lL by/who/many | grep -c '^-rw')" 2000
[ $((SECONDS - start)) -le $((15 * TIME_FACTOR)) ] || fail "took $((SECONDS - start)) s"

id=$(field global/l7 id)
[ -e "by/owner/$me/$id" ] || fail "not there"
rm global/l7@many
! [ -L "by/owner/$me/$id" ] || fail "still there after the release"
touch global/l7@many
! [ -L "by/owner/$me/$id" ] || fail "the old id is the new lock's"
id=$(field global/l7 id)
[ -L "by/who/many/$id" ] || fail "not there again"
echo who=other >>global/l7@many
! [ -L "by/who/many/$id" ] || fail "still there after the transfer"
expect_equal "$(readlink "by/who/other/$id")" ../../../global/l7
cd /
