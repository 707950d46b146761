#!/bin/bash
# bash, zsh and fish complete commands, options and held locks, from what atlock completion prints; names of locks are not run.
. tests/mount/lib.sh
mount_fs

expect_status 64 "$ATLOCK" completion
expect_status 64 "$ATLOCK" completion csh
for shell in bash zsh fish; do
	expect_status 0 "$ATLOCK" completion $shell
	cp "$T/out" "$T/$shell"
done
expect_ok bash -n "$T/bash"
expect_ok zsh -n "$T/zsh"
expect_ok fish --no-execute "$T/fish"

# Every command and every option of its help is there.
for command in $("$ATLOCK" help --all | sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p'); do
	for shell in bash zsh fish; do
		grep -q -- "\b$command\b" "$T/$shell" || fail "$shell does not know $command"
	done
	for option in $("$ATLOCK" help "$command" | sed -n 's/^ *\(-[a-zA-Z], \)\?--\([a-z0-9.-]*\).*/\2/p'); do
		grep -q "^	$command:-\*).* --$option " "$T/bash" || fail "bash does not know $command --$option"
		grep -q -- "seen_subcommand_from $command' -l $option " "$T/fish" || fail "fish does not know $command --$option"
	done
done

# What a person sees who presses tab.
mkdir "$T/bin" "$T/home"
cp "$ATLOCK" "$T/bin/atlock"
export PATH=$T/bin:$PATH HOME=$T/home ATLOCKFS=$MNT
expect_ok touch "$MNT/custom/nightly" "$MNT/custom/\$(touch pwned)" "$MNT/global/plan"
cat >"$T/tab" <<'END2'
. "$1"
shift
COMP_WORDS=("$@")
COMP_CWORD=$(($# - 1))
_atlock
printf '%s\n' "${COMPREPLY[@]}" | sort | tr '\n' ' '
END2
cd "$T"
tab() {
	bash "$T/tab" "$T/bash" "$@"
}
expect_equal "$(tab atlock tra)" 'transfer '
expect_equal "$(tab atlock help tra)" 'transfer '
expect_equal "$(tab atlock bench h)" 'handover '
expect_equal "$(tab atlock -m "$MNT" re)" 'realm renew restore '
expect_equal "$(tab atlock lock --w)" '--wait --who '
expect_equal "$(tab atlock lock --priority h)" 'high '
expect_equal "$(tab atlock show custom/n)" 'custom/nightly '
expect_equal "$(tab atlock unlock -m "$MNT" c)" 'custom/$(touch pwned) custom/nightly '
expect_ok touch "$MNT/repos/acme/infra/-/vpc/-/prod@pr:4711"
expect_equal "$(tab atlock ls --owner '')" "$(id -un) "
expect_equal "$(tab atlock ls --pull '')" '4711 '
expect_equal "$(tab atlock ls --repo ac)" 'acme/infra '
expect_equal "$(tab atlock top --who p)" 'pr:4711 '
expect_equal "$(tab atlock run --lock g)" 'global/plan '
expect_equal "$(tab atlock lock custom/n)" 'custom/nightly '
expect_equal "$(fish -c 'source fish; complete -C "atlock ls --pull "' | cut -f1)" 4711
expect_equal "$(fish -c 'source fish; complete -C "atlock tra"' | cut -f1)" transfer
expect_equal "$(fish -c 'source fish; complete -C "atlock lock --wa"' | cut -f1)" --wait
expect_equal "$(fish -c 'source fish; complete -C "atlock show custom/n"' | cut -f1)" custom/nightly
[ ! -e pwned ] && [ ! -e "$HOME/pwned" ] || fail "a lock's name was run"
cat >"$T/rc" <<'END2'
autoload -Uz compinit
compinit -u
source ./zsh
PS1='> '
bindkey '^I' complete-word
END2
mkdir "$T/zdot"
cp "$T/rc" "$T/zdot/.zshrc"
expect_ok env ZDOTDIR="$T/zdot" TERM=dumb python3 "$TESTS/mount/terminal.py" zsh -i <<'END2' >"$T/screen"
expect > 
send atlock tra\t
expect nsfer
send \x15exit 3\n
status 3
END2
