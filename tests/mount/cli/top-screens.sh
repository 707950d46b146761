#!/bin/bash
# atlock top: many locks, an ordinary user's view, and batches.
# timeout: 420
. tests/mount/lib.sh
. tests/mount/tmux.inc

# atlock top with very many locks: it looks less often instead of all the time, and keys do not wait for it.
many() {
	mount_fs -o sync=off
	export ATLOCK MNT

	mkdir "$MNT/custom/many"
	seq -f "$MNT/custom/many/%05g@x" 10000 | xargs touch
	expect_ok touch "$MNT/queue/custom/many/07777/high@w"
	screen_start 80 24
	run_there '"$ATLOCK" top -m "$MNT" -d 0.1'
	see '  ok  10000 held  1 waiting'
	see '^10000 locks  every (0\.[2-9]|[1-9])'
	see_chosen custom/many/07777

	# From one end to the other, and one of them out of all.
	press End
	see_chosen custom/many/10000
	press PPage s s s
	see 'by LOCK'
	press Home
	see_chosen custom/many/00001
	press /
	type_text 0500
	press Enter
	see '^11 of 10000 locks'
	press End d y
	see 'released custom/many/05009'
	see '^10 of 9999 locks'
	press q
	see_no '^per second'
	screen_end
}

# atlock top of a user who is no administrator: what is another's stays so, by force too, and the last line says why; the own
# is the own, also what this very shell holds.
of_a_user() {
	needs_root
	mount_fs
	export ATLOCK MNT

	expect_ok touch "$MNT/custom/root-1@build"
	expect_ok as_user atlt1 touch "$MNT/custom/mine@job"
	expect_ok touch "$MNT/queue/custom/mine/low@theirs"
	expect_ok as_user atlt1 touch "$MNT/queue/custom/root-1/normal@mine"
	screen_start 100 24
	run_there 'setpriv --reuid=atlt1 --regid=atlt1 --init-groups sh -c "touch \"\$MNT/custom/shell\"; exec \"\$ATLOCK\" top -m \"\$MNT\" -d 0.2 -s lock"'
	see '3 held  2 waiting'

	# Another's.
	press End k
	see_chosen custom/root-1
	press d
	see 'Release custom/root-1, held by root@build'
	press y
	see '^custom/root-1 is held by root@build since .*Z until'
	press F
	see 'by FORCE'
	press y
	see 'custom/root-1 is held by root@build'
	see 'administrator'
	[ -e "$MNT/custom/root-1" ] || fail "it was released"

	# One's own, by name and as a session.
	press Home d y
	see 'released custom/mine, which atlt1@job had'
	press End
	see_chosen custom/shell
	press d y
	see 'released custom/shell, which atlt1@sid:'
	[ ! -e "$MNT/custom/shell" ] || fail "it is still held"

	# Tickets likewise: custom/mine is root's now, who waited for it.
	expect_ok touch "$MNT/queue/custom/mine/high@more"
	press Tab
	see '^custom/mine +1 +high +more +root'
	press Home -
	see 'that place in the queue of custom/mine belongs to root@more'
	grep -q high <<<"$(ls "$MNT/queue/custom/mine")" || fail "another's priority was changed"
	press d y
	see 'that place in the queue of custom/mine belongs to root@more: F takes it'
	press F y
	see 'that place in the queue of custom/mine belongs to root@more: ask them'
	expect_equal "$(ls "$MNT/queue/custom/mine" | wc -l)" 1
	press End +
	see 'atlt1@mine waits for custom/root-1 with priority high'
	see '^custom/root-1 +1 +high +mine +atlt1'
	press d y
	see 'atlt1@mine is not in the queue of custom/root-1 any more'
	expect_equal "$(ls "$MNT/queue/custom/root-1" | wc -l)" 0
	press q
	see_no '^per second'
	screen_end
}

