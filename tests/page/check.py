"""check.py URL MOUNT DAEMON AXE PICTURES: two browsers watch locks come and go; accessibility; pictures; ten thousand locks.

Limits are those of a quiet machine. On a busy one they stretch by how much longer than usual a page without content takes to appear.
"""
import os
import pwd
import signal
import subprocess
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from browser import Driver

url, mount, daemon, axe, pictures = sys.argv[1:6]
PLAIN = 0.1  # seconds until a page of one line is painted, on a quiet machine
TAB = "\ue004"
FIRST_PAINT = "return performance.getEntriesByName('first-contentful-paint').map(e => e.startTime)[0] || 0"


def touch(*names):
    for name in names:
        os.close(os.open(os.path.join(mount, name), os.O_WRONLY | os.O_CREAT, 0o644))


def remove(name):
    os.unlink(os.path.join(mount, name))


def write(name, text):
    with open(os.path.join(mount, name), "w", encoding="utf-8") as file:
        file.write(text)


def paint(browser, path):
    """Seconds from the navigation to the first content on the screen."""
    browser.open(url + path)
    browser.wait("paint of " + path, 60, lambda: browser.run(FIRST_PAINT) > 0)
    return browser.run(FIRST_PAINT) / 1000


def slow(browser):
    """How many times slower than a quiet machine this one is now."""
    factor = max(1.0, sorted(paint(browser, "/nothing") for _ in range(3))[1] / PLAIN)
    print("this machine is slower by %.1f" % factor)
    return factor


def opened(browser, path):
    browser.open(url + path)
    browser.wait("the page is live", 60, lambda: browser.run("return document.getElementById('live').className") == "on")


def watch(browsers):
    """Each change is seen by both within a second."""
    factor = slow(browsers[0])

    def both(what, act, text, there=True):
        begin = time.monotonic()
        act()
        for browser in browsers:
            browser.wait(what, 30 * factor, lambda b=browser: (text in b.text()) == there)
            took = time.monotonic() - begin
            print("%-12s seen after %4d ms" % (what, took * 1000))
            assert took < factor, what

    for browser in browsers:
        opened(browser, "/")
    both("taken", lambda: touch("custom/deploy@build-1"), "@build-1")
    for browser in browsers:
        opened(browser, "/lock?name=custom/deploy")
    both("queued", lambda: touch("queue/custom/deploy/high@build-2"), "@build-2")
    for browser in browsers:
        opened(browser, "/")
    both("handed over", lambda: remove("custom/deploy@build-1"), "@build-2")
    both("released", lambda: remove("custom/deploy@build-2"), "custom/deploy", False)


def hostile(browser):
    """A name that is a script is text."""
    name = "custom/<img src=x onerror=document.title='taken'>"
    touch(name + "@x")
    for path in "/", "/lock?name=custom/%3Cimg%20src%3Dx%20onerror%3Ddocument.title%3D%27taken%27%3E":
        opened(browser, path)
        browser.wait("the name as text", 30, lambda: name in browser.text())
        assert browser.run("return document.querySelectorAll('main img').length") == 0
        assert browser.run("return document.title") != "taken"
    remove(name + "@x")


def filters(browser):
    """While one types, from the keyboard alone; a link that has the focus keeps it when the page changes."""
    touch("custom/alpha@a", "custom/beta@b")
    opened(browser, "/")
    browser.wait("both", 30, lambda: "custom/alpha" in browser.text() and "custom/beta" in browser.text())
    browser.press("/")
    assert browser.run("return document.activeElement.id") == "q"
    browser.type("#q", "alp")
    browser.wait("one", 30, lambda: "custom/beta" not in browser.text() and "custom/alpha" in browser.text())
    assert browser.run("return document.getElementById('q').value") == "alp", "typing was disturbed"
    assert "q=alp" in browser.run("return location.search"), "no deep link"
    opened(browser, "/?q=a&sort=lock")
    browser.run("document.querySelector('tbody tr:last-child th a').focus()")
    touch("custom/aardvark@c")
    browser.wait("a new row", 30, lambda: "aardvark" in browser.text())
    assert "beta" in browser.run("return document.activeElement.href || ''"), "the focus was lost"
    for name in "custom/alpha@a", "custom/beta@b", "custom/aardvark@c":
        remove(name)


