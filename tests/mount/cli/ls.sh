#!/bin/bash
# root
# atlock ls, show, queue, status and graph: filters, JSON, tables on a terminal only; the same from a store without a mount.
. tests/mount/lib.sh
mount_fs

atlock() {
	local command=$1
	shift
	"$ATLOCK" "$command" -m "$MNT" "$@"
}
mkdir -m 777 "$MNT/custom/db"
expect_ok touch "$MNT/repos/acme/infra/-/vpc/-/prod@pr:7" "$MNT/repos/acme/web/-/-/default@build-1"
expect_ok as_user atlt1 touch "$MNT/custom/db/backup@night"
printf 'reason=a\tb\nttl=10m\n' >"$T/text"
expect_ok cp "$T/text" "$MNT/global/plan@build-1"
cat "$MNT/wait/global/plan@w1" >/dev/null &
waiter=$!
wait_until '[ "$(field "$MNT/global/plan" waiters)" = 1 ]'
expect_ok touch "$MNT/queue/global/plan/high@night"
expect_ok touch "$MNT/queue/custom/db/backup/low@build-1"

locks() {
	expect_status 0 atlock ls "$@"
	cut -f1 "$T/out" | sort | tr '\n' ' '
}
expect_equal "$(locks)" 'custom/db/backup global/plan repos/acme/infra/-/vpc/-/prod repos/acme/web/-/-/default '
expect_equal "$(locks repos)" 'repos/acme/infra/-/vpc/-/prod repos/acme/web/-/-/default '
expect_equal "$(locks "$MNT/repos/acme/web/")" 'repos/acme/web/-/-/default '
expect_equal "$(locks repos/acme/w)" ''
expect_equal "$(locks --owner atlt1)" 'custom/db/backup '
expect_equal "$(locks --who build-1)" 'global/plan repos/acme/web/-/-/default '
expect_equal "$(locks --repo acme/web)" 'repos/acme/web/-/-/default '
expect_equal "$(locks --pull 7)" 'repos/acme/infra/-/vpc/-/prod '
expect_equal "$(locks --pull 8)" ''
expect_equal "$(locks --expiring-within 20m)" 'global/plan '
expect_equal "$(locks --older-than 1h)" ''
expect_equal "$(locks --older-than 1ms --repo acme/web)" 'repos/acme/web/-/-/default '
expect_equal "$(locks --type project)" 'repos/acme/infra/-/vpc/-/prod repos/acme/web/-/-/default '
expect_equal "$(locks --type global)$(locks --type shared)" 'global/plan '
sorted() {
	expect_status 0 atlock ls --sort "$@"
	cut -f1 "$T/out" | xargs
}
expect_equal "$(sorted held)" 'repos/acme/infra/-/vpc/-/prod repos/acme/web/-/-/default custom/db/backup global/plan'
expect_equal "$(sorted waiters --limit 2)" 'global/plan custom/db/backup'
expect_equal "$(sorted left --limit 1)" 'global/plan'
expect_equal "$(sorted owner --limit 1)" 'custom/db/backup'
expect_equal "$(sorted who --type project)" 'repos/acme/web/-/-/default repos/acme/infra/-/vpc/-/prod'
expect_equal "$(sorted held --only who --limit 2)" 'pr:7 build-1'
expect_status 0 atlock ls --json --limit 3
expect_equal "$(wc -l <"$T/out")" 3
expect_status 64 atlock ls --limit 0
expect_status 64 atlock ls --sort age
expect_status 64 atlock ls --type branch
expect_status 64 atlock ls --pull x
expect_status 64 atlock ls --older-than x
expect_status 64 atlock ls a b

# A path where no lock can be is an error; one from inside the mount is meant from there.
expect_status 64 atlock ls /tmp
grep -qF "/tmp is not in $MNT" "$T/err" || fail "$(cat "$T/err")"
expect_status 64 atlock ls "${MNT}2/repos"
expect_status 64 atlock ls nosuchtree
grep -qF "name a path in repos/, custom/, global/ or shared/ of $MNT" "$T/err" || fail "$(cat "$T/err")"
expect_status 64 atlock top --batch -n 1 nosuchtree
expect_equal "$(locks "$MNT")" "$(locks)"
expect_equal "$(locks repos//acme//web/)" 'repos/acme/web/-/-/default '
expect_equal "$(locks shared)" ''
expect_equal "$(cd "$MNT" && locks .)" "$(locks)"
expect_equal "$(cd "$MNT/custom" && locks .)" 'custom/db/backup '
expect_equal "$(cd "$MNT/custom" && locks db)" 'custom/db/backup '
expect_equal "$(cd "$MNT/custom" && locks global)" 'global/plan '

