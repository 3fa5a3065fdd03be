#!/usr/bin/env python3
"""serve.py - how fast `inmo serve` is, beside what it is made of.

    bench/serve.py DATA [--build build] [--work DIR] [--rounds 3] [--seconds 8]

DATA is a folder with gowalla.tsv.zst (user, item, split), or such a log. A model is trained for 3 epochs (it serves as fast
as one of 1000) on 99 % of it, as a server that trains itself would. Needs wrk (tools/setup.sh bench). The load comes from the
same cores. In each round, one after the other:

    lists     bench_lists: the library alone, random users, on as many threads as the server has
    empty     bench_http: libmicrohttpd with a handler that does nothing and an answer of the same size, 32 connections
    served    GET /api/recommend/{user}?n=20, random users, 32 connections
    half      the latency at half that load, from the moment a request is due (bench_pace)
    fresh     from an acknowledged event to the changed list of its user, one after the other
    events    POST /api/feedback of one event each, 64 connections; and of 1,000 each, 8 connections

A request costs what its parts cost one after the other, so the two parts allow 1 / (1 / lists + 1 / empty). Each round begins
with the start on a store of the log's million events. Prints each round, and the medians as JSON. On a busy machine,
`chrt -f 1 bench/serve.py ...` keeps the others out.
"""
import argparse
import json
import os
import pathlib
import re
import shutil
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.request

USERS, ITEMS = 29858, 40981

RECOMMEND = """
local users = %d
function setup(thread) thread:set("seed", math.random(1e9)) end
function init() math.randomseed(seed) end
function request() return wrk.format("GET", "/api/recommend/" .. math.random(0, users - 1) .. "?n=20") end
function done(summary) io.write(string.format("WRONG %%d\\n", summary.errors.status + summary.errors.connect + summary.errors.read)) end
"""

# Events that have not been sent before: random people and items, of which there are a billion pairs.
EVENTS = """
local users, items, rows = %d, %d, %d
function setup(thread) thread:set("seed", math.random(1e9) + %d) end
function init() math.randomseed(seed) end
function request()
    local body = {}
    for n = 1, rows do
        body[n] = '{"FeedbackType":"like","UserId":"' .. math.random(0, users - 1) .. '","ItemId":"' .. math.random(0, items - 1) ..
            '","Timestamp":"2024-01-01T00:00:00Z"}'
    end
    return wrk.format("POST", "/api/feedback", nil, "[" .. table.concat(body, ",") .. "]")
end
function done(summary) io.write(string.format("WRONG %%d\\n", summary.errors.status + summary.errors.connect + summary.errors.read)) end
"""


def say(*words):
    print(*words, flush=True)


def run(*words, **more):
    return subprocess.run([str(word) for word in words], check=True, capture_output=True, text=True, **more).stdout


def memory(pid):
    found = dict(line.split(":", 1) for line in open(f"/proc/{pid}/status", encoding="utf-8"))
    return int(found["VmRSS"].split()[0]) * 1024


def load():
    """How busy the machine is with other things: the share of its time that was not idle in half a second of waiting."""
    def times():
        fields = [int(word) for word in open("/proc/stat", encoding="utf-8").readline().split()[1:]]
        return sum(fields), fields[3] + fields[4]
    all_before, idle_before = times()
    time.sleep(0.5)
    all_after, idle_after = times()
    return 1 - (idle_after - idle_before) / max(1, all_after - all_before)


