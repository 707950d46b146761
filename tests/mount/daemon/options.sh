#!/bin/bash
# Options of the command line and their documentation.
. tests/mount/lib.sh

# Bad options are refused before anything is mounted, in words that say what would do.
checked() {
	refuses() {
		local text=$1
		shift
		expect_status 64 "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" "$@" "$MNT"
		grep -qF -- "$text" "$T/err" || fail "not "$text": $(cat "$T/err")"
		! is_mounted || fail "mounted with $*"
	}

	refuses 'needs a unit' -o default_ttl=90
	refuses 'durations are written' -o default_ttl=soon
	refuses 'must have an end' -o max_ttl=never
	refuses 'takes' -o claim_timeout=0s
	refuses 'must be a number' -o max_queue=many
	refuses 'takes' -o max_queue=0
	refuses 'choose one of' -o deadlock_policy=coin
	refuses 'choose one of' -o sync=maybe
	refuses 'longer than max_ttl' -o default_ttl=3h
	refuses 'a number from' -o max_threads=0
	refuses 'unknown option' -o defaultttl=5m
	refuses 'nonsense' -o nonsense
	refuses 'nonsense' -o nonsense=5
	refuses 'needs a value' -o default_ttl
	refuses 'must be a number' -o rate_limit=many
	refuses 'crash' -o auto_unmount
	refuses '--help' -x
	refuses '--help' --nonsense
	! grep 'did you mean' "$T/err" || fail 'like no other, and suggested all the same'
	refuses 'did you mean --store?' --stroe="$T/s"
	refuses 'did you mean --version?' --versoin
	expect_status 64 "$ATLOCKFS_BUILD/atlockfs"
	expect_fail '--help' "$ATLOCKFS_BUILD/atlockfs" "$STORE" "$MNT" "$MNT"
	expect_fail 'given twice' "$ATLOCKFS_BUILD/atlockfs" --store "$STORE" "$STORE" "$MNT"

	# Good ones work, in one -o or several.
	mount_fs -o default_ttl=5m,max_ttl=10m -o max_queue=7
	expect_ok touch "$MNT/custom/x@a"
	expect_equal "$(field "$MNT/custom/x" ttl)" 5m
	expect_fail 'Invalid argument' bash -c 'echo ttl=11m >"$1"' - "$MNT/custom/x@a"

	for word in --help -h; do
		"$ATLOCKFS_BUILD/atlockfs" $word >"$T/help"
		for option in default_ttl max_ttl queue_timeout max_queue claim_timeout lock_delay deadlock_policy sync identity admin_group \
			--store allow_other; do
			grep -q -- "$option" "$T/help" || fail "$word does not speak of $option"
		done
		grep -q 'default_ttl=30m (1s to 365d)' "$T/help" || fail "$word shows no default"
		# What it lists can be given.
		for option in $(sed -n 's/^  \([a-z_]*=[^ ]*\) *(.*/\1/p' "$T/help"); do
			! "$ATLOCKFS_BUILD/atlockfs" -o "$option" --store "$STORE" "$T/no/such" 2>&1 | grep "${option%=*}" ||
				fail "refused: $option"
		done
	done
	expect_equal "$("$ATLOCKFS_BUILD/atlockfs" --version | grep -c '^atlockfs [0-9]')" 1
	expect_equal "$("$ATLOCKFS_BUILD/atlockfs" -V)" "$("$ATLOCKFS_BUILD/atlockfs" --version)"

	# A store may be named with its engine; an unknown one is refused by name, and a directory of such a name has a spelling.
	unmount_fs
	real=$STORE
	for STORE in "lmdb:$real" "lmdb://$real"; do
		mount_fs
		[ -e "$MNT/custom/x" ] || fail "$STORE is another store"
		unmount_fs
	done
	cd "$T"
	for STORE in lmdb:relative ./odd:name; do
		mount_fs
		unmount_fs
	done
	[ -d relative ] && [ -d odd:name ] || fail "not there: $(ls)"
	expect_fail 'no engine is called mysql; there is: lmdb' "$ATLOCKFS_BUILD/atlockfs" --store mysql:/x "$MNT"
}

# Every option is in atlockfs(8) with the default, the range and the words that the program itself names for it.
documented() {
	mount_fs
	sources=$PWD

	cat >"$T/compare.py" <<'PY'
import re, sys
names, program, manual = (open(path).read() for path in sys.argv[1:])
said = {m[1]: (m[2], m[3] or "") for m in re.finditer(r"^  (\w+)=(\S*)(?: \((.*)\))?$", program, re.M)}
section = manual.split(".Ss Mount options")[1].split("\n.Ss ")[0]
items = dict(re.findall(r"^\.It Cm (\w+)(.*?)(?=^\.It Cm |^\.El)", section, re.M | re.S))
bad = []
for name in names.split():
    if name not in said or name not in items:
        bad.append(name)
        continue
    initial, may = said[name]
    text = " ".join(re.sub(r"^\.\w+ ", "", items[name], flags=re.M).split())
    words = [part.strip() for part in may.split(",")] if " to " in may else may.split()
    # A switch is given without a value.
    for word in [initial] + (words if words != ["off", "on"] else []):
        if word and not re.search(r"(?<![\w.])%s(?!\w)" % re.escape(word), text):
            bad.append("%s: %s" % (name, word))
sys.exit("not in the manual: %s" % ", ".join(bad) if bad else 0)
PY
	ls "$MNT/config" >"$T/names"
	"$ATLOCKFS_BUILD/atlockfs" --help >"$T/help"
	[ "$(wc -l <"$T/names")" -gt 20 ] || fail "$(cat "$T/names")"
	expect_ok python3 "$T/compare.py" "$T/names" "$T/help" "$sources/docs/atlockfs.8"
}

behaviours checked documented
