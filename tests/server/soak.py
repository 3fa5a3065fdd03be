#!/usr/bin/env python3
"""soak.py - a mixed load on one server, and its memory over that time, which must stay flat.

    python3 tests/server/soak.py PROGRAM [SECONDS]

Six clients recommend, explain, search and page, write single events and batches, delete what they wrote, and forget people,
so that the store stays of one size; the view refreshes, a model is trained and swapped now and then. No answer may be a
fault. SECONDS begin when a model has been trained and is in use, because a server without one needs less. The memory (VmRSS +
swap) of the last third must not be more than that of the middle third by over 3 % and 4 MB: the first third is for the store
and for caches, which fill. In a run of less than ten minutes a third may hold one training more than another: 8 MB.
"""
import http.client
import json
import pathlib
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time

from check_page import run

# Of 40 people some are forgotten every second, so the store soon is as large as it gets.
CLIENTS, PEOPLE, ITEMS = 6, 40, 300
MOST_UNTIL_MODEL = 120  # seconds
MODEL_IS_USED = (", and is used", "it is used from now on")  # the first one, and each that replaces another


def memory(pid):
    found = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status", encoding="utf-8"))
    return sum(int(found[name].split()[0]) for name in ("VmRSS", "VmSwap")) * 1024


def within(seconds, is_so):
    """Waits until something is so; whether it came to that."""
    end = time.monotonic() + seconds
    while not is_so() and time.monotonic() < end:
        time.sleep(0.1)
    return is_so()


class Client(threading.Thread):
    """One connection; the events of its people are its own, so that it knows what must be there."""

    def __init__(self, number, host, port):
        super().__init__()
        self.number, self.host, self.port, self.ended = number, host, port, threading.Event()
        self.chance, self.asked, self.wrong, self.mine = random.Random(number), 0, [], set()

    def ask(self, method, path, body=None, fine=(200,)):
        self.connection.request(method, path, None if body is None else json.dumps(body))
        answer = self.connection.getresponse()
        text = answer.read()
        self.asked += 1
        if answer.status not in fine:
            self.wrong.append((method, path, answer.status, text[:200]))
        return json.loads(text) if answer.status == 200 else None

    def step(self):
        chance, user = self.chance, f"soak{self.number}-{self.chance.randrange(PEOPLE)}"
        kind = chance.randrange(100)
        if kind < 55:
            self.ask("GET", f"/api/recommend/{chance.choice((user, f'u{chance.randrange(1, 200):03d}'))}?n=20")
        elif kind < 75:
            rows = [(user, f"soak-i{chance.randrange(ITEMS)}") for _ in range(1 if kind < 70 else 40)]
            self.ask("POST", "/api/feedback", [{"FeedbackType": "like", "UserId": u, "ItemId": i, "Timestamp": ""} for u, i in rows])
            self.mine.update(rows)
        elif kind < 85 and self.mine:
            u, i = chance.choice(sorted(self.mine)[:50])
            self.ask("DELETE", f"/api/feedback/like/{u}/{i}")
            self.mine.discard((u, i))
        elif kind < 87:
            self.ask("DELETE", f"/api/user/{user}")
            self.mine = {pair for pair in self.mine if pair[0] != user}
        elif kind < 90:
            self.ask("POST", "/api/recommend", {"items": ["jazz-01", "jazz-02"], "n": 5, "explain": 2})
        elif kind < 93:
            self.ask("GET", "/api/item/jazz-01/neighbors?n=5")
        elif kind < 95:
            self.ask("GET", "/api/search?q=jazz")
        elif kind < 97:
            self.ask("GET", "/api/feedback?n=100")
        elif kind < 99:
            self.ask("GET", "/api/popular?n=10")
        else:
            self.ask("POST", "/api/feedback", [{"FeedbackType": "like"}], fine=(400,))

    def run(self):
        self.connection = http.client.HTTPConnection(self.host, self.port, timeout=120)
        try:
            while not self.ended.is_set() and not self.wrong:
                self.step()
            for user in sorted({pair[0] for pair in self.mine})[:20]:
                found = {row["ItemId"] for row in self.ask("GET", f"/api/user/{user}/feedback?n=1000")}
                if found != {i for u, i in self.mine if u == user}:
                    self.wrong.append((user, sorted(found), "is not what was acknowledged"))
        except (OSError, http.client.HTTPException) as problem:
            self.wrong.append(repr(problem))


