#!/bin/bash
# long
# why: what was refused last, and what to do.
# root
. tests/mount/lib.sh

# why: the last refusal of the calling session, in one line that names lock, holder, since, until, how many wait and what to do;
# another session of the same user that was never refused sees the user's last one; other users see nothing.
text() {
	mount_fs

	session_start a
	session_start b
	session_start c
	as() { session "$1" as_user "${@:2}"; }
	lock=repos/acme/infra/-/modules/vpc/-/production
	grep -q '^OK: nothing of yours was refused' "$MNT/why" || fail "$(cat "$MNT/why")"
	expect_ok as b atlt1 touch "$MNT/$lock@build-17"
	expect_ok as b atlt1 touch "$MNT/queue/$lock/normal@build-18"
	expect_fail 'Device or resource busy' as a atlt1 touch "$MNT/$lock"
	why() { as "$1" "$2" cat "$MNT/why" | sed "s/ ([0-9]*s ago)$//"; }
	line=$(why a atlt1)
	expect_equal "$(wc -l <<<"$line")" 1
	grep -q "^LOCK_EXISTS: $lock is held by atlt1@build-17 since [-0-9T:.]*Z until [-0-9T:.]*Z, 1 waiting: .*wait/" <<<"$line" || fail "$line"

	# Each session has its own.
	expect_fail 'Invalid argument' as b atlt1 touch "$MNT/custom/%41"
	grep -q '^INVALID_REQUEST: .*"%41" is spelled "A"' <<<"$(as b atlt1 cat "$MNT/why")" || fail "$(as b atlt1 cat "$MNT/why")"
	expect_equal "$(why a atlt1)" "$line" "a's own"
	grep -q '^INVALID_REQUEST' <<<"$(as c atlt1 cat "$MNT/why")" || fail "no fallback to the user's last one"
	grep -q '^OK: ' <<<"$(why a atlt2)" || fail "another user in the same session: $(why a atlt2)"

	# What succeeds, or simply is not there, does not overwrite it.
	expect_ok as a atlt1 touch "$MNT/custom/mine"
	expect_fail '' as a atlt1 cat "$MNT/custom/none"
	expect_equal "$(why a atlt1)" "$line"
	not_found() { awk '$1 == "atlockfs_refusals_total{code=\"LOCK_NOT_FOUND\"}" { print $2 }' "$MNT/metrics/atlockfs.prom"; }
	before=$(not_found)
	expect_fail 'No such file' as a atlt1 rm "$MNT/repos/acme/infra/-/none/-/prod"
	grep -q '^LOCK_NOT_FOUND: there is no repos/acme/infra/-/none/-/prod: a free lock ' <<<"$(why a atlt1)" || fail "$(why a atlt1)"
	expect_fail 'No such file' as a atlt1 rm "$MNT/custom/none@me"
	grep -q '^LOCK_NOT_FOUND: there is no custom/none@me: ' <<<"$(why a atlt1)" || fail "$(why a atlt1)"
	expect_equal "$(($(not_found) - before))" 2 'counted'

	# Each kind of refusal says its own.
	why_after() {
		local text=$1
		shift
		as a atlt1 "$@" 2>/dev/null && fail "succeeded: $*"
		grep -q "$text" <<<"$(as a atlt1 cat "$MNT/why")" || fail "$* : $(as a atlt1 cat "$MNT/why")"
	}
	expect_ok as b atlt1 touch "$MNT/custom/theirs"
	why_after '^LOCK_EXISTS: custom/theirs is held by atlt1@sid:' touch "$MNT/custom/theirs"
	why_after '^PERMISSION_DENIED: .*custom/theirs' rm "$MNT/custom/theirs"
	expect_ok as_user atlt2 touch "$MNT/global/apply@ops"
	why_after '^PERMISSION_DENIED: .*global/apply is held by atlt2@ops' rm "$MNT/global/apply"
	why_after '^INVALID_REQUEST: .*max_ttl' touch -c -d '+3 hours' "$MNT/custom/mine"
	why_after '^INVALID_REQUEST: line 1' bash -c 'echo "bad key=1" >> "$1"' sh "$MNT/custom/mine"
	why_after '^LOCK_EXISTS: ' bash -c 'echo x=1 >> "$1"' sh "$MNT/custom/theirs"
	why_after '^PERMISSION_DENIED: .*move' mv "$MNT/custom/mine" "$MNT/custom/other"
	why_after '^LOCK_EXISTS: custom/theirs' flock -n "$MNT/custom/theirs" true
	expect_equal "$(stat -c %s "$MNT/why")" "$(cat "$MNT/why" | wc -c)"
}

