# What every script of tests/mount and tests/hostile begins with; see one. Given: $MNT and $STORE, not mounted yet; $T, a scratch directory that
# every user may write to; $SYS, the system calls of sys.c as a program; $ATLOCK, the command line. The script is a session of its
# own, in the top folder.
# shellcheck shell=bash
set -eEu -o pipefail

TESTS=$PWD/tests
DAEMON=
MOUNTS=0
BEHAVIOUR=
OUTER_DAEMON=
OUTER_JOBS=
: "${TIME_FACTOR:=1}" "${ROUNDS:=}"
exec {NEVER}<> <(:)

ON_ERROR='echo "${BASH_SOURCE[0]##*/}:$LINENO: failed: $BASH_COMMAND" >&2'
trap "$ON_ERROR" ERR
trap 'finish $?' EXIT

# Ends the script. In a subshell it ends that one, and with it, by set -e, mostly the script.
fail() {
	local i
	echo "$(for ((i = ${#FUNCNAME[@]} - 1; i > 0; i--)); do printf '%s:%s: ' "${BASH_SOURCE[i]##*/}" "${BASH_LINENO[i - 1]}"; done)$*" >&2
	trap - ERR
	exit 1
}

skip() {
	echo "$*"
	exit 77
}

# --- Several behaviours in one script ---

# Runs these functions in turn, each in a subshell with a $T of its own; the first that fails ends the script and is named. On a mount
# that is there already they share it, and what is below it. Without one each has $MNT and $STORE of its own as a script has,
# not mounted yet. What one behaviour skips is said by the script's end; the others are run all the same.
behaviours() {
	local status skipped=
	for BEHAVIOUR in "$@"; do
		trap - ERR
		set +e
		(
			set -e
			trap 'finish $?' EXIT
			trap "$ON_ERROR" ERR
			OUTER_DAEMON=$DAEMON
			OUTER_JOBS=$(jobs -rp)
			own_scratch
			"$BEHAVIOUR"
		)
		status=$?
		set -e
		trap "$ON_ERROR" ERR
		[ "$status" -ne 77 ] || skipped=$BEHAVIOUR
		[ "$status" -eq 0 ] || [ "$status" -eq 77 ] || fail "this failed: $BEHAVIOUR"
	done
	[ -z "$skipped" ] || skip "$skipped was skipped"
}

# A folder for this behaviour beside the script's own.
own_scratch() {
	local own=${T%/*}/$BEHAVIOUR.d
	mkdir "$own" "$own/tmp"
	chmod 1777 "$own/tmp"
	T=$own/tmp
	[ -z "$DAEMON" ] || return 0
	MNT=$own/mnt STORE=${STORE%/*}/$BEHAVIOUR.store
	mkdir "$MNT"
}

# For a behaviour; a script that cannot do without says `# root`.
needs_root() {
	[ "$(id -u)" -eq 0 ] || skip 'needs root'
}

# For a script that mounts over what the whole system uses: one gives it a mount namespace of its own where it can.
needs_own_mounts() {
	[ -n "${ATLOCKFS_APART:-}" ] || skip 'needs a mount namespace'
}

# --- The mount ---

is_mounted() {
	grep -qF " $MNT fuse.atlockfs " /proc/self/mounts
}

daemon_alive() {
	[ -n "$DAEMON" ] && ! is_gone "$DAEMON"
}

# A process that is not waited for may stay as a zombie: that is gone, too.
is_gone() {
	local stat
	{ read -r stat <"/proc/$1/stat"; } 2>/dev/null || return 0
	[[ ${stat##*) } = [ZX]* ]]
}

# Mounts $STORE on $MNT with these options of atlockfs, and returns when it answers. $DAEMON is the daemon's pid. It runs in the
# foreground in a session of its own so that its exit status and what it says are seen: `wait` for pids, never for all jobs.
mount_fs() {
	[ -z "$DAEMON" ] || fail "mounted already"
	MOUNTS=$((MOUNTS + 1))
	setsid "$ATLOCKFS_BUILD/atlockfs" -f --store "$STORE" "$@" "$MNT" \
		>"${T%/*}/daemon$MOUNTS.log" 2>&1 </dev/null &
	DAEMON=$!
	wait_until '! daemon_alive || { is_mounted && [ -e "$MNT/README" ]; }' 30
	daemon_alive || fail "the daemon did not start"
}

# The daemon's end, with status 0.
daemon_wait() {
	local status=0 pid=$DAEMON
	DAEMON=
	wait_until "is_gone $pid" 30 || fail "the daemon did not end"
	wait "$pid" || status=$?
	[ "$status" -eq 0 ] || fail "the daemon ended with status $status"
}

# Processes that were killed may keep the mount busy for a moment.
unmount_fs() {
	daemon_alive || fail "the daemon is gone"
	wait_until 'fusermount3 -u "$MNT" 2>/dev/null'
	daemon_wait
	! is_mounted || fail "still mounted"
}

remount_fs() {
	unmount_fs
	mount_fs "$@"
}

# The process that notifies the kernel for this daemon, if it has one. Until it has ended, too, a call that it has not refused yet
# may find the connection aborted (ECONNABORTED) instead of gone (ENOTCONN).
notifier_of() {
	pgrep -P "$1" -x locks-notify || true
}

notifier_wait() {
	[ -z "$1" ] || wait_until "is_gone $1" 30
}

# Kills the daemon and leaves its dead mount. The kernel cuts the connection when the daemon's notifier has ended, too.
crash_daemon() {
	local pid=$DAEMON notifier
	notifier=$(notifier_of "$DAEMON")
	DAEMON=
	kill -KILL "$pid"
	wait "$pid" 2>/dev/null || true
	notifier_wait "$notifier"
	! ls "$MNT" >/dev/null 2>&1 || fail "the daemon was killed, and its mount answers"
}

kill_daemon() {
	crash_daemon
	fusermount3 -uz "$MNT"
}

# shellcheck disable=SC2317 # from a trap
finish() {
	local status=$1 job
	trap - ERR EXIT
	set +e
	for job in $(jobs -rp); do
		case " $DAEMON $OUTER_JOBS " in
		*[[:space:]]"$job"[[:space:]]*) ;;
		*) { kill -KILL "$job" && wait "$job"; } 2>/dev/null ;;
		esac
	done
	if [ "$DAEMON" = "$OUTER_DAEMON" ]; then
		: # the script's, which goes on
	elif [ "$status" -eq 0 ] && [ -n "$DAEMON" ]; then
		ls "$MNT" >/dev/null || fail "the mount is dead"
		unmount_fs
	elif [ -n "$DAEMON" ]; then
		kill -KILL "$DAEMON" 2>/dev/null
		wait "$DAEMON" 2>/dev/null
		fusermount3 -uz "$MNT" 2>/dev/null
		chattr -i "$MNT" 2>/dev/null # as a daemon that dies leaves it
	fi
	exit "$status"
}

# Anonymous memory of the daemon, in kB.
anonymous() {
	sed -n 's/^RssAnon:[ \t]*\([0-9]*\) kB/\1/p' "/proc/$DAEMON/status"
}

# Waits until no other script, of whatever build, has said the same, and keeps them waiting until this one ends.
alone() {
	exec {ALONE}>>"/tmp/atlockfs-test-$1.lock"
	flock "$ALONE"
}

# --- Who asks ---

# Runs a command as another user (atlt1, atlt2) in this session.
as_user() {
	local user=$1
	shift
	setpriv --reuid="$user" --regid="$user" --init-groups "$@"
}

# Runs a command in a new session, which makes it another holder.
in_session() {
	setsid -w "$@"
}

# Runs a command on a terminal; standard input is what to do there: see terminal.py.
on_terminal() {
	python3 "$TESTS/mount/terminal.py" "$@"
}

# Starts a shell in a session of its own that lives as long as the script, so that it stays the same holder from one command
# to the next: session_start a; session a touch "$f". As another user: session a as_user atlt1 touch "$f".
declare -A SESSION_FILE SESSION_IN SESSION_STATUS
session_start() {
	local file=$T/.session-$1 in status
	mkfifo "$file.in" "$file.status"
	# Opened for both ways and kept open, a fifo neither waits for its other end nor loses what is written before that is there.
	exec {in}<>"$file.in" {status}<>"$file.status"
	SESSION_FILE[$1]=$file
	SESSION_IN[$1]=$in
	SESSION_STATUS[$1]=$status
	setsid bash -c "$(declare -f as_user); while read -r line; do eval \"\$line\"; done" \
		<&"$in" 9>&"$status" >>"$file.out" 2>>"$file.err" &
}

# Runs one command there: its output, what it says and its status are as if it ran here.
session() {
	local name=$1 file=${SESSION_FILE[$1]} status
	shift
	: >"$file.out"
	: >"$file.err"
	printf '%s </dev/null; echo $? >&9\n' "$(printf '%q ' "$@")" >&"${SESSION_IN[$name]}"
	read -r -u "${SESSION_STATUS[$name]}" status || fail "no answer (read ended with status $?) from: $*"
	[ ! -s "$file.out" ] || cat "$file.out"
	[ ! -s "$file.err" ] || cat "$file.err" >&2
	return "$status"
}

# --- What is expected ---

expect_ok() {
	local status=0 err=$T/.err.$BASHPID
	"$@" 2>"$err" || status=$?
	[ "$status" -eq 0 ] || fail "status $status from: $* : $(cat "$err")"
}

# The command exits non-zero and says this on stderr: expect_fail 'File exists' sh -c 'set -C; > f'
expect_fail() {
	local text=$1 status=0 err=$T/.err.$BASHPID
	shift
	"$@" >/dev/null 2>"$err" || status=$?
	[ "$status" -ne 0 ] || fail "succeeded: $*"
	grep -qF -- "$text" "$err" || fail "not \"$text\" (status $status) from: $* : $(cat "$err")"
}

# The command exits with this status; what it says is in $T/out and $T/err: expect_status 64 "$ATLOCK" nonsense
expect_status() {
	local want=$1 status=0
	shift
	"$@" >"$T/out" 2>"$T/err" || status=$?
	[ "$status" -eq "$want" ] || fail "status $status instead of $want from: $* : $(cat "$T/err")"
}

# A row of system calls of sys.c fails with this errno: expect_errno EEXIST open "$f" wronly,creat,excl
expect_errno() {
	local errno=$1 text
	shift
	! text=$("$SYS" "$@" 2>&1 >/dev/null) || fail "succeeded: $*"
	[ "${text##* }" = "$errno" ] || fail "$text instead of $errno from: $*"
}

expect_equal() {
	[ "$1" = "$2" ] || fail "${3:-}${3:+: }\"$1\" instead of \"$2\""
}

# So many processes take and give back so many locks each, every one of another name.
churn() {
	local i pids=()
	for i in $(seq "$1"); do
		"$SYS" cycle "$MNT/repos/acme/infra/-/d$i/-" "$2" &
		pids+=($!)
	done
	for i in "${pids[@]}"; do wait "$i" || fail 'a cycle failed'; done
}

# Starts a server in the background and returns when it listens, with its pid in $SERVER: server_start COMMAND..., where {port}
# stands for $PORT. If that is not set yet, a port is chosen that clients' sockets do not get, and another one if the server
# finds it taken.
PORT=
SERVER=
server_start() {
	local try given=$PORT log=$T/.server.log
	for try in $(seq 20); do
		PORT=${given:-$((10000 + (RANDOM * 32768 + RANDOM) % 20000))}
		"${@//'{port}'/$PORT}" >"$log" 2>&1 </dev/null &
		SERVER=$!
		wait_until "is_gone $SERVER || listens $SERVER $PORT" 30
		is_gone "$SERVER" || return 0
		wait "$SERVER" || true
		grep -qi 'address already in use' "$log" || break
		[ -z "$given" ] || sleep 0.2
	done
	fail "try $try: no server: $* : $(cat "$log")"
}

# The process of this pid listens at this port.
listens() {
	local inode
	inode=$(awk -v port="$(printf ':%04X' "$2")" '$4 == "0A" && $2 ~ port "$" { print $10 }' /proc/net/tcp)
	[ -n "$inode" ] && find "/proc/$1/fd" -lname "socket:\[$inode\]" 2>/dev/null | grep . >/dev/null
}

server_stop() {
	kill "-${1:-TERM}" "$SERVER"
	wait "$SERVER" 2>/dev/null || true
}

# One line of a lock: field "$f" owner
field() {
	sed -n "s/^$2=//p" "$1"
}

# The lock's lease is an hour that was asked for by its end: an hour since the caller read the clock, and the daemon has read it later.
expect_hour() {
	[[ $(field "$1" ttl) =~ ^(1h|359[0-9]s|359[0-9]{4}ms)$ ]] || fail "ttl=$(field "$1" ttl)"
}

# Waits until this moment, as locks print it, is over: until_after "$(field "$f" expires_at)"
until_after() {
	local end
	end=$(date -d "$1" +%s%3N)
	wait_until '[ "$(date +%s%3N)" -gt '"$end"' ]' 120
}

# Releases a lock whoever holds it, as an administrator does: by its holder's name. A free one is all right.
free_lock() {
	local who
	who=$(field "$1" who 2>/dev/null) || true
	[ -z "$who" ] || rm -f "$1@$who"
}

# A fiftieth of a second, without a process that sleeps: nothing is ever written to this pipe.
nap() {
	read -r -t 0.02 -u "$NEVER" || true
}

# Polls until a condition, a piece of shell, is true; fails after so many seconds (10).
wait_until() {
	local end=$((SECONDS + ${2:-10} * TIME_FACTOR))
	until eval "$1"; do
		[ "$SECONDS" -le "$end" ] || fail "not within ${2:-10} s: $1"
		nap
	done
}
