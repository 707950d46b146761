"""Who may do what, tried on a mount: prints the table of docs/SECURITY.md. Run as root by permission-matrix.sh.

Each actor is a process of its own, with a user and a session, that makes one system call at a time. A cell is made from nothing:
what others had is removed, the owner makes it anew, the actor makes the call, and what became of it is looked at.
"""
import errno
import fcntl
import os
import pwd
import sys
import time

MNT = sys.argv[1]
OWNER, OTHER, ADMIN, TO = (pwd.getpwnam(name) for name in ("atlt1", "atlt2", "daemon", "nobody"))
HOUR = 3600


class Actor:
    """A child that evaluates what it is sent, a function of this file and its arguments, and answers with "ok" or an errno."""

    def __init__(self, title, user):
        self.title = title
        down, up = os.pipe(), os.pipe()
        self.pid = os.fork()
        if self.pid == 0:
            os.setsid()
            os.close(down[1])
            os.close(up[0])
            os.setgroups([])
            os.setresgid(user.pw_gid, user.pw_gid, user.pw_gid)
            os.setresuid(user.pw_uid, user.pw_uid, user.pw_uid)
            serve(os.fdopen(down[0]), os.fdopen(up[1], "w"))
            os._exit(0)
        os.close(down[0])
        os.close(up[1])
        self.down, self.up = os.fdopen(down[1], "w"), os.fdopen(up[0])

    def do(self, call, *args):
        print(repr((call.__name__, args)), file=self.down, flush=True)
        return self.up.readline().strip()

    def must(self, call, *args):
        said = self.do(call, *args)
        if said != "ok":
            sys.exit(f"{self.title}: {call.__name__}{args}: {said}")


def serve(requests, answers):
    for line in requests:
        name, args = eval(line)
        try:
            globals()[name](*args)
            said = "ok"
        except OSError as err:
            said = errno.errorcode[err.errno].replace("EDEADLOCK", "EDEADLK")
        print(said, file=answers, flush=True)


# --- Calls -------------------------------------------------------------------------------------------------------------------


def opened(path, flags, use=lambda fd: None):
    fd = os.open(path, flags, 0o644)
    try:
        use(fd)
    finally:
        os.close(fd)


def create(path):
    opened(path, os.O_WRONLY | os.O_CREAT)


def create_excl(path):
    opened(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL)


def read(path):
    opened(path, os.O_RDONLY, lambda fd: os.read(fd, 4096))


def touch(path):
    os.utime(path)


def touch_future(path):
    os.utime(path, (time.time() + HOUR,) * 2)


def write_key(path):
    opened(path, os.O_WRONLY | os.O_APPEND, lambda fd: os.write(fd, b"key=value\n"))


def write_word(path, word):
    opened(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, lambda fd: os.write(fd, word.encode() + b"\n"))


def unlink(path):
    os.unlink(path)


def rename(path, to):
    os.rename(path, to)


def chmod(path):
    os.chmod(path, 0o600)


def chown(path):
    os.chown(path, TO.pw_uid, -1)


def flock(path):
    opened(path, os.O_RDONLY | os.O_CREAT, lambda fd: fcntl.flock(fd, fcntl.LOCK_EX | fcntl.LOCK_NB))


def wait(path):
    opened(path.replace(MNT, MNT + "/wait"), os.O_RDONLY | os.O_NONBLOCK, lambda fd: os.read(fd, 4096))


def mkdir(path, mode=0o755):
    os.mkdir(path)
    os.chmod(path, mode)


def make(path):
    os.mkdir(path)


def rmdir(path):
    os.rmdir(path)


# --- What is there -----------------------------------------------------------------------------------------------------------


def fields(path):
    try:
        with open(path) as file:
            return dict(line.rstrip("\n").split("=", 1) for line in file)
    except FileNotFoundError:
        return {}


def free(path):
    """As root, by the name of the holder, whoever that is."""
    who = fields(path).get("who")
    if who:
        os.unlink(f"{path}@{who}")


def outcome(said, before, after):
    """What a call on a lock came to, in a word or an errno."""
    if said != "ok":
        return said
    if not after:
        return "releases" if before else "ok"
    if not before or before["token"] != after["token"]:
        return "takes it"
    if before["owner"] != after["owner"]:
        return "gives it"
    return "ok"


# --- The table ---------------------------------------------------------------------------------------------------------------

HOLDER = Actor("its holder or owner", OWNER)
SESSION = Actor("same user, another session", OWNER)
STRANGER = Actor("another user", OTHER)
MEMBER = Actor("member of `admin_group`", ADMIN)
ROOT = Actor("root", pwd.getpwnam("root"))
ACTORS = [HOLDER, SESSION, STRANGER, MEMBER, ROOT]
locks, rows = [], []