# `why` has its parts as attributes, for programs: its code, what was refused, and a word for what is advised.
parts() {
	mount_fs -o allow_other

	parts() {
		local key
		for key in code fact advice; do
			! getfattr --only-values -n "user.$key" "$MNT/why" 2>/dev/null || echo
		done
	}
	# In a session of its own the command is refused; what `why` has then.
	told() {
		expect_equal "$(as_user atlt1 setsid -w bash -c "$(declare -f parts); $1 2>/dev/null && exit 1; parts" | sed 's/ is held.*//')" "$2" "$1"
	}
	export MNT
	expect_equal "$(parts)" OK 'of nothing'

	expect_ok as_user atlt1 touch "$MNT/global/x@build-17"
	expect_ok as_user atlt1 setsid -w touch "$MNT/global/s"
	told 'touch "$MNT/global/x"' $'LOCK_EXISTS\nglobal/x\nwait'
	told 'rm "$MNT/global/x"' $'PERMISSION_DENIED\nglobal/x\nname'
	told 'rm "$MNT/global/s"' $'PERMISSION_DENIED\nglobal/s\nsession'
	told 'mkdir "$MNT/nothing"' "PERMISSION_DENIED
$(as_user atlt1 setsid -w sh -c 'mkdir "$MNT/nothing" 2>/dev/null; sed "s/^[A-Z_]*: //; s/ ([0-9]*s ago)$//" "$MNT/why"')
other"
	getfattr -d "$MNT/why" 2>/dev/null | grep '^user.code=' >/dev/null || fail 'not listed'
	expect_fail 'Operation not supported' setfattr -n user.code -v OK "$MNT/why"

	# Two locks whose names begin with the same word are two locks.
	expect_ok touch "$MNT/custom/a b@build-17" "$MNT/custom/a c@build-17"
	python3 - "$MNT" <<'END'
import os, sys
mnt = sys.argv[1]
for call in (lambda: open(mnt + '/custom/a b', 'w'), lambda: os.utime(mnt + '/custom/a c')):
    try:
        call()
        sys.exit('not refused')
    except OSError:
        pass
why = open(mnt + '/why').read()
if 'custom/a c is held' not in why:
    sys.exit('about another lock: ' + why)
END
}

