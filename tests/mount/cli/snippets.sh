#!/bin/bash
# long
# timeout: 300
# Every snippet of README.md and docs/RECIPES.md does what it says: shell as it stands, pipelines by the shell in them.
. tests/mount/lib.sh
mount_fs
sources=$PWD

# What the snippets call that is not ours. Whoever is called says so.
mkdir "$T/bin"
for name in terraform deploy.sh sync.sh nightly.sh report.sh plan.sh billing.sh; do
	printf '#!/bin/sh\necho "%s $*" >>"%s/called"\n' "$name" "$T" >"$T/bin/$name"
	chmod +x "$T/bin/$name"
done
ln -s "$ATLOCK" "$T/bin/atlock"
export PATH="$T/bin:$PATH" ATLOCKFS=$MNT

# What each system sets by itself, by the recipe's heading, as its documentation lists it; a recipe sees these and no others.
# GitLab: docs.gitlab.com/ci/variables/predefined_variables. GitHub: "Default environment variables" of docs.github.com/actions.
# Jenkins: env-vars.html of any Jenkins. Atlantis: "Native Environment Variables" of its custom workflows, beside what starts its server.
# cron: crontab(5). systemd: "Environment variables in spawned processes" of systemd.exec(5).
variables_of() {
	case $1 in
	gitlab-ci) echo CI=true GITLAB_CI=true CI_JOB_ID=1017 CI_JOB_NAME=deploy CI_PIPELINE_ID=99 CI_PROJECT_PATH=acme/web \
		CI_COMMIT_REF_NAME=feature/x CI_ENVIRONMENT_NAME=review/feature-x CI_ENVIRONMENT_SLUG=review-feature-x-1a2b3c ;;
	github-actions) echo CI=true GITHUB_ACTIONS=true GITHUB_RUN_ID=5 GITHUB_RUN_NUMBER=3 GITHUB_RUN_ATTEMPT=1 GITHUB_JOB=deploy \
		GITHUB_REPOSITORY=acme/infra GITHUB_REF_NAME=main GITHUB_WORKFLOW=deploy RUNNER_NAME=build-host ;;
	jenkins) echo BUILD_NUMBER=153 BUILD_ID=153 JOB_NAME=web/deploy BUILD_TAG=jenkins-web-deploy-153 EXECUTOR_NUMBER=0 NODE_NAME=build-host ;;
	# The second half of this recipe is a job of GitHub Actions.
	atlantis) echo WORKSPACE=default REPO_REL_DIR=modules/vpc BASE_REPO_OWNER=acme BASE_REPO_NAME=infra HEAD_REPO_OWNER=bob HEAD_REPO_NAME=infra \
		HEAD_BRANCH_NAME=x HEAD_COMMIT=1a2b3c BASE_BRANCH_NAME=main PULL_NUM=7 PULL_URL=https://github.com/acme/infra/pull/7 PULL_AUTHOR=bob \
		USER_NAME=bob PROJECT_NAME= COMMENT_ARGS= DIR=/a/b PLANFILE=/a/b/default.tfplan SHOWFILE=/a/b/default.json \
		ATLANTIS_TERRAFORM_VERSION=1.5.7 GITHUB_REPOSITORY=acme/infra ;;
	cron) echo LOGNAME="$(id -un)" SHELL=/bin/sh ;;
	systemd) echo INVOCATION_ID=1a2b3c LANG=C.UTF-8 ;;
	esac
}

# Runs a command as a recipe of this heading sees the world: a session, and the variables of its system.
as_recipe() {
	local heading=$1
	shift
	# shellcheck disable=SC2046 # a word each
	env -i PATH="$PATH" HOME="$HOME" ATLOCKFS="$MNT" $(variables_of "$heading") setsid -w "$@" </dev/null
}

# Writes each fenced block of a document to <number>.<heading>.<language>.
cat >"$T/extract.py" <<'END'
import re, sys
text = open(sys.argv[1]).read()
heading, number = "none", 0
for part in re.finditer(r"^## ([^\n]*)$|^```(\w+)\n(.*?)^```$", text, re.M | re.S):
    if part.group(1):
        heading = part.group(1).lower().replace(" ", "-")
    else:
        name = "%s/%03d.%s.%s" % (sys.argv[2], number, heading, part.group(2))
        open(name, "w").write(part.group(3).replace("/locks/", sys.argv[3] + "/"))
        number += 1
END

# The shell in the pipelines' languages. Each command of YAML is a shell of its own, in order.
cat >"$T/shell.py" <<'END'
import re, sys, yaml
language, text = sys.argv[1], open(sys.argv[2]).read()
context = {"github.event.pull_request.number": "7"}
def walk(node, key=None, env=""):
    if isinstance(node, dict):
        for k, v in (node.get("env") or {}).items():
            env += "export %s='%s'; " % (k, re.sub(r"\$\{\{ (.*?) \}\}", lambda m: context[m.group(1)], v))
        for k, v in node.items():
            walk(v, k, env)
    elif isinstance(node, list):
        for v in node:
            walk(v, key, env)
    elif key in ("run", "script", "after_script"):
        print(env + node)
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
    print("\n".join(re.findall(r"^ExecStart=/usr/bin/(.*)$", text, re.M)))
