#!/bin/bash
# Names, reasons and a process's name that would make a terminal obey, write lines of their own or show something else than is
# there: no command of atlock(1) passes them on, on standard output or error.
# root
. tests/mount/lib.sh
mount_fs -o allow_other

csi=$'\u009b31m' turned=$'\u202egnp.exe' bad=$'caf\xe9' forged=$'x\n2026-01-01T00:00:00.000Z\tacquired\tglobal/apply\troot'
mkdir -m 777 "$MNT/custom/open"
cat >"$T/attack" <<'END'
import ctypes, os, sys
mnt, = sys.argv[1:]
ctypes.CDLL(None).prctl(15, b'a\x1b]0;x\x07\nb\xc2\x9b', 0, 0, 0)  # its name
names = [b'esc\x1b[2J', b'line\nx\tacquired', b'c1\xc2\x9b31m', b'turned\xe2\x80\xaegnp', b'bad\xe9', b'zero\xe2\x80\x8bwidth']
held = 0
for name in names:
    for dir in b'custom/open', b'global':
        path = os.fsencode(mnt) + b'/' + dir + b'/' + name
        try:
            with open(path + b'@w\xe2\x80\xae' + name[:4], 'wb') as file:
                file.write(b'reason=r\xe2\x80\xae \xc2\x9b2J\nurl=https://x/\xe2\x81\xa6\n')
            held += 1
        except OSError:
            pass
        for act in (os.unlink, os.rmdir, lambda p: os.open(p, os.O_WRONLY | os.O_CREAT | os.O_EXCL), os.mkdir):
            try:
                act(path)
            except OSError:
                pass
print(held)
END
held=$(as_user atlt1 setsid -w python3 "$T/attack" "$MNT")
[ "$held" -ge 4 ] || fail "only $held of the names are taken as such: nothing to show"
# A waiter, so that queues and graphs have something to show.
lock=$(find "$MNT/custom/open" -type f -print0 | head -zn 1 | tr -d '\0')
as_user atlt1 setsid -w touch "$MNT/queue${lock#"$MNT"}/high@$turned" || fail 'no ticket'

# Runs a command, whatever its status, and keeps all it says to be looked at in the end.
count=0
mkdir "$T/all"
looks() {
	"$ATLOCK" -m "$MNT" "$@" >"$T/said" 2>&1 || true
	count=$((count + 1))
	printf '%q ' "$@" >"$T/all/$count.command"
	cp "$T/said" "$T/all/$count"
}
for lock in "$lock" "$MNT"/custom/open/* "custom/$csi" "global/$turned" "nowhere/$bad" "$forged" "lock_$csi"; do
	looks show "$lock"
	looks renew "$lock"
	looks unlock "$lock"
	looks lock "$lock"
	looks queue "$lock"
	looks transfer --to "$turned@$csi" "$lock"
	looks run -l "$lock" -- "$csi"
	looks ls "$lock"
done
looks ls
[ "$(wc -l <"$T/said")" -ge "$held" ] || fail 'not all are listed'
looks queue
[ -s "$T/said" ] || fail 'no queue'
looks graph
looks graph --svg
xmllint --noout "$T/said" || fail 'the picture is no XML'
looks graph --dot
looks status
looks doctor
looks top -b -n 1
looks top -b -n 1 --queue
looks audit show
expect_equal "$(wc -l <"$T/said")" "$("$ATLOCK" -m "$MNT" audit show --json | wc -l)" 'a line for each event'
looks audit show --type refused
looks "$csi"
looks "--$turned"
looks lock -w "$csi" global/x
looks policy test "$turned" acquire "$csi"
looks import "$T/$csi"
printf '{"key":"%s","value":{}}\n{"lock":"custom/\xe2\x80\xae","owner":"%s"}\n' "$csi" "$turned" >"$T/$csi"
looks import "$T/$csi"
looks verify --against "$T/$csi"
looks backup "$T/$csi"
looks fsck "$T/$turned"
looks force-unlock "$lock"

python3 - "$T/all" "$count" <<'END'
import re, sys
dir, count = sys.argv[1], int(sys.argv[2])
control = re.compile('[\0-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff]')
bad = False
for i in range(1, count + 1):
    data = open('%s/%d' % (dir, i), 'rb').read()
    try:
        text = data.decode()
    except UnicodeDecodeError:
        text = data.decode('latin-1') + '\0 no UTF-8'
    found = control.search(text)
    if found:
        bad = True
        print('%s: %a' % (open('%s/%d.command' % (dir, i)).read(), text[max(0, found.start() - 40):found.end() + 20]))
sys.exit(bad)
END