# Every refusal of a call that would change something leaves a line of its own in why, whatever the tree: what was refused, and
# what to do instead. What succeeds, and what merely looks, leaves the line that was there.
table_of_refusals() {
	mount_fs

	session_start u
	session_start r
	cd "$MNT"
	mkdir -m 777 custom/open shared/db
	mkdir custom/closed
	touch custom/open/theirs@r global/apply@r repos/a/b/-/c/-/held@r
	echo UP >shared/db/apps/theirs

	# An older line, to be told from what a row leaves.
	older='"%5A" is spelled "Z"'

	# Runs a command as this user in his session, in the root of the mount; then prints his why.
	why_of() {
		local who=(session u as_user atlt1)
		[ "$1" = user ] || who=(session r)
		"${who[@]}" touch "$MNT/custom/%5A" 2>/dev/null && fail 'a bad name was taken'
		"${who[@]}" bash -c "cd '$MNT'; $2" >"$T/out" 2>&1 && echo succeeded >"$T/status" || echo refused >"$T/status"
		"${who[@]}" cat "$MNT/why"
	}

	rows=0
	refused() {
		local user words command line
		while IFS='|' read -r user words command; do
			line=$(why_of "$user" "$command")
			expect_equal "$(cat "$T/status")" refused "$command"
			! grep -qF "$older" <<<"$line" || fail "$command: nothing new: $(cat "$T/out")"
			grep -qE -- "$words" <<<"$line" || fail "$command: not \"$words\": $line"
			rows=$((rows + 1))
		done
	}

	left_alone() {
		local status command line
		while IFS='|' read -r status command; do
			line=$(why_of user "$command")
			expect_equal "$(cat "$T/status")" "$status" "$command: $(cat "$T/out")"
			grep -qF "$older" <<<"$line" || fail "$command: $line"
			rows=$((rows + 1))
		done
	}

	# The root.
	refused <<'TABLE'
user|PERMISSION_DENIED: foo cannot be made: .*below repos/, custom/ and global/|touch foo
root|PERMISSION_DENIED: foo cannot be made: .*below repos/, custom/ and global/|touch foo
root|foo cannot be made: .*below repos/|mkdir foo
root|README cannot be removed: |rm README
root|repos cannot be removed: |rmdir repos
root|README cannot be changed: it is written by the file system alone|chmod 666 README
user|the root cannot be changed: |chmod 700 .
root|what can be written here is a line mirror=|echo x > health
user|why cannot be written: |echo x > why
root|locks.jsonl cannot be changed: |touch locks.jsonl
root|nothing can be moved here|mv README foo
root|no symbolic links|ln -s a foo
root|only locks have attributes|setfattr -n user.k -v v README
TABLE

	# repos/
	refused <<'TABLE'
user|repos/acme is a directory, not a lock: .*repos/<repository>/-/<directory>/-/<workspace>|touch repos/acme
user|"x" is the name of a lock here|mkdir repos/a/b/-/c/-/x
user|IN_USE: repos/a is not empty: remove what ls shows|rmdir repos/a
user|LOCK_EXISTS: repos/a/b/-/c/-/held is held by root@r .*wait/|touch repos/a/b/-/c/-/held
user|PERMISSION_DENIED: repos/a/b/-/c/-/held is held by root@r .*ask its holder|rm -f repos/a/b/-/c/-/held
root|repos/a/b/-/c/-/held is held by root@r .*: add @r to the lock's name|rm -f repos/a/b/-/c/-/held
user|repos/a/b/-/c/-/held is held by root@r|chmod 600 repos/a/b/-/c/-/held
user|only an administrator may chown|chown atlt1 repos/a/b/-/c/-/held
user|repos/a/b/-/c/-/held is held by root@r, and its mode 644 does not let you|setfattr -n user.k -v v repos/a/b/-/c/-/held
user|repos/a/b/-/c/-/held is held by root@r|flock -n repos/a/b/-/c/-/held true
user|"%41" is spelled "A"|touch repos/a/b/-/c/-/%41
TABLE

	# custom/
	refused <<'TABLE'
user|custom/closed belongs to uid 0 .*mode 755 does not let you|touch custom/closed/x
user|custom/closed belongs to uid 0 .*mode 755 does not let you|mkdir custom/closed/x
user|custom/closed belongs to uid 0: only its owner may chmod|chmod 700 custom/closed
root|not empty: custom/open/theirs is held|rmdir custom/open
user|the directory is sticky: only its owner|rmdir custom/open
user|custom/open/theirs is held by root@r|rm -f custom/open/theirs
user|max_ttl|touch custom/mine && touch -c -d '+9 hours' custom/mine
user|line 1|echo 'bad key=1' >> custom/mine
user|has no such attribute|setfattr -x user.none custom/mine
user|begin with "user."|setfattr -n system.k -v v custom/mine
user|nothing can be moved here|mv custom/mine custom/other
TABLE

	# global/
	refused <<'TABLE'
user|global/apply is held by root@r|touch global/apply
user|global/apply is held by root@r|rm -f global/apply
user|"x" is the name of a lock here|mkdir global/x
root|global cannot be removed: |rmdir global
user|global is a directory, not a lock: |touch global
TABLE

	# queue/
	refused <<'TABLE'
user|queue/x cannot be made: every lock has a queue.*touch queue/<lock>/<priority>@<who>|mkdir queue/x
user|queue/x cannot be made: every lock has a queue|touch queue/x
user|queue/global/apply is a directory, not a lock: .*a queue has tickets|touch queue/global/apply
user|queue/global/apply/x cannot be made: a queue has tickets|mkdir queue/global/apply/x
user|"urgent" is no ticket: |touch queue/global/apply/urgent
user|without @who: touch queue/<lock>/normal@me|touch queue/global/apply@me/normal
user|a ticket takes no text|touch queue/global/apply/normal@w && echo ttl=1h > queue/global/apply/normal@w
user|a ticket keeps its holder: move it to high@w|mv queue/global/apply/normal@w queue/global/apply/high@z
user|"soon@w" is no ticket|mv queue/global/apply/normal@w queue/global/apply/soon@w
user|only a ticket inside its own queue/|mv queue/global/apply/normal@w custom/z
user|a ticket has no owner or mode|chmod 600 queue/global/apply/normal@w
user|queue/global/apply is not empty|rmdir queue/global/apply
user|queue/global is not empty|rmdir queue/global
TABLE

	# wait/
	refused <<'TABLE'
user|wait/x cannot be made: nothing is kept in wait/|mkdir wait/x
root|wait/x cannot be made: nothing is kept in wait/|touch wait/x
user|wait/global/apply cannot be removed: nothing is kept in wait/.*rm <lock>|rm -f wait/global/apply
root|wait/global cannot be removed: nothing is kept|rmdir wait/global
user|nothing waits by touching|touch wait/global/apply
user|wait/global/apply belongs to uid 0: nothing is kept|chmod 600 wait/global/apply
user|line 1: "urgent" is no priority|echo priority=urgent > wait/global/apply
TABLE

	# pulls/
	refused <<'TABLE'
user|pulls/x is a directory, not a lock: .*pulls/<host>/<repository>/-/<number>/|touch pulls/x
user|"x" is no pull request|mkdir pulls/github.com/a/b/-/x
user|pulls/github.com/a/b/-/1/x cannot be made: a pull request has head, meta|touch pulls/github.com/a/b/-/1/x
user|pulls/github.com/a/b/-/1/x cannot be made: a pull request has head, meta|mkdir pulls/github.com/a/b/-/1/x
user|locks/x cannot be made: locks/ shows what|touch pulls/github.com/a/b/-/1/locks/x
user|vpc/-/x cannot be made: echo planned >|mkdir pulls/github.com/a/b/-/1/projects/vpc/-/x
user|"planed" is no status|echo planed > pulls/github.com/a/b/-/1/projects/vpc/-/default
user|projects/vpc is a directory, not a lock: .*echo planned >|touch pulls/github.com/a/b/-/1/projects/vpc
user|summary belongs to uid 0 .*the summary follows|echo x > pulls/github.com/a/b/-/1/summary
root|summary is written by the file system alone|echo x > pulls/github.com/a/b/-/1/summary
root|head cannot be changed: head, meta and projects.tsv are changed by writing|chmod 600 pulls/github.com/a/b/-/1/head
user|projects is not empty|echo planned > pulls/github.com/a/b/-/1/projects/vpc/-/default; rmdir pulls/github.com/a/b/-/1/projects
user|pulls/github.com/a is not empty|rmdir pulls/github.com/a
TABLE

	# owners/: a name may be a password and is not quoted.
	refused <<'TABLE'
user|this is a directory, not a lock: nothing was taken or renewed; a URL is claimed by a reference|touch owners/https://bot:hunter2@github.com/a/b
user|after "-" there are applications/|touch owners/https://bot:hunter2@github.com/a/b/-/x
user|only references are made here|touch owners/github.com/a/b/-/owner
user|references are files: touch them|mkdir owners/github.com/a/b/-/applications/x
user|a reference takes no text|touch owners/github.com/a/b/-/applications/x; echo x > owners/github.com/a/b/-/applications/x
user|IN_USE: this is not empty|rmdir owners/github.com/a/b/-/applications
user|this cannot be changed: a URL is claimed by a reference|chmod 700 owners/github.com
user|who owns a URL ends with its last reference|rm owners/github.com/a/b/-/owner
TABLE
	! grep -q hunter2 why || fail 'a password was quoted'

	# shared/
	refused <<'TABLE'
user|"x" would be a shared resource.*mkdir it|touch shared/x
user|shared/db/x cannot be made: a shared resource has apps/<app>, stop@<app> and verdict|touch shared/db/x
user|shared/db/x cannot be made: a shared resource has apps/<app>|mkdir shared/db/x
user|shared/db/apps/x cannot be made: apps are files: echo UP|mkdir shared/db/apps/x
user|shared/db cannot be changed: a shared resource has|chmod 700 shared/db
user|apps/theirs belongs to uid 0 .*who registered an app writes|echo DOWN > shared/db/apps/theirs
user|this app belongs to root|rm -f shared/db/apps/theirs
user|"MAYBE" is no status: write UP|echo MAYBE > shared/db/apps/mine
user|say which app wants to stop|touch shared/db/stop
user|x is no app of shared/db|touch shared/db/stop@x
user|this is part of the resource|rmdir shared/db/apps
user|only they and administrators may remove it|rmdir shared/db
root|verdict cannot be written: a verdict follows from what the apps say|echo x > shared/db/verdict
TABLE

	# by/, events/, metrics/, config/
	refused <<'TABLE'
user|by/x cannot be made: by/ shows what is held|touch by/x
root|by/x cannot be made: by/ shows what is held|mkdir by/x
root|by/owner/root cannot be removed: .*removing what the link leads to|rmdir by/owner/root
user|by/owner/root/lock_.* cannot be removed: .*removing what the link leads to|rm -f by/owner/root/*
root|by is a directory, not a lock: |touch by
user|events/x cannot be made: events are written by the file system alone.*events_keep|touch events/x
root|events/x cannot be made: |mkdir events/x
root|events/live cannot be removed: .*events_keep|rm events/live
root|jsonl cannot be written: events are written by the file system alone|echo x > events/live
root|events cannot be changed: |chmod 777 events
user|metrics/x cannot be made: metrics are written by the file system alone|touch metrics/x
root|metrics/x cannot be made: |mkdir metrics/x
root|metrics/atlockfs.prom cannot be removed: |rm -f metrics/atlockfs.prom
root|metrics/atlockfs.prom cannot be written: |echo x > metrics/atlockfs.prom
root|"max_tll".*max_ttl|echo 3h > config/max_tll
user|config belongs to uid 0 .*by an administrator|echo 3h > config/max_tll
root|config/x cannot be made: every option has its file|mkdir config/x
root|max_ttl is always there: write another value|rm -f config/max_ttl
user|options are changed by administrators|echo 3h > config/max_ttl
root|max_ttl=soon: durations|echo soon > config/max_ttl
root|config cannot be changed: |chmod 777 config
TABLE
	[ "$rows" -ge 110 ] || fail "only $rows rows were looked at"

	# Looking is not changing, and what succeeds was not refused, even if it looks for what is not there on its way.
	left_alone <<'TABLE'
refused|stat custom/none
refused|stat foo
refused|stat queue/x
refused|ls repos/a/b/-/c/-/none
refused|cat repos/a/b/-/c/-/none
refused|test -e repos/a/b/-/c/-/none
refused|test -e custom/open/theirs@me
refused|cat events/2001-01-01.jsonl
refused|stat pulls/github.com/a/b/-/1/locks/none
succeeded|touch -c custom/gone@me
succeeded|rm -f custom/none
succeeded|touch custom/taken
succeeded|touch custom/open/a custom/open/b
succeeded|mkdir -p custom/p/q/r
succeeded|echo x > custom/p/q/r/s
succeeded|flock custom/free true
succeeded|touch queue/global/apply/low@x
succeeded|mv queue/global/apply/low@x queue/global/apply/high@x
succeeded|echo planned > pulls/github.com/a/b/-/2/projects/vpc/-/default
succeeded|echo applied > pulls/github.com/a/b/-/2/projects/vpc/-/default
succeeded|echo abc > pulls/github.com/a/b/-/2/head
succeeded|touch owners/github.com/a/c/-/applications/x
succeeded|mkdir shared/mine
succeeded|echo UP > shared/mine/apps/x
succeeded|ls -la . by events config
succeeded|find . -maxdepth 3
TABLE

	cd /
}

behaviours text parts table_of_refusals
