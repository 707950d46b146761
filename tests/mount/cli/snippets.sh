#!/bin/bash
# long
# timeout: 300
# Every snippet of README.md and docs/RECIPES.md does what it says: shell as it stands, pipelines by the shell in them.
. tests/mount/lib.sh
mount_fs
sources=$PWD

# What the snippets call that is not ours. Whoever is called says so.
mkdir "$T/bin"
for name in terraform deploy.sh sync.sh nightly.sh report.sh plan.sh; do
	printf '#!/bin/sh\necho "%s $*" >>"%s/called"\n' "$name" "$T" >"$T/bin/$name"
	chmod +x "$T/bin/$name"
done
ln -s "$ATLOCK" "$T/bin/atlock"
export PATH="$T/bin:$PATH" ATLOCKFS=$MNT
export BASE_REPO_OWNER=acme BASE_REPO_NAME=infra REPO_REL_DIR=modules/vpc WORKSPACE=default PULL_NUM=7
export CI_ENVIRONMENT_NAME=staging CI_JOB_ID=1017 GITHUB_ENVIRONMENT=staging GITHUB_RUN_ID=5 GITHUB_RUN_ATTEMPT=1

# Writes each fenced block of a document to <number>.<language>.
cat >"$T/extract.py" <<'END'
import re, sys
text = open(sys.argv[1]).read()
for number, (language, body) in enumerate(re.findall(r"^```(\w+)\n(.*?)^```$", text, re.M | re.S)):
    open("%s/%03d.%s" % (sys.argv[2], number, language), "w").write(body.replace("/locks/", sys.argv[3] + "/"))
END

# The shell in the pipelines' languages. Each command of YAML is a shell of its own, in order.
cat >"$T/shell.py" <<'END'
import re, sys, yaml
language, text = sys.argv[1], open(sys.argv[2]).read()
def walk(node, key=None):
    if isinstance(node, dict):
        for k, v in node.items():
            walk(v, k)
    elif isinstance(node, list):
        for v in node:
            walk(v, key)
    elif key in ("run", "script", "after_script"):
        print(node)
if language == "yaml":
    walk(yaml.safe_load(text))
elif language == "groovy":
    assert text.count("{") == text.count("}")
    print("\n".join(re.findall(r"\bsh '(.*)'", text)))
elif language in ("nginx", "caddy"):
    # There is no shell in them.
    assert text.count("{") == text.count("}")
    print(":")
elif language == "cron":
    print("\n".join(re.match(r"(?:\S+\s+){5}(.*)", line).group(1) for line in text.splitlines()))
elif language == "ini":
    print("\n".join(re.findall(r"^ExecStart=(.*)$", text, re.M)))
elif language == "make":
    print("make -s -f %s %s" % (sys.argv[2], " ".join(re.findall(r"^(\w+):", text, re.M))))
else:
    sys.exit("what to do with a snippet of %s?" % language)
END

run_lines() {
	local line
	while read -r line; do
		expect_ok setsid -w bash -ec "PATH=.:\$PATH; $line" >>"$T/said" </dev/null
	done <"$1"
}