def main():
    if len(sys.argv) not in (2, 3):
        print(__doc__, file=sys.stderr)
        return 2
    program, seconds = str(pathlib.Path(sys.argv[1]).resolve()), float(sys.argv[2]) if len(sys.argv) > 2 else 3600.0
    with tempfile.TemporaryDirectory(prefix="inmo-soak-") as name:
        work = pathlib.Path(name)
        run(program, "synth", "--interactions", "6000", "--seed", "3", "-o", str(work / "log.tsv"), "--quiet")
        with open(work / "server.log", "wb") as log:
            server = subprocess.Popen([program, "serve", "--log", str(work / "log.tsv"), "--store", str(work / "store.db"), "--port", "0",
                                       "--refresh", "2", "--train=--dim 16 --epochs 1", "--first-events", "1000", "--idle-seconds", "3600",
                                       "--retrain-seconds", str(max(5.0, seconds / 60))],
                                      stdout=subprocess.PIPE, stderr=log, text=True)
        host, port = server.stdout.readline().strip().split("//")[1].rsplit(":", 1)
        clients = [Client(n, host, int(port)) for n in range(CLIENTS)]
        for client in clients:
            client.start()
        goes_on = lambda: all(client.is_alive() for client in clients) and server.poll() is None
        is_used = lambda: MODEL_IS_USED[0] in (work / "server.log").read_text(encoding="utf-8")
        has_model = within(MOST_UNTIL_MODEL, lambda: not goes_on() or is_used()) and is_used()
        began, samples, asked_before = time.monotonic(), [], sum(client.asked for client in clients)
        while has_model and goes_on() and time.monotonic() < began + seconds:
            samples.append((time.monotonic() - began, memory(server.pid)))
            time.sleep(min(5.0, seconds / 60))
        is_whole = time.monotonic() >= began + seconds
        asked = sum(client.asked for client in clients) - asked_before
        for client in clients:
            client.ended.set()
        for client in clients:
            client.join()
        server.send_signal(signal.SIGTERM)
        ended = server.wait(120)
        server.stdout.close()
        said = (work / "server.log").read_text(encoding="utf-8")
        models, said = sum(said.count(used) for used in MODEL_IS_USED), said[-3000:]
    third = [[bytes_ for at, bytes_ in samples if n <= 3 * at / seconds < n + 1] for n in range(3)]
    first, middle, last = (statistics.median(part) / 1e6 if part else 0 for part in third)
    wrong = [problem for client in clients for problem in client.wrong]
    print(f"soak: {seconds:.0f} s, {asked} requests ({asked / seconds:.0f}/s), {models} models put in use; memory in MB by thirds (medians): "
          f"{first:.1f}, {middle:.1f}, {last:.1f}; most {max((b for _, b in samples), default=0) / 1e6:.1f}")
    if wrong or ended:
        print(f"soak: FAILED: the server ended with {ended}; {len(wrong)} wrong answers, the first: {wrong[:3]}\n{said}")
        return 1
    if not has_model:
        print(f"soak: FAILED: no model was in use after {MOST_UNTIL_MODEL} s\n{said}")
        return 1
    if not is_whole:
        print(f"soak: FAILED: it ended after {samples[-1][0] if samples else 0:.0f} s, as a client did\n{said}")
        return 1
    if last > 1.03 * middle + (4 if seconds >= 600 else 8):
        print(f"soak: FAILED: memory grew from {middle:.1f} MB to {last:.1f} MB")
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