# Lines of seven cells, whatever is in them; JSON as in locks.jsonl.
expect_status 0 atlock ls
expect_equal "$(awk -F'\t' '{ print NF }' "$T/out" | sort -u)" 7
expect_equal "$(grep ^global/plan "$T/out" | cut -f2,5,6)" "root@build-1	2	a b"
expect_status 0 atlock ls --json
expect_equal "$(jq -r .lock "$T/out" | sort | tr '\n' ' ')" "$(locks)"
expect_status 0 atlock ls --json --owner atlt1
jq -c "select(.kind == \"lock\" and .owner == \"atlt1\")" "$MNT/locks.jsonl" | diff - "$T/out" || fail "not the line of locks.jsonl"

# show: what cat prints, by path and id; as JSON.
expect_status 0 atlock show global/plan
tail -n +2 "$T/out" | cmp - "$MNT/global/plan" || fail "not what cat prints"
expect_equal "$(head -n 1 "$T/out")" lock=global/plan
expect_status 0 atlock show "$(field "$MNT/custom/db/backup" id)"
grep -qx who=night "$T/out" || fail "$(cat "$T/out")"
expect_status 0 atlock show --json custom/db/backup
expect_equal "$(jq -r .who "$T/out")" night
expect_status 1 atlock show custom/nothing
expect_status 1 atlock show --json custom/nothing
expect_status 1 atlock show lock_1_root_00000000

# queue and graph.
expect_status 0 atlock queue
expect_equal "$(cut -f1-4 "$T/out" | tr '\t' ' ')" "custom/db/backup 1 low root@build-1
global/plan 1 high root@night
global/plan 2 normal root@w1"
expect_status 0 atlock queue global/plan --json
expect_equal "$(jq -r .who "$T/out" | tr '\n' ' ')" 'night w1 '
expect_status 0 atlock graph
expect_equal "$(cat "$T/out")" "atlt1@night
  root@build-1 waits for custom/db/backup (low)
    root@night waits for global/plan (high)
    root@w1 waits for global/plan (normal)"
expect_status 0 atlock graph --dot
expect_equal "$(grep -c -e '->' "$T/out")" 3
grep -qF '"root@w1" -> "root@build-1" [label="global/plan"];' "$T/out" || fail "$(cat "$T/out")"

# A terminal gets headings and colours, unless it is told otherwise.
export ATLOCK MNT
expect_ok env TERM=xterm python3 "$TESTS/mount/terminal.py" sh -c 'stty -opost; "$ATLOCK" ls -m "$MNT" global' <<<'status 0' >"$T/screen"
grep -q $'^\033\[1mLOCK  *HOLDER  *HELD' "$T/screen" || fail "$(cat -v "$T/screen")"
grep -q '^global/plan  root@build-1  ' "$T/screen" || fail "$(cat -v "$T/screen")"
expect_ok env TERM=xterm NO_COLOR=1 python3 "$TESTS/mount/terminal.py" sh -c 'stty -opost; "$ATLOCK" ls -m "$MNT"' <<<'status 0' >"$T/screen"
grep -q '^LOCK  *HOLDER' "$T/screen" || fail "$(cat -v "$T/screen")"

# --only: each value once.
for pair in 'owner atlt1 root' 'who build-1 night pr:7' 'repo acme/infra acme/web' 'pull 7' 'lock global/plan'; do
	set -- $pair
	[ "$1" != lock ] || set -- "$1" global/plan
	expect_status 0 atlock ls $([ "$1" != lock ] || echo global) --only "$1"
	expect_equal "$(sort "$T/out" | xargs)" "${*:2}"
done
expect_status 64 atlock ls --only nonsense