def plain(driver):
    """Without scripts: a table, and a new one after a reload."""
    browser = driver.browser(script=False)
    touch("custom/plain@a")
    browser.wait("the table", 30, lambda: browser.open(url + "/") or "custom/plain" in browser.source())
    assert 'class="on"' not in browser.source(), "a script ran"
    remove("custom/plain@a")
    browser.wait("a reload without it", 30, lambda: browser.open(url + "/") or "custom/plain" not in browser.source())
    browser.close()


def dead(browser):
    """A daemon that does not answer is said, and forgotten when it does."""
    opened(browser, "/")
    os.kill(int(daemon), signal.SIGSTOP)
    try:
        browser.wait("a banner", 60, lambda: "has not answered" in browser.text())
    finally:
        os.kill(int(daemon), signal.SIGCONT)
    browser.wait("no banner", 60, lambda: "has not answered" not in browser.text())


def take(user, name, text=""):
    """As that user would, with a shell."""
    entry = pwd.getpwnam(user)
    subprocess.run(["sh", "-ec", 'touch "$1"; [ -z "$2" ] || printf %s "$2" >>"$1"', "sh", os.path.join(mount, name), text],
                   check=True, user=entry.pw_uid, group=entry.pw_gid, extra_groups=[])


def scene():
    """Something to look at."""
    vpc = "repos/acme/infra/-/modules/vpc/-/production"
    take("alice", "custom/deploy@build-17", "reason=release 2.4\nttl=45m\n")
    take("atlantis", vpc + "@pr:123", "reason=atlantis plan\n")
    take("bob", "repos/acme/infra/-/modules/db/-/staging@build-20", "reason=terraform apply\nttl=2h\n")
    take("atlantis", "repos/acme/web/-/./-/default@pr:88")
    take("backup", "custom/nightly-backup@cron", "ttl=90m\nreason=full dump of db-1\n")
    take("carol", "global/apply@release-2.4", "reason=frozen until Monday\n")
    take("bob", "queue/custom/deploy/high@build-18")
    take("carol", "queue/custom/deploy/normal@build-19")
    take("alice", "queue/" + vpc + "/normal@build-17")
    take("atlantis", "queue/repos/acme/infra/-/modules/db/-/staging/normal@pr:123")


def accessible(browser, where):
    with open(axe, encoding="utf-8") as file:
        browser.run(file.read())
    found = browser.run_async("const done = arguments[0]; axe.run().then(r => done(r.violations.map(v => "
                              "v.id + ': ' + v.nodes.map(n => n.html).join(' ').slice(0, 300))))")
    assert found == [], "%s: axe finds %s" % (where, found)


def looks(driver):
    for name, options in (("light", {}), ("dark", {"dark": True}), ("narrow", {"width": 500, "height": 900})):
        browser = driver.browser(**options)
        for path in ("/", "/lock?name=custom/deploy", "/graph", "/status", "/user?name=alice",
                     "/pull?repo=acme/infra&number=123", "/lock?name=none"):
            opened(browser, path)
            accessible(browser, name + " " + path)
            assert browser.run("return document.documentElement.scrollWidth <= innerWidth + 1"), name + path + " is too wide"
            page = {"/": "page", "/lock?name=custom/deploy": "page-lock", "/graph": "page-graph", "/status": "page-status"}.get(path)
            if page:
                browser.picture(os.path.join(pictures, "%s-%s.png" % (page, name)))
        browser.close()


def many(browser):
    """Ten thousand locks: the first paint within a second."""
    os.mkdir(os.path.join(mount, "custom/many"))
    for i in range(10000):
        touch("custom/many/lock-%05d@x" % i)
    browser.open(url + "/status")
    browser.wait("all of them", 60, lambda: browser.open(url + "/") or "10006 held" in browser.text())
    factor = slow(browser)
    times = sorted(paint(browser, "/") for _ in range(5))
    print("first paint with 10,000 locks: %s ms" % [int(1000 * t) for t in times])
    assert times[2] < factor
    # A server that nobody has asked for a while reads them first.
    browser.open("about:blank")
    time.sleep(3)
    first = paint(browser, "/")
    print("first paint after a while: %d ms" % (1000 * first))
    assert first < factor
    browser.picture(os.path.join(pictures, "page-many.png"))


def main():
    driver = Driver()
    try:
        browsers = [driver.browser(), driver.browser()]
        watch(browsers)
        browsers[1].close()
        hostile(browsers[0])
        filters(browsers[0])
        plain(driver)
        dead(browsers[0])
        scene()
        looks(driver)
        many(browsers[0])
    finally:
        driver.close()


main()
