#!/bin/bash
# find, grep -r, ls -R, du, tree walks, tar, cp, cksum, globbing and completion end, and see what is there and nothing else.
. "$(dirname "$0")/populated.inc"

cd "$MNT"
expect_ok quickly find . >"$T/find"
expect_equal "$(grep -c . "$T/find")" "$(sort -u "$T/find" | grep -c .)"
expect_equal "$(grep -E '^\./(repos|custom|global)/' "$T/find" | while read -r f; do [ ! -f "$f" ] || echo "$f"; done | wc -l)" 7
expect_equal "$(quickly find wait)" wait 'wait/ lists as empty'
expect_ok quickly find . -type f -newermt '-1 hour' -print >/dev/null
expect_equal "$(quickly find . -user nobody)" ''
expect_equal "$(quickly find custom -name '*up')" custom/team/db/backup
expect_ok quickly ls -R . >/dev/null
expect_ok quickly ls -laR . >/dev/null
expect_ok quickly ls -lZ custom >/dev/null
expect_equal "$(quickly grep -rl 'needle in' . | sort)" $'./custom/team/db/backup\n./locks.jsonl'
expect_equal "$(quickly grep -rlE '^owner=' repos custom global | wc -l)" 7
expect_ok quickly du -a . >/dev/null
expect_ok quickly du -s --apparent-size --inodes . >/dev/null
expect_ok quickly cksum custom/nightly README >/dev/null
expect_equal "$(quickly wc -c <custom/nightly)" "$(stat -c %s custom/nightly)"
expect_ok quickly diff -r custom custom
expect_ok quickly file -L /dev/null 2>/dev/null || true

# Archives and copies of what can be read; sizes fit, so that tar does not complain.
expect_ok quickly tar cf "$T/all.tar" repos custom global README
expect_equal "$(tar tf "$T/all.tar" | grep -vc '/$')" 8
mkdir "$T/out"
expect_ok quickly cp -r repos custom global README health why locks.jsonl "$T/out"
expect_equal "$(find "$T/out/repos" "$T/out/custom" "$T/out/global" -type f | wc -l)" 7
grep -q needle "$T/out/custom/team/db/backup" || fail "not copied"
expect_ok quickly cp -a custom/team "$T/out/again" 2>/dev/null
expect_ok quickly tail -n 1 custom/team/db/backup >/dev/null
expect_ok quickly head -c 10 custom/nightly >/dev/null
expect_ok quickly sort custom/nightly >/dev/null

# Globs and completion.
expect_equal "$(quickly bash -c 'echo custom/*')" 'custom/nightly custom/team'
expect_equal "$(quickly bash -c 'shopt -s globstar dotglob; for f in custom/**; do [ -f "$f" ] && echo "$f"; done' | tr '\n' ' ')" \
	'custom/nightly custom/team/.hidden custom/team/db/backup '
expect_equal "$(quickly bash -c 'echo wait/* repos/nothing/*')" 'wait/* repos/nothing/*'
expect_equal "$(quickly bash -c 'compgen -f custom/n')" custom/nightly
expect_equal "$(quickly bash -c 'compgen -d custom/')" custom/team
expect_equal "$(quickly bash -c 'compgen -f repos/acme/infra/-/modules/vpc/-/pro')" repos/acme/infra/-/modules/vpc/-/production
expect_equal "$(quickly bash -c 'compgen -f wait/global/; true')" ''

# All that changed nothing: the waiter waits, the ticket is there, every lock is held.
expect_equal "$(sed -n 's/^held=//p; s/^waiting=//p' health | tr '\n' ' ')" '7 2 '
kill -KILL "$WAITER"
wait "$WAITER" 2>/dev/null || true
wait_until '[ "$(field "$MNT/global/apply" waiters)" = 0 ]'
cd /
