"""Drives a headless Chromium by WebDriver, with nothing but Python's own library: for tests/page/check.py."""
import base64
import json
import subprocess
import tempfile
import time
import urllib.request

ELEMENT = "element-6066-11e4-a52e-4f735466cecf"


class Driver:
    """chromedriver on a port of its own."""

    def __init__(self):
        self.log = tempfile.NamedTemporaryFile()
        self.browsers = []
        self.process = subprocess.Popen(["chromedriver", "--port=0"], stdout=subprocess.PIPE, stderr=self.log, text=True)
        for line in self.process.stdout:
            if "successfully on port" in line:
                self.url = "http://127.0.0.1:%d" % int(line.split("on port")[1].strip().rstrip("."))
                return
        raise RuntimeError("chromedriver did not start")

    def close(self):
        for browser in self.browsers:
            browser.close()
        self.process.terminate()
        self.process.wait(20)

    def browser(self, **options):
        self.browsers.append(Browser(self.url, **options))
        return self.browsers[-1]


class Browser:
    def __init__(self, url, width=1200, height=800, dark=False, script=True):
        self.directory = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        arguments = ["--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
                     "--disable-background-networking", "--disable-component-update", "--disable-sync", "--disable-quic",
                     "--window-size=%d,%d" % (width, height), "--user-data-dir=" + self.directory.name]
        if dark:
            arguments.append("--blink-settings=preferredColorScheme=0")
        prefs = {} if script else {"profile.managed_default_content_settings.javascript": 2}
        self.url = url
        answer = self.call("POST", "/session", {"capabilities": {"alwaysMatch": {
            "goog:chromeOptions": {"args": arguments, "prefs": prefs}}}})
        self.session = "/session/" + answer["sessionId"]

    def call(self, method, path, body=None):
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(self.url + path, data=data, method=method,
                                         headers={"Content-Type": "application/json"})
        try:
            with urllib.request.urlopen(request, timeout=120) as reply:
                return json.load(reply)["value"]
        except urllib.error.HTTPError as error:
            raise RuntimeError(error.read().decode()[:500]) from None

    def close(self):
        if self.session is not None:
            self.call("DELETE", self.session)
        self.session = None
        self.directory.cleanup()

    def open(self, url):
        self.call("POST", self.session + "/url", {"url": url})

    def run(self, script, *arguments):
        return self.call("POST", self.session + "/execute/sync", {"script": script, "args": list(arguments)})

    def run_async(self, script, *arguments):
        return self.call("POST", self.session + "/execute/async", {"script": script, "args": list(arguments)})

    def source(self):
        return self.call("GET", self.session + "/source")

    def text(self):
        return self.run("return document.body.innerText")

    def type(self, selector, text):
        found = self.call("POST", self.session + "/element", {"using": "css selector", "value": selector})
        self.call("POST", self.session + "/element/%s/value" % found[ELEMENT], {"text": text})

    def press(self, key):
        self.call("POST", self.session + "/actions", {"actions": [{"type": "key", "id": "keyboard", "actions": [
            {"type": "keyDown", "value": key}, {"type": "keyUp", "value": key}]}]})

    def picture(self, path):
        with open(path, "wb") as file:
            file.write(base64.b64decode(self.call("GET", self.session + "/screenshot")))

    def wait(self, what, seconds, condition):
        """Polls until condition() is true; returns how long it took."""
        begin = time.monotonic()
        while not condition():
            if time.monotonic() - begin > seconds:
                raise AssertionError("not within %s s: %s; the page says: %s" % (seconds, what, self.text()[:2000]))
            time.sleep(0.02)
        return time.monotonic() - begin
