"""What the server's tests share: starting `inmo serve` on a free port, asking it, small logs and models.

INMO_PROGRAM names the program; INMO_SLOW (a factor) stretches time limits for builds with sanitizers.
"""

import concurrent.futures
import http.client
import json
import os
import pathlib
import signal
import subprocess
import time
import urllib.parse

import pytest

PROGRAM = os.environ.get("INMO_PROGRAM", str(pathlib.Path(__file__).resolve().parents[2] / "build" / "inmo"))
SLOW = float(os.environ.get("INMO_SLOW", "1"))


def run(*words, **more):
    """The program, which must succeed; what it printed."""
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=300 * SLOW, check=False, **more)
    assert done.returncode == 0, f"inmo {' '.join(map(str, words))}: {done.stderr}"
    return done.stdout


def together(works):
    """Runs each of the functions on a thread of its own, all at once; what they raised is raised."""
    with concurrent.futures.ThreadPoolExecutor(len(works)) as pool:
        for done in [pool.submit(work) for work in works]:
            done.result()


def patch_together(servers, item, times=20):
    """Each of six clients adds its categories to one item, and another field changes all the while: nothing is lost."""

    def add(server, name):
        connection = server.connect()
        for n in range(times):
            connection.request("PUT", f"/api/item/{item}/category/{name}-{n}")
            answer = connection.getresponse()
            assert answer.read() and answer.status == 200

    def comment(server):
        connection = server.connect()
        for n in range(times):
            connection.request("PATCH", f"/api/item/{item}", json.dumps({"Comment": f"comment {n}"}))
            answer = connection.getresponse()
            assert answer.read() and answer.status == 200

    together([lambda n=n: add(servers[n % len(servers)], n) for n in range(6)] + [lambda: comment(servers[-1])])
    found = servers[0].get(f"/api/item/{item}")
    assert sorted(found["Categories"]) == sorted(f"{name}-{n}" for name in range(6) for n in range(times))
    assert found["Comment"] == f"comment {times - 1}"


def quoted(text):
    return urllib.parse.quote(text, safe="")


class Server:
    """A running server. ask() is one request on a kept connection; connections are per thread: make one by connect()."""

    def __init__(self, folder, *words, env=None, wait=True, store="store.db"):
        self.folder = pathlib.Path(folder)
        self.store = store if "://" in str(store) else self.folder / store
        self.log = self.folder / "server.log"
        self.words = [PROGRAM, "serve", "--store", str(self.store), "--port", "0", *map(str, words)]
        self.env = {**os.environ, "OMP_WAIT_POLICY": "passive", **(env or {})}
        self.connection = None
        self.start(wait)

    def start(self, wait=True):
        with open(self.log, "ab") as log:
            self.process = subprocess.Popen(self.words, stdout=subprocess.PIPE, stderr=log, env=self.env, cwd=self.folder)
        if wait:
            line = self.process.stdout.readline().decode().strip()
            assert line.startswith("http"), f"the server did not start: {self.log.read_text()}"
            self.address = line
            self.host, self.port = line.split("//")[1].rsplit(":", 1)
            self.port = int(self.port)
        return self

    def connect(self, timeout=60):
        return http.client.HTTPConnection(self.host, self.port, timeout=timeout * SLOW)

    def ask(self, method, path, body=None, key=None, raw=None, headers=None):
        """(status, parsed answer)"""
        send = raw if raw is not None else None if body is None else json.dumps(body).encode()
        more = {**({"X-API-Key": key} if key else {}), **(headers or {})}
        for again in (0, 1):
            if not self.connection:
                self.connection = self.connect()
            try:
                self.connection.request(method, path, send, more)
                answer = self.connection.getresponse()
                text = answer.read()
                break
            except (http.client.HTTPException, ConnectionError, OSError):
                self.connection.close()
                self.connection = None
                if again:
                    raise
        self.headers = answer.headers
        if answer.headers.get("Connection") == "close":
            self.connection.close()
            self.connection = None
        try:
            return answer.status, json.loads(text) if text else None
        except ValueError:
            return answer.status, text.decode()

    def get(self, path, **more):
        status, answer = self.ask("GET", path, **more)
        assert status == 200, (path, status, answer)
        return answer

    def post(self, path, body, **more):
        status, answer = self.ask("POST", path, body, **more)
        assert status == 200, (path, status, answer)
        return answer

    def feedback(self, *rows, kind="like"):
        return self.post("/api/feedback", [{"FeedbackType": kind, "UserId": u, "ItemId": i, "Timestamp": "2024-01-01T00:00:00Z"}
                                           for u, i in rows])["RowAffected"]

    def kill(self):
        self.process.send_signal(signal.SIGKILL)
        self.process.wait()
        self.connection = None

    def stop(self, expected=0):
        if self.process.poll() is None:
            self.process.send_signal(signal.SIGTERM)
        code = self.process.wait(timeout=60 * SLOW)
        self.process.stdout.close()
        assert expected is None or code == expected, self.log.read_text()
        return code

    def wait_for(self, what, seconds=120):
        until = time.monotonic() + seconds * SLOW
        while time.monotonic() < until:
            found = what()
            if found:
                return found
            time.sleep(0.05)
        raise AssertionError(f"waited {seconds} s in vain; {self.log.read_text()[-3000:]}")


@pytest.fixture
def serve(tmp_path):
    """serve(words...) starts a server; all of them are stopped at the end, and must end well."""
    running = []

    def start(*words, **more):
        folder = more.pop("folder", tmp_path)
        running.append(Server(folder, *words, **more))
        return running[-1]

    yield start
    try:
        for server in running:
            if server.process.poll() is None:
                server.stop()
    finally:  # one that does not end well leaves no other behind
        for server in running:
            if server.process.poll() is None:
                server.process.kill()


@pytest.fixture(scope="session")
def world(tmp_path_factory):
    """A synthetic log and models trained on it: world/log.tsv, world/NAME.inmo."""
    folder = tmp_path_factory.mktemp("world")
    run("synth", "--interactions", 6000, "--seed", 3, "-o", folder / "log.tsv", "--quiet")
    run("prepare", folder / "log.tsv", "-o", folder / "data", "--quiet")

    def model(name):
        path = folder / f"{name}.inmo"
        if not path.exists():
            steps = [] if name in ("item-knn", "popular") else ["--dim", 16]
            steps += ["--epochs", 3] if name in ("inmo-lightgcn", "inmo-mf", "ials", "mf") else []
            run("train", folder / "data", "--model", name, *steps, "-o", path, "--quiet")
        return path

    return type("World", (), {"folder": folder, "log": folder / "log.tsv", "data": folder / "data", "model": staticmethod(model)})
