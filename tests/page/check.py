"""check.py URL MOUNT AXE PICTURES: two browsers watch locks come and go; accessibility; pictures; ten thousand locks."""
import os
import sys
import time

sys.path.insert(0, os.path.dirname(__file__))
from browser import Driver

url, mount, axe, pictures = sys.argv[1:5]
SLOW = float(os.environ.get("TIME_FACTOR", "1"))


def touch(*names):
    for name in names:
        os.close(os.open(os.path.join(mount, name), os.O_WRONLY | os.O_CREAT, 0o644))


def remove(name):
    os.unlink(os.path.join(mount, name))


def watch(browsers):
    """Each change is seen by both within a second."""
    def both(what, text, there=True):
        for browser in browsers:
            took = browser.wait(what, 10 * SLOW, lambda b=browser: (text in b.text()) == there)
            print("%-28s %4d ms" % (what, took * 1000))
            assert took < 1 * SLOW, what

    for browser in browsers:
        browser.open(url + "/")
        browser.wait("the page is live", 20 * SLOW, lambda b=browser: "live" in b.text())
    touch("custom/deploy@build-1")
    both("taken", "@build-1")
    touch("queue/custom/deploy/high@build-2")
    for browser in browsers:
        browser.open(url + "/lock?name=custom/deploy")
    both("queued", "@build-2")
    for browser in browsers:
        browser.open(url + "/")
        browser.wait("the page is live", 20 * SLOW, lambda b=browser: "live" in b.text())
    remove("custom/deploy@build-1")
    both("handed over", "@build-2")
    remove("custom/deploy@build-2")
    both("released", "custom/deploy", False)


def hostile(browser):
    """A name that is a script is text."""
    touch("custom/<img src=x onerror=alert(1)>@x")
    for path in "/", "/lock?name=custom/%3Cimg%20src%3Dx%20onerror%3Dalert(1)%3E":
        browser.open(url + path)
        browser.wait("the name as text", 10 * SLOW, lambda: "<img src=x onerror=alert(1)>" in browser.text())
        assert browser.run("return document.querySelectorAll('main img').length") == 0
    remove("custom/<img src=x onerror=alert(1)>@x")


def filters(browser):
    """While one types, from the keyboard alone."""
    touch("custom/alpha@a", "custom/beta@b")
    browser.open(url + "/")
    browser.wait("both", 10 * SLOW, lambda: "custom/alpha" in browser.text() and "custom/beta" in browser.text())
    browser.press("/")
    assert browser.run("return document.activeElement.id") == "q"
    browser.type("#q", "alp")
    browser.wait("one", 10 * SLOW, lambda: "custom/beta" not in browser.text() and "custom/alpha" in browser.text())
    assert browser.run("return document.getElementById('q').value") == "alp", "typing was disturbed"
    assert "q=alp" in browser.run("return location.search"), "no deep link"
    remove("custom/alpha@a")
    remove("custom/beta@b")


def scene():
    """Something to look at."""
    touch("custom/deploy@build-17", "repos/acme/infra/-/modules/vpc/-/production@pr:123", "global/apply@release-2.4",
          "repos/acme/infra/-/modules/db/-/staging@build-20")
    for name, text in (("custom/deploy@build-17", "reason=release 2.4\n"), ("global/apply@release-2.4", "reason=frozen until Monday\n")):
        with open(os.path.join(mount, name), "a", encoding="utf-8") as file:
            file.write(text)
    touch("queue/custom/deploy/high@build-18", "queue/custom/deploy/normal@build-19",
          "queue/repos/acme/infra/-/modules/vpc/-/production/normal@build-17")


def accessible(browser, where):
    with open(axe, encoding="utf-8") as file:
        browser.run(file.read())
    found = browser.run_async("const done = arguments[0]; axe.run().then(r => done(r.violations.map(v => "
                              "v.id + ': ' + v.nodes.map(n => n.html).join(' ').slice(0, 300))))")
    assert found == [], "%s: axe finds %s" % (where, found)


def looks(driver):
    for name, options in (("light", {}), ("dark", {"dark": True}), ("narrow", {"width": 500, "height": 800})):
        browser = driver.browser(**options)
        for path in "/", "/lock?name=custom/deploy", "/graph", "/status", "/user?name=root", "/nothing":
            browser.open(url + path)
            if path != "/nothing":
                browser.wait(path, 10 * SLOW, lambda b=browser: b.run("return document.querySelector('h1') !== null"))
                accessible(browser, name + " " + path)
            assert browser.run("return document.documentElement.scrollWidth <= innerWidth + 1"), name + path + " is too wide"
        browser.open(url + "/")
        browser.wait("the page is live", 20 * SLOW, lambda b=browser: "live" in b.text())
        browser.picture(os.path.join(pictures, "page-%s.png" % name))
        browser.close()


def many(browser):
    """Ten thousand locks: the first paint within a second."""
    os.mkdir(os.path.join(mount, "custom/many"))
    for i in range(10000):
        touch("custom/many/lock-%05d@x" % i)
    browser.open(url + "/status")
    time.sleep(3)
    times = []
    for _ in range(5):
        browser.open(url + "/")
        browser.wait("paint", 10 * SLOW, lambda: browser.run("return performance.getEntriesByType('paint').length > 0"))
        times.append(browser.run("return performance.getEntriesByType('paint').at(-1).startTime"))
    print("first paint with 10,000 locks: %s ms" % sorted(int(t) for t in times))
    assert sorted(times)[2] < 1000 * SLOW
    assert "10004 held" in browser.text(), browser.text()[:200]
    browser.picture(os.path.join(pictures, "page-many.png"))


def main():
    driver = Driver()
    try:
        browsers = [driver.browser(), driver.browser()]
        watch(browsers)
        hostile(browsers[0])
        filters(browsers[0])
        scene()
        looks(driver)
        many(browsers[0])
    finally:
        driver.close()


main()