class Process:
    """A server that prints its address."""

    def __init__(self, *words, log=subprocess.DEVNULL):
        self.began = time.monotonic()
        self.process = subprocess.Popen([str(word) for word in words], stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=log, text=True,
                                        env={**os.environ, "OMP_WAIT_POLICY": "passive"})
        self.address = self.process.stdout.readline().strip()
        if not self.address.startswith("http"):
            sys.exit(f"serve.py: {words[0]} did not start")
        self.port = int(self.address.rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self.process.stdout.close()

    def ready(self):
        while True:
            try:
                with urllib.request.urlopen(f"{self.address}/api/health/ready", timeout=5) as answer:
                    if answer.status == 200:
                        return time.monotonic() - self.began
            except OSError:
                time.sleep(0.005)


def wrk(work, server, script, connections, seconds):
    """Requests a second, and wrk's own percentiles."""
    path = work / "load.lua"
    path.write_text(script, encoding="utf-8")
    said = run("wrk", "-t2", f"-c{connections}", f"-d{seconds}s", "--latency", "-s", path, server.address)
    if int(re.search(r"WRONG (\d+)", said).group(1)):
        sys.exit(f"serve.py: requests failed: {said}")
    return float(re.search(r"Requests/sec:\s*([0-9.]+)", said).group(1))


class Wire:
    """One kept connection, as thin as it can be."""

    def __init__(self, server):
        self.socket = socket.create_connection(("127.0.0.1", server.port))
        self.socket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def ask(self, method, path, body=b""):
        self.socket.sendall(b"%s %s HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n%s" % (method, path, len(body), body))
        got = b""
        while True:
            got += self.socket.recv(65536)
            head, _, rest = got.partition(b"\r\n\r\n")
            length = re.search(rb"(?i)content-length: (\d+)", head)
            if length and len(rest) >= int(length.group(1)):
                return json.loads(rest)


def fresh(server, times):
    """Medians: the event until it is acknowledged, and from there to the changed list; both in seconds."""
    wire, write, read = Wire(server), [], []
    for n in range(times):
        user = b"fresh%d" % (n % 50)
        before = wire.ask(b"GET", b"/api/recommend/%s?n=20" % user)
        began = time.perf_counter()
        done = wire.ask(b"POST", b"/api/feedback", json.dumps([{"FeedbackType": "like", "UserId": user.decode(), "ItemId": before[0],
                                                                "Timestamp": ""}]).encode())
        acknowledged = time.perf_counter()
        after = wire.ask(b"GET", b"/api/recommend/%s?n=20" % user)
        read.append(time.perf_counter() - acknowledged)
        write.append(acknowledged - began)
        if done != {"RowAffected": 1} or before[0] in after or after == before:
            sys.exit(f"serve.py: the list did not change: {done}, {before}, {after}")
    return statistics.median(write), statistics.median(read), sorted(read)[len(read) * 99 // 100]


def fdatasync(work, times=200):
    """Median seconds of 4 KB written over what is there, and fdatasync: what a log that is used again costs."""
    with open(work / "sync", "wb", buffering=0) as stream:
        took = []
        stream.write(b"x" * 4096)
        os.fsync(stream.fileno())
        for _ in range(times):
            began = time.perf_counter()
            os.pwrite(stream.fileno(), b"x" * 4096, 0)
            os.fdatasync(stream.fileno())
            took.append(time.perf_counter() - began)
    return statistics.median(took)


def copy_store(source, target):
    for path in target.parent.glob(target.name + "*"):
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    shutil.copy(source, target)


def main():
    options = argparse.ArgumentParser(usage=__doc__)
    options.add_argument("data", type=pathlib.Path)
    options.add_argument("--build", type=pathlib.Path, default=pathlib.Path("build"))
    options.add_argument("--work", type=pathlib.Path)
    options.add_argument("--rounds", type=int, default=3)
    options.add_argument("--seconds", type=int, default=8)
    options = options.parse_args()
    build, threads = options.build.resolve(), os.cpu_count()
    if not shutil.which("wrk"):
        sys.exit("serve.py: wrk is missing; tools/setup.sh bench installs it")
    work = options.work or pathlib.Path(tempfile.mkdtemp(prefix="inmo-bench-serve-", dir=build))
    work.mkdir(parents=True, exist_ok=True)
    log = options.data / "gowalla.tsv.zst" if options.data.is_dir() else options.data
    inmo, model, full = build / "inmo", work / "model.inmo", work / "full.db"

    if not model.exists():
        say("preparing and training (3 epochs)")
        run(inmo, "prepare", log, "--columns", "user,item,-", "--split", "94/5/1", "-o", work / "data", "--force", "--quiet")
        run(inmo, "train", work / "data", "--epochs", "3", "-o", model, "--quiet")
    if not full.exists():
        say("a store of all the log's interactions")
        plain = work / "log.tsv"
        plain.write_bytes(subprocess.run(["zstd", "-dc", str(log)], check=True, capture_output=True).stdout if log.suffix == ".zst"
                          else log.read_bytes())
        with open(plain, encoding="utf-8") as lines, open(work / "two.tsv", "w", encoding="utf-8") as out:
            out.write("user\titem\n")
            out.writelines("\t".join(line.split("\t")[:2]).strip() + "\n" for line in lines)
        run(inmo, "serve", "--store", work / "filling.db", "--import", work / "two.tsv")
        (work / "filling.db").rename(full)

    # Each round on a fresh copy of the store: the events of one make the histories of the next no longer.
    alone = json.loads(run(build / "bench_lists", model, threads, 0.5))
    size, rows = int(alone["bytes"]), []
    for turn in range(options.rounds):
        row = {"busy": load()}
        copy_store(full, work / "store.db")
        with Process(inmo, "serve", model, "--store", work / "store.db", "--port", "0", "--refresh", "0",
                     log=open(work / "server.log", "ab")) as server:
            row["start"] = server.ready()
            time.sleep(1)
            row["memory"] = memory(server.process.pid)
            row["lists"] = json.loads(run(build / "bench_lists", model, threads, options.seconds))["lists_per_second"]
            with Process(build / "bench_http", size, threads) as nothing:
                row["empty"] = wrk(work, nothing, RECOMMEND % USERS, 32, options.seconds)
            row["served"] = wrk(work, server, RECOMMEND % USERS, 32, options.seconds)
            row["allowed"] = 1 / (1 / row["lists"] + 1 / row["empty"])
            row["ratio"] = row["served"] / row["allowed"]
            row["half"] = json.loads(run(build / "bench_pace", server.port, row["served"] / 2, options.seconds, 32, USERS))
            row["p99_ms"] = row["half"]["p99_ms"]
            row["write"], row["fresh"], row["fresh_p99"] = fresh(server, 300)
            row["sync"] = fdatasync(work)
            row["single"] = wrk(work, server, EVENTS % (USERS, ITEMS, 1, turn), 64, options.seconds)
            row["batches"] = 1000 * wrk(work, server, EVENTS % (USERS, ITEMS, 1000, turn), 8, options.seconds)
            rows.append(row)
        say(f"round {turn + 1}: busy before {row['busy']:.0%}; ready after {row['start']:.2f} s, {row['memory'] / 1e6:.0f} MB; "
            f"lists {row['lists']:.0f}/s, empty {row['empty']:.0f}/s, served {row['served']:.0f}/s, "
            f"ratio {row['ratio']:.2f}; p50 {row['half']['p50_ms']:.2f} ms, p99 {row['p99_ms']:.2f} ms at {row['half']['rate']:.0f}/s; "
            f"event {1e3 * row['write']:.2f} ms (fdatasync {1e3 * row['sync']:.2f}), list after it {1e3 * row['fresh']:.2f} ms; "
            f"single {row['single']:.0f}/s, in batches {row['batches']:.0f}/s")
    names = ("busy", "start", "memory", "lists", "empty", "served", "allowed", "ratio", "p99_ms", "write", "fresh", "fresh_p99", "sync", "single", "batches")
    result = {name: statistics.median(row[name] for row in rows) for name in names}
    result.update(model_file=model.stat().st_size, model_alone=alone["memory"], answer_bytes=size, threads=threads, rounds=options.rounds)
    say(json.dumps(result))
    if not options.work:
        shutil.rmtree(work)


if __name__ == "__main__":
    main()
