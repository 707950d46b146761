#!/usr/bin/env python3
"""Runs a command on a terminal of its own, as a person would. Lines of standard input say what to do:
expect TEXT (the terminal shows it), send TEXT (typed; \\n, \\x03), until SHELL (a condition comes true),
status N (the command ends so; -2 is by signal 2). What was shown goes to standard output."""
import os, pty, select, subprocess, sys, time

limit = 20 * int(os.environ.get('TIME_FACTOR', '1'))
pid, fd = pty.fork()
if pid == 0:
    os.execvp(sys.argv[1], sys.argv[1:])
shown = b''

def read():
    """False at the end."""
    global shown
    if not select.select([fd], [], [], 0.05)[0]:
        return True
    try:
        data = os.read(fd, 4096)
    except OSError:
        return False
    sys.stdout.buffer.write(data)
    shown += data
    return bool(data)

def give_up(text):
    sys.stdout.flush()
    sys.exit('%s; shown since: %r' % (text, shown))

def expect(text):
    global shown
    end = time.time() + limit
    while text.encode() not in shown:
        if time.time() > end or not read():
            give_up('not shown: ' + text)
    shown = shown[shown.index(text.encode()) + len(text):]

def send(text):
    os.write(fd, text.encode('latin-1', 'backslashreplace').decode('unicode_escape').encode())

def until(text):
    end = time.time() + limit
    while subprocess.run(['sh', '-c', text]).returncode != 0:
        if time.time() > end:
            give_up('not true: ' + text)
        read()

def status(text):
    end = time.time() + limit
    while time.time() < end and read():
        pass
    code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
    if code != int(text):
        give_up('status %d instead of %s' % (code, text))

for line in sys.stdin:
    verb, _, text = line.rstrip('\n').partition(' ')
    {'expect': expect, 'send': send, 'until': until, 'status': status}[verb](text)
