"""Bad input, slow and greedy clients, full disks, kill -9: nothing crashes, leaks or loses an acknowledged event."""

import ctypes
import http.client
import json
import os
import random
import resource
import shutil
import socket
import sqlite3
import subprocess
import threading
import time

import pytest
from conftest import PROGRAM, SLOW, Server

ALIVE = b"GET /api/health/live HTTP/1.1\r\nHost: x\r\n\r\n"


def wire(server, timeout=20):
    connection = socket.create_connection((server.host, server.port), timeout=timeout * SLOW)
    return connection


def answer(connection):
    """Everything until the other side closes or falls silent."""
    got = b""
    try:
        while True:
            piece = connection.recv(65536)
            if not piece:
                break
            got += piece
    except (socket.timeout, ConnectionError):
        pass
    return got


def memory(server):
    for line in open(f"/proc/{server.process.pid}/status", encoding="utf-8"):
        if line.startswith("VmRSS"):
            return int(line.split()[1]) * 1024
    return 0


def is_well(server):
    assert server.process.poll() is None, server.log.read_text()
    assert server.get("/api/health/live") == {"Ready": True}


@pytest.mark.parametrize("garbage", [
    b"\x00" * 1000, b"GET\r\n\r\n", b"GET / HTTP/9.9\r\n\r\n", b"\xff\xfe\xfd\r\n\r\n", b"GET " + b"/" * 100000 + b" HTTP/1.1\r\n\r\n",
    b"POST /api/feedback HTTP/1.1\r\nHost: x\r\nContent-Length: -5\r\n\r\n[]",
    b"POST /api/feedback HTTP/1.1\r\nHost: x\r\nContent-Length: 99999999999999999999\r\n\r\n[]",
    b"POST /api/feedback HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n",
    b"GET /api/users?n=%\xc3\x28 HTTP/1.1\r\nHost: x\r\n\r\n", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n",
])
def test_garbage_on_the_wire(serve, garbage):
    server = serve()
    connection = wire(server, 2)
    try:
        connection.sendall(garbage)
    except ConnectionError:
        pass
    answer(connection)
    is_well(server)


def test_a_header_of_10_mb_is_refused_without_memory(serve):
    server = serve()
    before = memory(server)
    connection = wire(server)
    try:
        connection.sendall(b"GET / HTTP/1.1\r\nHost: x\r\nX: " + b"a" * (10 << 20) + b"\r\n\r\n")
    except ConnectionError:
        pass
    got = answer(connection)
    assert not got or got.split()[1] in (b"431", b"413", b"400")
    assert memory(server) - before < (4 << 20)
    is_well(server)


def test_a_body_of_1_gb_is_refused_before_it_is_sent(serve):
    server = serve()
    before = memory(server)
    connection = wire(server)
    connection.sendall(b"POST /api/feedback HTTP/1.1\r\nHost: x\r\nContent-Length: 1073741824\r\n\r\n")
    assert answer(connection).split()[1] == b"413"
    chunked = wire(server)  # not announced: cut off when it has become too long
    chunked.sendall(b"POST /api/feedback HTTP/1.1\r\nHost: x\r\nTransfer-Encoding: chunked\r\n\r\n")
    try:
        for _ in range(80):
            chunked.sendall(b"100000\r\n" + b" " * 0x100000 + b"\r\n")
        chunked.sendall(b"0\r\n\r\n")
    except ConnectionError:
        pass
    got = answer(chunked)
    assert not got or got.split()[1] == b"413", got[:200]
    is_well(server)
    assert memory(server) - before < (200 << 20) * (1 if SLOW == 1 else 4)  # a sanitizer keeps freed memory for a while


def test_slow_clients_are_cut_off(serve):
    server = serve("--idle-seconds", "2")
    slow = [wire(server) for _ in range(20)]
    began = time.monotonic()
    closed = 0
    while time.monotonic() - began < 8 * SLOW and closed < 20:
        closed = 0
        for connection in slow:  # a byte now and then: each begins an ordinary timeout anew
            try:
                connection.send(b"G")
                connection.settimeout(0.001)
                closed += connection.recv(10) == b""
            except socket.timeout:
                pass
            except OSError:
                closed += 1
        time.sleep(0.2)
    assert closed == 20
    is_well(server)