def row(what, call, cells):
    rows.append([what, call, *cells])


def lock_row(what, path, title, call, suffix="", who="", hidden=False):
    """`who`: what the holder calls itself; `suffix`: what the actors add to the name, "@" for its holder's who."""
    cells = []
    for actor in [None] + ACTORS:
        free(path)
        if actor:
            HOLDER.must(create, path + who)
        if actor and hidden:
            HOLDER.must(chmod, path)
        before = fields(path)
        name = path + (f"@{before.get('who', 'sid:1')}" if suffix == "@" else suffix)
        said = (actor or STRANGER).do(call, name)
        cells.append(outcome(said, before, fields(path)))
    free(path)
    locks.append([*what, title, *cells])


def lock_rows(tree, path):
    plain = [
        ("open `O_CREAT`, to write", create), ("open `O_CREAT\\|O_EXCL`", create_excl), ("read", read),
        ("touch: now", touch), ("touch: in an hour", touch_future), ("write a key", write_key), ("unlink", unlink),
        ("chmod", chmod), ("chown", chown), ("flock, `LOCK_NB`", flock), ("read `wait/`, `O_NONBLOCK`", wait),
    ]
    for title, call in plain:
        lock_row((tree, ", a session's"), path, title, call)
    for title, call in (plain[2], plain[9], plain[10]):
        lock_row((tree, ", a session's, of mode 600"), path, title, call, hidden=True)
    for title, call in plain[3:9]:
        lock_row((tree, ", taken as `@name`"), path, f"{title}, by `@name`", call, "@build-17", "@build-17")
    for title, call in plain[6:9]:
        lock_row((tree, ", a session's"), path, f"{title}, by `@sid:`", call, "@")


def other_row(what, title, make, call, *args, undo=lambda: None):
    """`make` and `undo` bring about what is there before each call, and take it away; a call's arguments may be functions."""
    cells = ["-"]
    for actor in ACTORS:
        undo()
        make()
        cells.append(actor.do(call, *(arg(actor) if callable(arg) else arg for arg in args)))
    undo()
    row(what, title, cells)


def remove_tree(top):
    """As root: whatever is left below, directories last."""
    for path, dirs, files in os.walk(top, topdown=False):
        for name in files:
            try:
                os.unlink(os.path.join(path, name))
            except OSError:
                pass
        try:
            os.rmdir(path)
        except OSError:
            pass


def ticket_rows():
    lock, queue = f"{MNT}/global/apply", f"{MNT}/queue/global/apply"

    def join():
        HOLDER.must(create, lock + "@holder")
        HOLDER.must(create, queue + "/high@b")

    def undo():
        for name in os.listdir(queue):
            os.unlink(f"{queue}/{name}")
        free(lock)

    def listed(actor):
        return f"{queue}/{os.listdir(queue)[0]}"

    what = "`queue/`, a ticket"
    for title, call in [("read", read), ("touch: now", touch), ("write", write_key), ("unlink", unlink), ("chmod", chmod)]:
        other_row(what, title, join, call, listed, undo=undo)
    other_row(what, "rename to another priority", join, rename, listed, queue + "/critical@b", undo=undo)
    other_row(what, "create one's own", join, create, queue + "/normal@mine", undo=undo)


def pull_rows():
    top = f"{MNT}/pulls/github.com/acme/infra/-/5"
    status, of_it, of_another = f"{top}/projects/vpc/-/prod", f"{MNT}/repos/acme/infra/-/vpc/-/prod", f"{MNT}/repos/acme/infra/-/dns/-/prod"

    def write():
        HOLDER.must(write_word, top + "/head", "abc")
        HOLDER.must(write_word, status, "planned")

    def undo():
        free(of_it)
        free(of_another)
        if os.path.isdir(top):
            os.rmdir(top)

    what = "`pulls/`, written by the owner"
    for title, call, *args in [
        ("read", read, status),
        ("write a status", write_word, status, "applied"),
        ("write `head`", write_word, top + "/head", "def"),
        ("touch: now", touch, status),
        ("unlink a status", unlink, status),
        ("chmod", chmod, status),
        ("rmdir: close it", rmdir, top),
    ]:
        other_row(what, title, write, call, *args, undo=undo)

    def holding(lock, path):
        def path_held(actor):
            actor.must(create, lock + "@pr:5")
            return path

        return path_held

    for title, lock, call, path, *args in [
        ("write a status, holding the project's lock", of_it, write_word, status, "applied"),
        ("unlink a status, holding the project's lock", of_it, unlink, status),
        ("write a status, holding another project's lock", of_another, write_word, status, "applied"),
        ("write `head`, holding the project's lock", of_it, write_word, top + "/head", "def"),
        ("rmdir, holding the project's lock", of_it, rmdir, top),
    ]:
        other_row(what, title, write, call, holding(lock, path), *args, undo=undo)


