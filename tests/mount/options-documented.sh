#!/bin/bash
# Every option is in atlockfs(8) with the default, the range and the words that the program itself names for it.
. "$(dirname "$0")/lib.sh"
mount_fs
sources=$(realpath "$(dirname "$0")/../..")

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
