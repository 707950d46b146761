#!/bin/bash
# atlock tells what it can do, and what a mistyped word was meant to be. Each help fits a screen.
. "$(dirname "$0")/lib.sh"

expect_status 0 "$ATLOCK" --version
grep -q '^atlock [0-9]' "$T/out" || fail "no version"
expect_status 0 "$ATLOCK" --help
cp "$T/out" "$T/help"
expect_status 0 "$ATLOCK" help
cmp -s "$T/out" "$T/help" || fail "help is not --help"
expect_status 64 "$ATLOCK"
cmp -s "$T/err" "$T/help" || fail "no help without words"

fits() {
	[ "$(wc -L <"$1")" -le 80 ] || fail "$2 is too wide: $(cat "$1")"
	! grep -n ' $' "$1" || fail "$2 has blanks at the end of a line"
	[ "$(wc -l <"$1")" -le 24 ] || fail "$2 does not fit a screen: $(cat "$1")"
}
fits "$T/help" help

# Every command has its line in the long list, its place in the short one and in the manual, and a screen of its own.
expect_status 0 "$ATLOCK" help --all
[ "$(wc -L <"$T/out")" -le 80 ] || fail "$(cat "$T/out")"
commands=$(sed -n 's/^  \([a-z][a-z-]*\) .*/\1/p' "$T/out")
[ "$(wc -w <<<"$commands")" -ge 2 ] || fail "no commands are listed"
for command in $commands; do
	expect_equal "$(sed -n '/^  [a-zA-Z ]\{10\}  /p' "$T/help" | cut -c15- | tr ' ' '\n' | grep -cx -- "$command")" 1 "$command in help"
	grep -qE "^(\.It )?\.?Cm $command( |\$)|^\.It Cm $command( |\$)" docs/atlock.1 || fail "$command is not in atlock(1)"
	expect_status 0 "$ATLOCK" help "$command"
	grep -qE "^usage: atlock $command( |\$)" "$T/out" || fail "help $command does not begin with its usage"
	fits "$T/out" "help $command"
	cp "$T/out" "$T/one"
	expect_status 0 "$ATLOCK" "$command" --help
	cmp -s "$T/out" "$T/one" || fail "$command --help is not help $command"
	expect_status 64 "$ATLOCK" "$command" --no-such-option
	expect_status 64 "$ATLOCK" "$command" -m
	[ -z "$(tr -d '[:print:][:space:]' <"$T/err")" ] || fail "colours without a terminal"
done

# Options: what was meant, what it may be, what it lacks.
wrong() {
	local text=$1
	shift
	expect_status 64 "$ATLOCK" "$@"
	expect_equal "$(cat "$T/err")" "atlock $text"
}
wrong 'lock: there is no option "--wiat": did you mean "--wait"?' lock custom/x --wiat 3m
wrong 'run: there is no option "--lokc": did you mean "--lock"?' run --lokc=custom/x -- true
wrong 'lock: "--w" may be --wait or --who; try '"'atlock lock --help'" lock --w 3m custom/x
wrong 'ls: there is no option "-json": did you mean "--json"?' ls -json
wrong 'ls: there is no option "-J"; try '"'atlock ls --help'" ls -J
wrong 'graph: there is no option "--frobnicate"; try '"'atlock graph --help'" graph --frobnicate
wrong 'graph: --dot takes no value; try '"'atlock graph --help'" graph --dot=x
wrong 'lock: --wait lacks its value; try '"'atlock lock --help'" lock --wait
wrong 'lock: -w lacks its value; try '"'atlock lock --help'" lock -w
wrong 'audit: there is no option "--lokc": did you mean "--lock"?' audit show --lokc custom/x
wrong 'policy: there is no option "--fiel": did you mean "--file"?' policy test --fiel x a b c
wrong 'help: there is no option "--lal": did you mean "--all"?' help --lal
expect_status 64 "$ATLOCK" --versoin
expect_equal "$(cat "$T/err")" 'atlock: there is no option "--versoin": did you mean "--version"?'
expect_status 64 "$ATLOCK" help lock run

expect_status 64 "$ATLOCK" sttaus
expect_equal "$(cat "$T/err")" 'atlock: there is no command "sttaus": did you mean "status"?'
expect_status 64 "$ATLOCK" help hlep
expect_equal "$(cat "$T/err")" 'atlock: there is no command "hlep": did you mean "help"?'
expect_status 64 "$ATLOCK" frobnicate
expect_equal "$(cat "$T/err")" "atlock: there is no command \"frobnicate\"; try 'atlock help'"
expect_status 74 sh -c 'exec "$1" --help > /dev/full' sh "$ATLOCK"
