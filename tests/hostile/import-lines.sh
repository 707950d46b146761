#!/bin/bash
# Lines of an export that another user wrote, which root imports: no value becomes more than a value, a line of its own, a path
# out of the tree or another key, and each line that tries is named by its number. The good ones are taken.
# root
. tests/mount/lib.sh
mount_fs -o allow_other

# What a path that climbs out of the tree would write to.
echo kept >"$T/target"
ln -s "$T/target" "$T/target@w"
up=../../../../../../../../..
python3 - "$up$T/target" >"$T/lines" <<'END'
import json, sys
def lock(**change):
    print(json.dumps({**{'kind': 'lock', 'lock': 'custom/x', 'owner': 'atlt1', 'who': 'w', 'ttl': '1h', 'priority': 'normal',
                         'meta': {'reason': 'a'}}, **change}))
def pull(**change):
    value = {'Pull': {'Num': 7, 'HeadCommit': 'abc', 'BaseRepo': {'FullName': 'a/b', 'VCSHost': {'Hostname': 'h'}}, **change},
             'Projects': [{'Workspace': 'w', 'RepoRelDir': '.', 'ProjectName': '', 'Status': 0}]}
    print(json.dumps({'bucket': 'pulls', 'key': 'h::a/b::7', 'value': value}))
bad = ['\n', '\r', '\x1b', '\x7f', '\x0b']
for byte in bad:
    lock(meta={'reason': 'a' + byte + 'owner=root'})
    lock(ttl='1h' + byte + 'owner=root')
    lock(priority='high' + byte + 'owner=root')
    lock(owner='atlt1' + byte + 'who=root')
    lock(who='w' + byte + 'x')
    lock(lock='custom/x' + byte)
    pull(HeadCommit='abc' + byte + '.\tother\t\tapplied')
for key in 'owner', 'who', 'ttl', 'token', 'renew', 'priority', 'timeout', 'id', 'a b', 'a=b', 'a\nowner', '', '.':
    lock(meta={key: 'root'})
lock(meta={'reason': 5})
for path in (sys.argv[1], 'custom/' + sys.argv[1], 'repos/' + sys.argv[1], 'custom/../global/x', 'custom/./x', 'custom//x', 'custom/..',
             '/etc/x', 'wait/custom/x', 'config/max_queue', 'custom/a@b', '', 'custom', 'custom/'):
    lock(lock=path)
lock(who='../../../x')
lock(who='a/b')
lock(owner='o' * 200)
lock(kind='waiter')
lock(lock='custom/good')
END
lines=$(wc -l <"$T/lines")
expect_status 1 "$ATLOCK" -m "$MNT" import "$T/lines"
expect_equal "$(tail -n 1 "$T/out")" \
	"imported 1 lock, 0 pull requests, 0 global locks; 0 were there already, 0 conflicts, $((lines - 1)) passed over"
expect_equal "$(sed -n 's/^passed over line \([0-9]*\): .*/\1/p' "$T/out")" "$(seq $((lines - 1)))" 'each by its number'
expect_equal "$(cat "$T/target")" kept
expect_equal "$(find "$MNT/custom" "$MNT/repos" "$MNT/global" -type f)" "$MNT/custom/good"
expect_equal "$(field "$MNT/custom/good" owner) $(field "$MNT/custom/good" reason)" 'atlt1 a'
expect_equal "$(find "$MNT/pulls" -name projects.tsv)" ''

# A dry run says the same.
rm "$MNT/custom/good@w"
expect_status 1 "$ATLOCK" -m "$MNT" import --dry-run "$T/lines"
expect_equal "$(tail -n 1 "$T/out")" \
	"would import 1 lock, 0 pull requests, 0 global locks; 0 were there already, 0 conflicts, $((lines - 1)) passed over"