# What fits the terminal: long paths lose their beginning, other texts their end; no ids. --long has all.
. tests/mount/tmux.inc
expect_ok touch "$MNT/custom/db/a-lock-with-a-name-so-long-that-it-does-not-fit-into-a-narrow-terminal@w"
expect_ok bash -c 'echo "reason=a reason that goes on and on, and explains more than anybody wants to read here" >>"$1"' - "$MNT/global/plan@build-1"
screen_start 80 20
run_there 'clear; "$ATLOCK" ls -m "$MNT"; echo en""ded'
see '^ended'

expect_equal "$(screen | grep -c .)" 8 'none is wrapped'
see '^~[^ ]*narrow-terminal  root@w '
see '^global/plan .* a reason that [^~]*~$'
see '^LOCK  *HOLDER  *HELD  *LEFT  *WAITERS  *REASON *$'
run_there 'clear; "$ATLOCK" queue -m "$MNT"; echo en""ded'
see '^ended'
see '^LOCK  *POSITION  *PRIORITY  *WAITER  *WAITED  *LEFT  *EXPECTED'
see '^global/plan  *1  *high  *root@night  *[0-9]+s  *9m[0-9]+s  *unknown'
run_there 'clear; "$ATLOCK" status -m "$MNT"; echo en""ded'
see '^ended'
see "^$MNT is well|is well$"
see '^  5 locks held, 3 waiting$'
see '^  store .*: [0-9]+ KiB used, room for'
screen_resize 200 20
run_there 'clear; "$ATLOCK" ls -l -m "$MNT" global; echo en""ded'
see 'wants to read here  lock_[0-9]*_root_'
screen_end
expect_ok rm "$MNT/custom/db/a-lock-with-a-name-so-long-that-it-does-not-fit-into-a-narrow-terminal@w"

# status: lines, or an object.
expect_status 0 atlock status
expect_equal "$(sed -n 2p "$T/out")" ok
grep -qx "mount=$MNT" "$T/out" && grep -qx waiting=3 "$T/out" || fail "$(cat "$T/out")"
expect_status 0 atlock status --json
expect_equal "$(jq -r '[.mount, .health, .store, .held, (.store_free | type)] | join(" ")' "$T/out")" "$MNT ok ok 4 number"

# --watch shows what changes until it is ended.
"$ATLOCK" ls -m "$MNT" --watch custom/db >"$T/watch" &
watch=$!
wait_until '[ "$(grep -c "^custom/db/backup" "$T/watch")" -ge 2 ]'
expect_ok touch "$MNT/custom/db/more"
wait_until 'grep -q "^custom/db/more" "$T/watch"'
kill -TERM $watch
wait $watch 2>/dev/null || true

# Beside the daemon, and without it: the store is only read.
expect_status 0 "$ATLOCK" ls --store "$STORE"
expect_equal "$(cut -f1 "$T/out" | sort | tr '\n' ' ')" "$(locks)"
kill -KILL $waiter
wait $waiter 2>/dev/null || true
wait_until '[ "$(field "$MNT/global/plan" waiters)" = 1 ]'
unmount_fs
cksum "$STORE/data.mdb" "$STORE"/*.log >"$T/before"
expect_status 0 "$ATLOCK" ls --store "$STORE" custom/db
expect_equal "$(cut -f1 "$T/out" | sort | tr '\n' ' ')" 'custom/db/backup custom/db/more '
expect_status 0 "$ATLOCK" show --store "$STORE" custom/db/backup
grep -qx who=night "$T/out" || fail "$(cat "$T/out")"
expect_status 0 "$ATLOCK" show --store "$STORE" "$(sed -n 's/^id=//p' "$T/out")"
expect_status 1 "$ATLOCK" show --store "$STORE" custom/nothing
expect_status 0 "$ATLOCK" queue --store "$STORE"
expect_equal "$(wc -l <"$T/out")" 2
expect_status 0 "$ATLOCK" graph --store "$STORE"
expect_equal "$(head -n 1 "$T/out")" atlt1@night
cksum "$STORE/data.mdb" "$STORE"/*.log | cmp - "$T/before" || fail "reading changed the store"
expect_status 64 "$ATLOCK" ls --store "$STORE" nosuchtree
expect_status 66 "$ATLOCK" ls --store "$T/nowhere"
[ ! -e "$T/nowhere" ] || fail "made a store"