def test_half_closed_and_pipelined_connections(serve):
    server = serve()
    connection = wire(server)
    connection.sendall(ALIVE * 50)
    connection.shutdown(socket.SHUT_WR)
    assert answer(connection).count(b'{"Ready":true}') == 50
    many = wire(server, 5)
    rows = json.dumps([{"FeedbackType": "like", "UserId": "u", "ItemId": "i", "Timestamp": ""}]).encode()
    head = b"POST /api/feedback HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(rows)
    many.sendall((head + rows) * 10 + ALIVE.replace(b"\r\n\r\n", b"\r\nConnection: close\r\n\r\n"))
    got = answer(many)
    assert got.count(b"RowAffected\":1") == 1 and got.count(b"RowAffected\":0") == 9
    for _ in range(50):  # gone before the answer comes
        gone = wire(server)
        gone.sendall(head + rows)
        gone.close()
    is_well(server)


def test_10000_connections(serve):
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = 10000 if SLOW == 1 and hard >= 11000 else 500
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, wanted + 1000)), hard))
    server = serve("--connections", wanted + 10)
    before = memory(server)
    connections = []
    try:
        for _ in range(wanted):
            connections.append(wire(server))
        for connection in random.Random(1).sample(connections, 100):
            connection.sendall(ALIVE)
            assert b"Ready" in connection.recv(4096)
        assert server.get("/api/status")["connections"] >= wanted
    finally:
        for connection in connections:
            connection.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    server.wait_for(lambda: server.get("/api/status")["connections"] < 50, seconds=20)
    assert memory(server) - before < 500 << 20
    small = serve("--connections", "3", store="small.db")
    crowd = [wire(small, 1) for _ in range(6)]
    for connection in crowd:
        try:
            connection.sendall(ALIVE)
        except ConnectionError:
            pass
    assert sum(b"Ready" in answer(connection) for connection in crowd) <= 3


def test_keys_and_rights(serve, tmp_path):
    keys = tmp_path / "keys"
    made = {}
    for right in ("read", "write", "admin"):
        done = subprocess.run([PROGRAM, "serve", "--new-key", f"for-{right}", "--rights", right, "--keys", str(keys)],
                              capture_output=True, text=True, check=True)
        made[right] = done.stdout.strip()
    assert oct(keys.stat().st_mode & 0o777) == "0o600" and made["read"] not in keys.read_text()
    server = serve("--keys", keys, "--rate", "50")
    row = [{"FeedbackType": "like", "UserId": "u", "ItemId": "i", "Timestamp": ""}]
    expected = {None: (401, 401, 401), "wrong": (401, 401, 401), made["read"]: (200, 403, 403),
                made["write"]: (200, 200, 403), made["admin"]: (200, 200, 200)}
    for key, codes in expected.items():
        assert tuple(server.ask(*what, key=key)[0] for what in (
            ("GET", "/api/popular"), ("POST", "/api/feedback", row), ("POST", "/api/model/refresh", {}))) == codes, key
    assert server.ask("GET", "/api/popular", headers={"Authorization": f"Bearer {made['read']}"})[0] == 200
    assert server.ask("GET", "/api/health/live")[0] == 200
    assert server.ask("GET", "/api/recommend/u?write-back-type=read", key=made["read"])[0] == 403
    assert any(server.ask("GET", "/api/popular", key=made["read"])[0] == 429 for _ in range(5000))
    assert int(server.headers["Retry-After"]) >= 1
    kept = keys.read_text().splitlines()
    keys.write_text("\n".join(kept[1:]) + "\n")  # the reader's key goes
    server.process.send_signal(1)
    server.wait_for(lambda: server.ask("GET", "/api/popular", key=made["read"])[0] == 401)
    keys.write_text("nonsense\n")
    server.process.send_signal(1)
    server.wait_for(lambda: "stay as they were" in server.log.read_text())
    server.wait_for(lambda: server.ask("GET", "/api/popular", key=made["write"])[0] == 200)


