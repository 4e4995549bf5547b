#!/usr/bin/env python3
"""Tests of the chat page of `hilo serve` in a real browser: Chromium without a window, by its debugging protocol.

The browser is $HILO_BROWSER, or the first of chromium, chromium-headless-shell and google-chrome on the path; without one the test
is skipped.
"""
import contextlib
import fcntl
import json
import os
import pathlib
import select
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).parent))
from run import MODEL, PATIENCE, Server  # noqa: E402

BROWSERS = ("chromium", "chromium-headless-shell", "google-chrome")


class Page:
    """A page of a browser that runs as long as this object is open. Messages go through a pipe, each ends with a zero byte."""

    def __init__(self, browser, url):
        self.profile = tempfile.TemporaryDirectory(ignore_cleanup_errors=True)
        pipes = os.pipe() + os.pipe()
        to_read, self.to, self.come, from_write = [fcntl.fcntl(fd, fcntl.F_DUPFD_CLOEXEC, 10) for fd in pipes]
        for fd in pipes:
            os.close(fd)

        def place():  # where the protocol has them
            os.dup2(to_read, 3)
            os.dup2(from_write, 4)
        self.process = subprocess.Popen(
            [browser, "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--remote-debugging-pipe", f"--user-data-dir={self.profile.name}"],
            preexec_fn=place, close_fds=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(to_read)
        os.close(from_write)
        self.rest, self.number, self.session = b"", 0, None
        target = self.call("Target.createTarget", url=url)["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        os.close(self.to)
        os.close(self.come)
        self.profile.cleanup()

    def call(self, method, **params):
        self.number += 1
        message = {"id": self.number, "method": method, "params": params}
        if self.session:
            message["sessionId"] = self.session
        os.write(self.to, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self.rest:
                assert select.select([self.come], [], [], PATIENCE / 4)[0], f"{method}: the browser does not answer"
                piece = os.read(self.come, 1 << 16)
                assert piece, "the browser has ended"
                self.rest += piece
            text, self.rest = self.rest.split(b"\0", 1)
            answer = json.loads(text)
            if answer.get("id") == self.number:
                assert "result" in answer, answer
                return answer["result"]

    def js(self, expression):
        r = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in r, r
        return r["result"].get("value")

    def wait(self, expression):
        end = time.time() + PATIENCE / 4
        while not self.js(expression):
            assert time.time() < end, f"{expression}: not in {PATIENCE // 4} s; the page: {self.js('document.body.innerText')}"
            time.sleep(0.02)

    def click(self, element):
        box = self.js(f"(() => {{ const e = document.getElementById('{element}'); e.scrollIntoView();"
                      " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()")
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=box[0], y=box[1], button="left", clickCount=1)

    def type(self, element, text, enter=False):
        self.click(element)
        self.call("Input.insertText", text=text)
        for kind in ("keyDown", "keyUp") if enter else ():
            self.call("Input.dispatchKeyEvent", type=kind, key="Enter", code="Enter", windowsVirtualKeyCode=13, text="\r")

    def texts(self, kind):
        return self.js(f"[...document.querySelectorAll('#log .{kind}')].map(e => e.textContent)")


@contextlib.contextmanager
def endless():
    """The model of the tests with no token that ends a text, and with room for a long one: answers last until they are
    stopped."""
    with tempfile.TemporaryDirectory() as d:
        d = pathlib.Path(d) / "endless"
        d.mkdir()
        for file in ("model.safetensors", "tokenizer.json", "tokenizer_config.json"):
            (d / file).symlink_to(MODEL / file)
        config = json.loads((MODEL / "config.json").read_text())
        (d / "config.json").write_text(json.dumps(config | {"eos_token_id": None, "max_position_embeddings": 1 << 17}))
        yield d


def test_chat(browser):
    """A message is sent by Enter or the button; the answer appears while it is written, and ends when it is stopped or the
    conversation is cleared."""
    with endless() as long, Server("--no-warmup", "--threads", "1", models=(MODEL, long)) as s, \
            Page(browser, f"http://127.0.0.1:{s.port}/") as page:
        page.wait("document.getElementById('model') && document.getElementById('model').value === 'tiny-llama'")
        assert page.js("document.title") == "hilo"
        page.type("text", "What is <b>this</b>?", enter=True)
        page.wait("document.querySelectorAll('#log .user').length === 1")
        assert page.texts("user") == ["What is <b>this</b>?"] and page.js("document.querySelector('#log b')") is None
        page.wait("!document.getElementById('send').disabled")
        assert s.idle() and s.ended("stop") + s.ended("length") == 1 and not page.texts("error")

        page.js("document.getElementById('model').value = 'endless'")
        page.type("text", "Write on.")
        page.click("send")
        page.wait("document.querySelectorAll('#log .user').length === 2")
        stop = "(() => { const r = document.getElementById('stop').getBoundingClientRect(); return [r.x, r.y]; })()"
        place = page.js(stop)
        for more in range(3):  # it grows
            before = len(page.texts("assistant")[-1]) if more else 0
            page.wait("document.querySelector('#log').lastChild.className === 'assistant' &&"
                      f" document.querySelector('#log').lastChild.textContent.length > {before}")
        assert page.js("document.getElementById('send').disabled") and s.ended("cancelled") == 0
        page.wait("document.getElementById('log').scrollHeight > innerHeight")  # more than fits, and the end of it is seen
        page.wait("document.getElementById('log').scrollTop > 0")
        assert page.js(stop) == place, "a button moves while an answer grows"
        page.click("stop")
        page.wait("!document.getElementById('send').disabled")
        assert s.idle() and s.ended("cancelled") == 1 and not page.texts("error")

        page.type("text", "Write on.", enter=True)
        page.wait("document.querySelector('#log').lastChild.className === 'assistant'")
        page.click("clear")  # ends the answer, too, and forgets it
        page.wait("!document.getElementById('send').disabled")
        assert s.idle() and s.ended("cancelled") == 2
        assert page.js("document.getElementById('log').childElementCount") == page.js("messages.length") == 0


def test_key(browser):
    """Errors are shown, and an API key is sent."""
    with Server("--no-warmup", "--api-key", "secret") as s, Page(browser, f"http://127.0.0.1:{s.port}/") as page:
        page.wait("document.getElementById('text') && document.readyState === 'complete'")
        page.type("text", "hello", enter=True)
        page.wait("document.querySelectorAll('#log .error').length === 1")
        assert page.texts("error") == ["the API key is missing or wrong"]
        page.type("key", "secret")
        page.click("text")
        page.wait("document.getElementById('model').value === 'tiny-llama'")
        page.type("text", "hello", enter=True)
        page.wait("!document.getElementById('send').disabled")
        assert len(page.texts("user")) == 2 and len(page.texts("error")) == 1


def main():
    browser = os.environ.get("HILO_BROWSER") or next(filter(None, map(shutil.which, BROWSERS)), None)
    if not browser:
        print(f"skipped: no browser ({', '.join(BROWSERS)}, or HILO_BROWSER)\n0 passed, 0 failed, 1 skipped")
        return 0
    for test in (test_chat, test_key):
        begin = time.time()
        test(browser)
        print(f"passed: {test.__name__}, {time.time() - begin:.1f} s", flush=True)
    print("2 passed, 0 failed")
    return 0


if __name__ == "__main__":
    sys.exit(main())