elif language == "make":
    print("make -s -f %s %s" % (sys.argv[2], " ".join(re.findall(r"^(\w+):", text, re.M))))
else:
    sys.exit("what to do with a snippet of %s?" % language)
END

run_lines() {
	local line
	while read -r line; do
		expect_ok as_recipe "$2" bash -euc "PATH=.:\$PATH; $line" >>"$T/said"
	done <"$1"
}

# Documents' snippets in order, in the directory where the calls are made; each is a session of its own.
recipes() {
	local file language heading
	mkdir "$T/recipes"
	python3 "$T/extract.py" "$sources/docs/RECIPES.md" "$T/recipes" "$MNT"
	cd "$T/bin"
	for file in "$T"/recipes/*; do
		language=${file##*.}
		heading=${file%.*}
		heading=${heading##*.}
		if [ "$language" = text ]; then
			continue
		elif [ "$language" = sh ]; then
			expect_ok as_recipe "$heading" bash -eu "$file" >>"$T/said"
		else
			python3 "$T/shell.py" "$language" "$file" >"$T/lines"
			[ -s "$T/lines" ] || fail "no shell in $file"
			run_lines "$T/lines" "$heading"
		fi
		free_lock "$MNT/repos/acme/infra/-/modules/vpc/-/default"
	done
	cd /
}

# What is indented instead of fenced would not be run.
! grep -n '^    [^ ]' "$sources/README.md" || fail "a snippet without a fence"

recipes
for name in 'terraform -chdir=modules/vpc apply -auto-approve' deploy.sh sync.sh nightly.sh report.sh plan.sh billing.sh; do
	grep -q "^$name" "$T/called" || fail "$name was not called"
done
grep -q 'deploying with token [1-9]' "$T/said" || fail "$(cat "$T/said")"
grep -qP "^custom/deploy\t$(id -un)\tbuild-17\$" "$T/said" || fail "$(cat "$T/said")"
expect_equal "$(cat "$MNT/locks.jsonl")" '' 'a recipe left its lock'

# cron's line hides a conflict and nothing else; the wrapper of Terraform locks the directory of -chdir; Atlantis shows why.
line=$(sed -n 's/^\*\/5 \* \* \* \* //p' "$sources/docs/RECIPES.md")
expect_ok touch "$MNT/custom/sync@other"
(cd "$T/bin" && expect_status 0 as_recipe cron sh -c "${line//\/locks/$MNT}")
expect_ok rm "$MNT/custom/sync@other"
printf '#!/bin/sh\nexit 3\n' >"$T/bin/sync.sh"
(cd "$T/bin" && expect_status 3 as_recipe cron sh -c "${line//\/locks/$MNT}")
printf '#!/bin/sh\n"%s" ls --only lock\n' "$ATLOCK" >"$T/bin/terraform"
mkdir -p "$T/bin/modules/db/.terraform"
echo staging >"$T/bin/modules/db/.terraform/environment"
(cd "$T/bin" && expect_status 0 as_recipe terraform ./terraform-locked -chdir=modules/db plan)
expect_equal "$(cat "$T/out")" repos/acme/infra/-/modules/db/-/staging
(cd "$T/bin/modules/db" && expect_status 0 as_recipe terraform ../../terraform-locked plan)
expect_equal "$(cat "$T/out")" repos/acme/infra/-/-/staging
expect_ok touch "$MNT/repos/acme/infra/-/modules/vpc/-/default@pr:6"
python3 "$T/shell.py" yaml "$(echo "$T"/recipes/*.atlantis.yaml | cut -d ' ' -f 1)" >"$T/lines"
expect_status 1 as_recipe atlantis sh -c "$(sed -n 1p "$T/lines")"
grep -q '^LOCK_EXISTS: repos/acme/infra/-/modules/vpc/-/default is held by .*@pr:6 since' "$T/out" || fail "$(cat "$T/out")"
expect_ok rm "$MNT/repos/acme/infra/-/modules/vpc/-/default@pr:6"

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
mkdir "$T/fake"
printf '#!/bin/sh\necho deploying\n' >"$T/fake/make"
chmod +x "$T/fake/make"
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

	# On a terminal, building shows how far it is in one line.
	expect_ok on_terminal env -u MAKEFLAGS -u MAKELEVEL -C "$sources" tools/building BUILD="$T/b" "$T/b/obj/tools/cli/moment.o" \
		<<<'status 0' >"$T/screen"
	grep -qF '[1/1] CC     tools/cli/moment.c' "$T/screen" || fail "$(cat -v "$T/screen")"
	[ -e "$T/b/obj/tools/cli/moment.o" ] || fail "not built"
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
	(cd "$MNT" && PATH=$T/fake:$PATH python3 "$T/replay.py" "$file") || fail "$file"
done