def test_no_key_and_not_on_localhost_does_not_start(tmp_path):
    done = subprocess.run([PROGRAM, "serve", "--store", str(tmp_path / "s.db"), "--host", "0.0.0.0", "--port", "0"],
                          capture_output=True, text=True, timeout=60, check=False, env={k: v for k, v in os.environ.items() if k != "INMO_API_KEY"})
    assert done.returncode == 2 and "--keys" in done.stderr and not (tmp_path / "s.db").exists()


@pytest.mark.parametrize("options, named", [("--dmi 3", "--dmi"), ("--dim x", "--dim"), ("--model ialss", "ialss"), ("--dim", "--dim"),
                                            ("more.tsv", "more.tsv"), ("--help", "--help")])
@pytest.mark.parametrize("mode", [["--check"], ["--port", "0"]])
def test_wrong_options_of_a_training_are_named_at_the_start(tmp_path, options, named, mode):
    done = subprocess.run([PROGRAM, "serve", "--store", str(tmp_path / "s.db"), f"--train={options}", *mode],
                          capture_output=True, text=True, timeout=60, check=False)
    assert done.returncode == 2 and named in done.stderr and "--train" in done.stderr and not (tmp_path / "s.db").exists()


def stored(path):
    """What an independent reader finds."""
    store = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    found = {(u, i) for u, i in store.execute(
        "select u.id, i.id from feedback f join user u on u.num = f.user join item i on i.num = f.item")}
    store.close()
    return found


@pytest.mark.parametrize("times", [int(os.environ.get("INMO_TORTURE", "4"))])
def test_kill_9_under_load_loses_no_acknowledged_event(tmp_path, times):
    server = Server(tmp_path)
    acknowledged, lock = set(), threading.Lock()
    chance = random.Random(7)
    for turn in range(times):
        stop = threading.Event()

        def write(number, turn=turn, stop=stop):
            connection = server.connect()
            n = 0
            while not stop.is_set():
                rows = [(f"u{number}", f"i{turn}-{n}-{m}") for m in range(1 if number else 50)]
                n += 1
                try:
                    connection.request("POST", "/api/feedback", json.dumps(
                        [{"FeedbackType": "like", "UserId": u, "ItemId": i, "Timestamp": ""} for u, i in rows]))
                    reply = connection.getresponse()
                    if reply.status == 200 and json.loads(reply.read())["RowAffected"] == len(rows):
                        with lock:
                            acknowledged.update(rows)
                except (OSError, http.client.HTTPException):
                    return

        writers = [threading.Thread(target=write, args=(n,)) for n in range(6)]
        for writer in writers:
            writer.start()
        time.sleep(0.1 + 0.4 * chance.random())
        server.kill()
        stop.set()
        for writer in writers:
            writer.join()
        missing = acknowledged - stored(server.store)
        assert not missing, f"{len(missing)} of {len(acknowledged)} acknowledged events are gone after kill {turn}"
        server.start()
    found = {(row.split(",")[0], row.split(",")[1]) for row in server.ask("GET", "/api/export")[1].splitlines()[1:]}
    assert acknowledged <= found and len(acknowledged) > 10 * times
    server.stop()


@pytest.fixture
def small_disk(tmp_path):
    """A file system of 6 MB."""
    folder = tmp_path / "disk"
    folder.mkdir()
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.mount(b"tmpfs", str(folder).encode(), b"tmpfs", 0, b"size=6m"):
        pytest.skip("no right to mount a file system")
    yield folder
    libc.umount2(str(folder).encode(), 2)