# atlock top without a terminal: plain text as often as asked for, with the filters of ls; wrong words; nothing of ncurses in the
# daemon.
batch() {
	needs_root
	mount_fs

	top() {
		"$ATLOCK" top -m "$MNT" "$@"
	}
	mkdir -m 777 "$MNT/custom/db"
	expect_ok touch "$MNT/repos/acme/infra/-/vpc/-/prod@pr:7" "$MNT/repos/acme/web/-/-/default@build-1" "$MNT/global/plan@build-1"
	expect_ok as_user atlt1 touch "$MNT/custom/db/backup@night"
	expect_ok touch "$MNT/queue/global/plan/high@w1" "$MNT/queue/global/plan/low@w2" "$MNT/queue/custom/db/backup/normal@w3"

	# Once: no rates yet. Twice: rates, and an empty line in between.
	expect_status 0 top -b -n 1
	expect_equal "$(sed -n 1p "$T/out")" "$MNT  ok  4 held  3 waiting"
	expect_equal "$(sed -n 2p "$T/out")" 'per second  - granted  - released  - refused  - expired'
	expect_equal "$(sed -n 4p "$T/out" | xargs)" 'LOCK WHO OWNER HELD LEFT WAIT PULL REASON'
	expect_equal "$(sed -n '5,$p' "$T/out" | cut -d ' ' -f 1 | xargs)" \
		'global/plan custom/db/backup repos/acme/infra/-/vpc/-/prod repos/acme/web/-/-/default'
	[ -z "$(tr -d '[:print:][:space:]' <"$T/out")" ] || fail "more than text: $(cat -v "$T/out")"
	expect_status 0 top -n 2 -d 0.1
	expect_equal "$(grep -c '^LOCK ' "$T/out"),$(grep -c '^$' "$T/out")" 2,1
	grep -q '^per second  0.0 granted  0.0 released' "$T/out" || fail "$(cat "$T/out")"

	# Filters, of the locks and of their queues; order.
	locks() {
		expect_status 0 top -b -n 1 "$@"
		sed -n '5,$p' "$T/out" | cut -d ' ' -f 1 | sort | xargs
	}
	expect_equal "$(locks repos)" 'repos/acme/infra/-/vpc/-/prod repos/acme/web/-/-/default'
	expect_equal "$(locks "$MNT/custom/")" custom/db/backup
	expect_equal "$(locks --owner atlt1)" custom/db/backup
	expect_equal "$(locks --who build-1 --repo acme/web)" repos/acme/web/-/-/default
	expect_equal "$(locks --pull 7)" repos/acme/infra/-/vpc/-/prod
	expect_equal "$(locks --older-than 1h)" ''
	expect_equal "$(locks --expiring-within 10h global)" ''
	expect_equal "$(locks --expiring-within 10h custom)" custom/db/backup
	expect_equal "$(locks --queue)" 'custom/db/backup global/plan global/plan'
	expect_equal "$(locks --queue global)" 'global/plan global/plan'
	expect_equal "$(locks --queue --owner atlt1)" custom/db/backup
	expect_equal "$(locks --queue --pull 7)" ''
	expect_status 0 top -b -n 1 --sort lock --reverse
	expect_equal "$(sed -n 5p "$T/out" | cut -d ' ' -f 1)" repos/acme/web/-/-/default
	expect_status 0 top -b -n 1 --queue -s priority
	expect_equal "$(sed -n '5,$p' "$T/out" | awk '{ print $4 }' | xargs)" 'w1 w3 w2'

	# Again and again, until nobody reads it.
	expect_status 0 sh -c '"$1" top -m "$2" -d 0.1 | grep -m 3 "^LOCK "' sh "$ATLOCK" "$MNT"
	expect_equal "$(wc -l <"$T/out")" 3

	# Names that would harm a terminal harm no file either.
	expect_ok touch "$MNT/custom/"$'c1\u009b31mred\u202erev@x'
	expect_status 0 env LC_ALL=C.UTF-8 "$ATLOCK" top -m "$MNT" -b -n 1 custom/
	grep -q '^custom/c1?31mred?rev  x ' "$T/out" || fail "$(cat -v "$T/out")"

	# Wrong words.
	expect_status 64 top -d 0
	expect_status 64 top -d soon
	expect_status 64 top -n 0
	expect_status 64 top -s nonsense
	grep -q 'no column "nonsense" but LOCK WHO OWNER HELD LEFT WAIT PULL REASON' "$T/err" || fail "$(cat "$T/err")"
	expect_status 64 top --queue -s held
	expect_status 64 top custom global
	expect_status 64 top --pull x
	expect_status 69 "$ATLOCK" top -m "$T"
	expect_status 74 sh -c 'exec "$1" top -m "$2" -n 1 >/dev/full' sh "$ATLOCK" "$MNT"

	# It ends when the mount does.
	"$ATLOCK" top -m "$MNT" -d 0.1 >"$T/endless" 2>"$T/said" &
	endless=$!
	wait_until '[ "$(grep -c "^LOCK " "$T/endless")" -ge 2 ]' 30
	crash_daemon
	status=0
	wait $endless || status=$?
	expect_equal "$status,$(cat "$T/said")" "69,atlock top: $MNT: the daemon is dead"
	fusermount3 -uz "$MNT"

	! ldd "$ATLOCKFS_BUILD/atlockfs" | grep curses >/dev/null || fail "the daemon has ncurses"
}

behaviours many of_a_user batch
