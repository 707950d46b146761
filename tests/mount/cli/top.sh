#!/bin/bash
# root
# timeout: 300
# atlock top: what is held, who waits and how fast it goes, as it changes; the keys move, sort, filter, release, force and
# re-prioritise; what was chosen stays chosen.
. tests/mount/lib.sh
. tests/mount/tmux.inc
mount_fs
export ATLOCK MNT

mkdir -m 777 "$MNT/custom/t"
expect_ok touch "$MNT/custom/a@one" "$MNT/custom/b@two" "$MNT/custom/c@three" "$MNT/repos/acme/infra/-/vpc/-/prod@pr:7"
expect_ok as_user atlt1 touch "$MNT/custom/t/foreign@night"
expect_ok touch "$MNT/queue/custom/c/high@w1" "$MNT/queue/custom/c/normal@w2" "$MNT/queue/custom/a/low@w3"
screen_start 100 30
run_there '"$ATLOCK" top -m "$MNT" -d 0.2'

# What is waited for most is first; the heads.
see 'mnt  ok  5 held  3 waiting'
see '^per second  [0-9.]+ granted  [0-9.]+ released  [0-9.]+ refused  [0-9.]+ expired'
see '^5 locks  every 0.2s  by WAIT'
see '^LOCK +WHO +OWNER +HELD +LEFT +WAIT +PULL'
see '^custom/c +three +root +[0-9ms]+ +29m[0-9]+s +2 *$'
see '^repos/acme/infra/-/vpc/-/prod +pr:7 +root +[0-9ms]+ +- +0 +#7'
see_chosen custom/c
expect_equal "$(screen | sed -n '5,9p' | awk '{ print $1 }' | xargs)" \
	'custom/c custom/a custom/b custom/t/foreign repos/acme/infra/-/vpc/-/prod'

# Moving.
press Down
see_chosen custom/a
press j j k
see_chosen custom/b
press End
see_chosen repos/acme/infra/-/vpc/-/prod
press Home
see_chosen custom/c
press NPage
see_chosen repos/acme/infra/-/vpc/-/prod
press PPage
see_chosen custom/c

# Sorting: the next column, the one before, and the other way around.
press s
see 'by PULL'
press F6
see 'by REASON'
press '>'
see 'by LOCK'
press r
see 'by LOCK reversed'
wait_until '[ "$(screen | sed -n "5p" | cut -d " " -f 1)" = repos/acme/infra/-/vpc/-/prod ]' 30
press r '<' '>'
see 'by LOCK( |$)'

# What was chosen stays so when others come and go before it.
press Home j
see_chosen custom/b
expect_ok touch "$MNT/custom/0" "$MNT/custom/1"
see '^custom/0 '
see_chosen custom/b
expect_ok rm "$MNT/custom/0" "$MNT/custom/1"
see_no '^custom/0 '
see_chosen custom/b

# A text leaves what has it, in any of lock and holder, as it is typed.
press /
type_text NIGH
see '^1 of 5 locks'
see_chosen custom/t/foreign
press BSpace BSpace BSpace BSpace
see '^5 locks'
type_text acme
press Enter
see 'with "acme"'
see_chosen repos/acme/infra/-/vpc/-/prod
press Escape
see '^5 locks'

# All about one, and about the keys.
press Home Enter
see '^lock=custom/a$'
see '^token=[0-9]'
see '^who=one$'
press q
see '^LOCK '
press '?'
see 'priority of one who waits'
press Escape
see_no 'priority of one who waits'

# Paused, nothing changes but by what one does oneself.
press Space
see PAUSED
expect_ok touch "$MNT/custom/later"
sleep 1
! grep -q '^custom/later' <<<"$(screen)" || fail "it was not paused"
press Space
see '^custom/later'
expect_ok rm "$MNT/custom/later"
see_no '^custom/later'

# Giving back what is one's own: only after a yes.
press Home d
see 'Release custom/a, held by root@one\? \(y/n\)'
press n
see 'Nothing was done'
[ -e "$MNT/custom/a" ] || fail "it was released"
press j
see_chosen custom/b
press DC
see 'Release custom/b'
press y
see 'released custom/b, which root@two had'
see_no '^custom/b '
[ ! -e "$MNT/custom/b" ] || fail "it is still held"

# Of another user only by force, and the file system says why.
press /
type_text foreign
press Enter
see_chosen custom/t/foreign
press d y
see 'custom/t/foreign is held by atlt1@night since'
[ -e "$MNT/custom/t/foreign" ] || fail "it was released without force"
press F
see 'Release custom/t/foreign by FORCE, held by atlt1@night\?'
press y
see 'released custom/t/foreign'
see '^0 of 3 locks|^0 locks'
[ ! -e "$MNT/custom/t/foreign" ] || fail "it is still held"
press Escape

# A question is about what was chosen when it was asked, and about that holder.
press Home F
see 'Release custom/a by FORCE'
expect_ok rm "$MNT/custom/a@one"
grep -qx who=w3 "$MNT/custom/a" || fail "the waiter did not get it"
press y
see 'root@one does not hold custom/a any more'
grep -qx who=w3 "$MNT/custom/a" || fail "another holder's was released"

# Queues, in the order of service; priorities; leaving.
press Tab
see '^2 waiters .*by LOCK'
see '^custom/c +1 +high +w1 +root'
see '^custom/c +2 +normal +w2 +root'
# Twice at once: the second finds the waiter, although the list on the screen has the number of its first ticket.
press End + +
see 'root@w2 waits for custom/c with priority critical'
see 'custom/c +1 +critical +w2'
see_chosen w2 4
press +
see 'no priority is higher than critical'
press -
see 'custom/c +2 +high +w2'
press d
see 'Take out of the queue of custom/c: root@w2\?'
press y
see 'root@w2 is not in the queue of custom/c any more'
see '^1 waiter '
expect_equal "$(ls "$MNT/queue/custom/c" | sed 's/.*@//')" w1
press Home Enter
see '^ticket=[0-9]'
press q Tab
press +
see 'Only who waits has a priority'

# How fast it goes.
(while :; do touch "$MNT/global/flicker@x" && rm "$MNT/global/flicker@x" && ! touch "$MNT/custom/c@other"; done) 2>/dev/null &
flicker=$!
see '^per second  ([1-9]|0\.[1-9])[0-9.]* granted  ([1-9]|0\.[1-9])[0-9.]* released  ([1-9]|0\.[1-9])[0-9.]* refused  0.0 expired'
kill -KILL $flicker
wait $flicker 2>/dev/null || true
(for ((i = 0; ; i++)); do echo ttl=1s >"$MNT/custom/short-$i@x"; done) &
short=$!
see '^per second .* ([1-9]|0\.[1-9])[0-9.]* expired'
kill -KILL $short
wait $short 2>/dev/null || true

# It gives the terminal back as it was.
press q
see_no '^per second'
run_there 'echo status $?; stty -a | tr ";" "\n" | grep -o " icanon\| echo "'
see '^status 0'
see '^ icanon'
see '^ echo'
screen_end