def test_a_full_disk_refuses_writes_and_goes_on_reading(small_disk, world):
    server = Server(small_disk)
    server.feedback(("first", "item"))
    (small_disk / "ballast").write_bytes(b"x" * (5 << 20))
    status, n = 200, 0
    while status == 200 and n < 400:
        status, said = server.ask("POST", "/api/feedback", [
            {"FeedbackType": "like", "UserId": f"u{n}", "ItemId": f"i{n}-{m}", "Timestamp": "", "Comment": "x" * 100} for m in range(100)])
        n += 1
    assert status == 507 and said["code"] == "STORE_FULL", said
    assert server.get("/api/feedback/like/first/item")["UserId"] == "first"
    assert server.get("/api/recommend/first") is not None
    (small_disk / "ballast").unlink()
    assert server.feedback(("again", "item")) == 1
    before = len(server.ask("GET", "/api/export")[1].splitlines())
    server.kill()
    server.start()
    assert len(server.ask("GET", "/api/export")[1].splitlines()) == before
    server.stop()


def refused(folder, *words):
    done = subprocess.run([PROGRAM, "serve", "--store", str(folder / "store.db"), "--port", "0", *words], capture_output=True,
                          text=True, timeout=60 * SLOW, check=False)
    assert done.returncode and done.stderr.count("\n") == 1, done.stderr
    return done.stderr


def test_a_store_that_is_locked_damaged_or_foreign_is_refused(serve, tmp_path):
    server = serve()
    server.feedback(*((f"u{n}", f"i{n}") for n in range(500)))
    assert "store.db" in refused(tmp_path)
    server.stop()
    whole = (tmp_path / "store.db").read_bytes()
    (tmp_path / "store.db").write_bytes(b"not a database at all, but long enough to look at " * 100)
    assert "store.db" in refused(tmp_path)
    shutil.rmtree(tmp_path / "store.db.models")
    (tmp_path / "store.db").write_bytes(whole[:100] + os.urandom(4000) + whole[4100:])
    assert "store.db" in refused(tmp_path)
    (tmp_path / "store.db").unlink()
    other = sqlite3.connect(tmp_path / "store.db")
    other.execute("create table theirs (x)")
    other.commit()
    other.close()
    assert "store.db" in refused(tmp_path)


def test_a_clock_that_goes_back_changes_nothing(serve):
    server = serve()
    rows = [{"FeedbackType": "like", "UserId": "u", "ItemId": f"i{n}", "Timestamp": f"20{30 - n}-01-01"} for n in range(5)]
    for row in rows:
        assert server.post("/api/feedback", [row]) == {"RowAffected": 1}
    assert [row["ItemId"] for row in server.get("/api/feedback")["Feedback"]] == [f"i{n}" for n in range(5)]


def test_requests_that_have_begun_end_with_the_server(serve):
    server = serve()
    connection = wire(server)
    body = json.dumps([{"FeedbackType": "like", "UserId": "u", "ItemId": "i", "Timestamp": ""}]).encode()
    connection.sendall(b"POST /api/feedback HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body) + body[:10])
    time.sleep(0.3)
    server.process.terminate()
    time.sleep(0.5)
    connection.sendall(body[10:])
    assert b'{"RowAffected":1}' in answer(connection)
    assert server.process.wait(timeout=60 * SLOW) == 0


def test_who_only_reads_sends_at_most_4_mb(serve):
    server = serve()
    connection = wire(server)
    connection.sendall(b"POST /api/recommend HTTP/1.1\r\nHost: x\r\nContent-Length: 5000000\r\n\r\n")
    assert answer(connection).split()[1] == b"413"
    assert server.ask("POST", "/api/feedback", raw=b"[" + b" " * (5 << 20) + b"]")[0] == 200
    is_well(server)


def test_only_addresses_of_this_machine_are_loopback(tmp_path):
    for host in ("127.evil.example", "127.0.0.1.evil.example"):
        done = subprocess.run([PROGRAM, "serve", "--store", str(tmp_path / "s.db"), "--host", host, "--port", "0"], capture_output=True,
                              text=True, timeout=60, check=False, env={k: v for k, v in os.environ.items() if k != "INMO_API_KEY"})
        assert done.returncode == 2 and "--keys" in done.stderr