def owners_rows():
    top = f"{MNT}/owners/github.com/acme/infra/-/applications"

    def refer():
        HOLDER.must(create, top + "/web")

    def undo():
        for name in os.listdir(top):
            os.unlink(f"{top}/{name}")

    what = "`owners/`, a reference"
    for title, call in [
        ("read", read), ("open `O_CREAT`, to write", create), ("touch: now", touch), ("unlink", unlink), ("chmod", chmod),
        ("chown", chown),
    ]:
        other_row(what, title, refer, call, top + "/web", undo=undo)
    other_row(what, "create another of the URL", refer, create, top + "/api", undo=undo)


def shared_rows():
    top = f"{MNT}/shared/db"
    app = top + "/apps/a"

    def register():
        HOLDER.must(make, top)
        HOLDER.must(write_word, app, "DOWN")

    def undo():
        free(top + "/stop")
        if os.path.isdir(top):
            for name in os.listdir(top + "/apps"):
                os.unlink(f"{top}/apps/{name}")
            os.rmdir(top)

    what = "`shared/`, an app"
    for title, call, *args in [
        ("read", read, app),
        ("write its status", write_word, app, "UP"),
        ("touch: now", touch, app),
        ("unlink", unlink, app),
        ("chmod", chmod, app),
        ("chown", chown, app),
        ("create one's own", write_word, top + "/apps/mine", "UP"),
        ("take `stop@` of it", create, top + "/stop@a"),
    ]:
        other_row(what, title, register, call, *args, undo=undo)
    other_row("`shared/`, a resource", "rmdir", lambda: HOLDER.must(make, top), rmdir, top, undo=undo)


def directory_rows():
    for mode in (0o755, 0o777):
        top = f"{MNT}/custom/dir"
        what = f"`custom/`, a directory of mode {mode:03o}"
        calls = [
            ("touch: now", touch, top), ("touch: in an hour", touch_future, top), ("chmod", chmod, top), ("chown", chown, top),
            ("mkdir in it", make, top + "/below"), ("take a lock in it", create, top + "/lock"), ("rmdir", rmdir, top),
        ]
        for title, call, *args in calls:
            other_row(what, title, lambda: HOLDER.must(mkdir, top, mode), call, *args, undo=lambda: undo_directory(top))


def undo_directory(top):
    free(top + "/lock")
    remove_tree(top)


def config_rows():
    option = f"{MNT}/config/max_queue"

    def reset():
        with open(option, "r+") as file:
            if file.read() != "1000\n":
                file.write("1000\n")

    for title, call, *args in [
        ("read", read, option), ("write", write_word, option, "999"), ("touch: now", touch, option), ("unlink", unlink, option),
        ("chmod", chmod, option), ("create", create, f"{MNT}/config/new"),
    ]:
        other_row("`config/`, an option", title, reset, call, *args, undo=reset)


def virtual_rows():
    for title, call in [("touch: now", touch), ("chmod", chmod), ("chown", chown), ("rmdir", rmdir)]:
        other_row("`repos/`, a virtual directory", title, lambda: None, call, f"{MNT}/repos/acme")


def link_rows():
    lock = f"{MNT}/custom/linked"

    def link(actor):
        return f"{MNT}/by/owner/{OWNER.pw_name}/{fields(lock)['id']}"

    for title, call in [("read", read), ("unlink", unlink)]:
        other_row("`by/`, the link of a lock", title, lambda: HOLDER.must(create, lock), call, link, undo=lambda: free(lock))


def merged(found):
    """Lock rows of several trees that are the same are one."""
    out = {}
    for tree, kind, *rest in found:
        out.setdefault((kind, *rest), []).append(tree)
    return [[" ".join(trees) + kind, *rest] for (kind, *rest), trees in out.items()]


def main():
    with open(f"{MNT}/config/admin_group", "w") as file:
        file.write(ADMIN.pw_name + "\n")
    for path in ("repos/acme/infra/-/vpc/-/prod", "custom/nightly", "global/plan"):
        lock_rows(f"`{path.split('/')[0]}/`", f"{MNT}/{path}")
    rows.extend(merged(locks))
    for make_rows in (directory_rows, ticket_rows, pull_rows, owners_rows, shared_rows, config_rows, link_rows, virtual_rows):
        make_rows()
    titles = ["what", "call", "it is free"] + [actor.title for actor in ACTORS]
    print("| " + " | ".join(titles) + " |")
    print("|" + "---|" * len(titles))
    for cells in rows:
        print("| " + " | ".join(cells) + " |")


main()