# Documents' snippets in order, in the directory where the calls are made; each is a session of its own.
recipes() {
	local file language
	mkdir "$T/recipes"
	python3 "$T/extract.py" "$sources/docs/RECIPES.md" "$T/recipes" "$MNT"
	cd "$T/bin"
	for file in "$T"/recipes/*; do
		language=${file##*.}
		if [ "$language" = sh ]; then
			expect_ok setsid -w bash -e "$file" >>"$T/said" </dev/null
		else
			python3 "$T/shell.py" "$language" "$file" >"$T/lines"
			[ -s "$T/lines" ] || fail "no shell in $file"
			run_lines "$T/lines"
		fi
		free_lock "$MNT/repos/acme/infra/-/modules/vpc/-/default"
	done
	cd /
}

# What is indented instead of fenced would not be run.
! grep -n '^    [^ ]' "$sources/README.md" || fail "a snippet without a fence"

recipes
for name in 'terraform apply -auto-approve' deploy.sh sync.sh nightly.sh report.sh plan.sh; do
	grep -q "^$name" "$T/called" || fail "$name was not called"
done
grep -q 'deploying with token [1-9]' "$T/said" || fail "$(cat "$T/said")"
grep -qP "^custom/deploy\t$(id -un)\tbuild-17\$" "$T/said" || fail "$(cat "$T/said")"
expect_equal "$(cat "$MNT/locks.jsonl")" '' 'a recipe left its lock'

# README: all of it in one shell inside the mount, as a reader would. Blocks of text are about building and installing.
mkdir "$T/readme"
python3 "$T/extract.py" "$sources/README.md" "$T/readme" "$MNT"
rm -f "$T"/readme/*.text
ls "$T"/readme/*.sh >/dev/null || fail "README has no snippets"
for file in "$T"/readme/*.conf; do
	! "$ATLOCKFS_BUILD/atlockfs" --config "$file" --store "$T/s" "$T/no/such" 2>&1 | grep -F "$file" || fail "not a configuration"
done
left=$(find "$T/readme" -type f ! -name '*.sh' ! -name '*.console' ! -name '*.conf')
[ -z "$left" ] || fail "what to do with $left?"
cat "$T"/readme/*.sh >"$T/all.sh"
(cd "$MNT" && expect_ok setsid -w bash -e "$T/all.sh" </dev/null) >"$T/said"

# The two commands, on directories of this test's.
if [ "$TIME_FACTOR" = 1 ]; then
	for target in mount unmount; do
		grep -q "^make $target\b" "$sources/README.md" || fail "README does not say make $target"
		env -u MAKEFLAGS -u MAKELEVEL make -s -C "$sources" BUILD="$ATLOCKFS_BUILD" MNT="$T/mnt" STORE="$T/var" "$target" >"$T/said"
		[ $target = unmount ] && continue
		[ -e "$T/mnt/README" ] || fail "not mounted: $(cat "$T/said")"
		read -r daemon <"$T/var/owner.pid"
		grep -qx ".*Unmount with: make unmount MNT=$T/mnt" "$T/said" || fail "$(cat "$T/said")"
		grep -qx "Mount it again with: make mount MNT=$T/mnt STORE=$T/var" "$T/said" || fail "$(cat "$T/said")"
		[ -x "$(sed -n 's/^ *PATH=\(.*\):$PATH .*/\1/p' "$T/said")/atlock" ] || fail "$(cat "$T/said")"
	done
	wait_until "is_gone $daemon"
fi

# Its recording: each command, and each line of what it answers where that is not cut short with "...".
cat >"$T/replay.py" <<'END'
import fnmatch, re, subprocess, sys
shells = {}
def run(prompt, command):
    shell = shells.get(prompt)
    if shell is None:
        shell = shells[prompt] = subprocess.Popen(["setsid", "bash"], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                                  stderr=subprocess.STDOUT, text=True)
    shell.stdin.write(command + "\necho; echo END\n")
    shell.stdin.flush()
    out = []
    while (line := shell.stdout.readline().rstrip("\n")) != "END":
        out.append(line)
    return [line for line in out if line]
want, got, bad = [], None, 0
def compare():
    global bad
    lines = list(got or [])
    for pattern in want:
        if pattern == "...":
            continue
        regex = ".*".join(re.escape(part) for part in pattern.split("..."))
        while lines and not re.fullmatch(regex, lines[0]):
            lines.pop(0)
        if not lines:
            print("not answered: %s\n  but: %s" % (pattern, got)); bad = 1; return
for line in open(sys.argv[1]):
    line = line.rstrip("\n")
    match = re.match(r"(\w+\$) (.*)", line)
    if match:
        compare()
        want, got = [], run(match.group(1), match.group(2).split("   #")[0])
    elif line:
        want.append(line)
compare()
sys.exit(bad)
END
for file in "$T"/readme/*.console; do
	(cd "$MNT" && python3 "$T/replay.py" "$file") || fail "$file"
done
