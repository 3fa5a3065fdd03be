"""Rare requests and rare moments: what is counted, compared or freed at the edge of something."""

import json
import pathlib
import shutil
import signal
import socket
import sqlite3
import ssl
import subprocess
import threading
import time

import pytest
from conftest import SLOW


def event(user, item, kind="like"):
    return {"FeedbackType": kind, "UserId": user, "ItemId": item, "Timestamp": "2024-01-01T00:00:00Z"}


def test_any_number_of_types_of_feedback(serve):
    server = serve("--first-events", "0")
    rows = [event("u", f"i{n}", f"type{n}") for n in range(300)]
    assert server.post("/api/feedback", rows)["RowAffected"] == 300
    assert server.feedback(("v", "after")) == 1
    assert server.get("/api/status")["store"]["feedback"] == 301
    assert "after" in [row["Id"] for row in server.get("/api/popular?n=1000")]
    server.stop()
    server.connection = None
    server.start()
    assert server.get("/api/status")["store"]["feedback"] == 301
    assert server.ask("DELETE", "/api/feedback/type299/u/i299") == (200, {"RowAffected": 1})
    assert server.get("/api/status")["store"]["positive"] == 300


@pytest.mark.parametrize("lines", [4999, 5000, 10000])
def test_an_import_counts_each_line_once(serve, lines):
    server = serve("--first-events", "0")
    body = "user,item\n" + "".join(f"u{n},i{n % 10}\n" for n in range(lines))
    status, answer = server.ask("POST", "/api/import", raw=body.encode())
    assert status == 200 and answer == {"RowAffected": lines, "lines": lines + 1}


def test_users_are_not_hidden_by_items_of_the_same_name(serve, world):
    server = serve(world.model("inmo-mf"))
    near = [row["Id"] for row in server.get("/api/user/u001/neighbors?n=5")]
    server.post("/api/item", {"ItemId": near[0], "IsHidden": True, "Timestamp": ""})
    assert [row["Id"] for row in server.get("/api/user/u001/neighbors?n=5")] == near


def test_a_first_training_that_fails_is_not_repeated_without_new_events(serve):
    server = serve("--first-events", "1")
    (server.folder / "store.db.models" / "work" / "report.json").mkdir()  # stands where a file would be written
    server.feedback(("u", "i"))
    server.wait_for(lambda: "retraining failed" in server.log.read_text())
    time.sleep(4 * SLOW)
    assert server.log.read_text().count("retraining failed") == 1


def test_models_that_are_not_used_are_deleted_too(serve, world):
    server = serve("--log", world.log, "--first-events", "0", "--train=--dim 16 --epochs 8", "--keep-models", "1")

    def retrain():
        assert server.ask("POST", "/api/model/retrain")[0] == 202
        return server.wait_for(lambda: (lambda s: not s["running"] and s["last"])(server.get("/api/model")["retraining"]))["result"]

    assert retrain() == "swapped"
    server.stop()
    server.words[server.words.index("--train=--dim 16 --epochs 8")] = "--train=--model popular"
    server.start()
    server.connection = None
    assert [retrain() for _ in range(3)] == ["kept"] * 3
    assert [model["number"] for model in server.get("/api/model")["models"]] == [4, 1]


def test_who_is_forgotten_stays_so_after_a_retraining_and_a_start_with_the_old_model(serve, world):
    server = serve(world.model("inmo-mf"), "--first-events", "0", "--train=--model popular", "--keep-models", "1")
    server.ask("DELETE", "/api/user/u001")
    assert server.ask("POST", "/api/model/retrain", {"force": True})[0] == 202
    last = server.wait_for(lambda: (lambda s: not s["running"] and s["last"])(server.get("/api/model")["retraining"]))
    assert last["result"] == "swapped"
    server.stop()
    server.start()
    server.connection = None
    assert server.get("/api/model")["model"]["name"] == "inmo-mf"
    assert server.post("/api/recommend", {"user": "u001", "n": 5})["fallback"]


def test_what_only_the_model_knows_is_forgotten_at_once(serve, world):
    server = serve("--first-events", "0")
    server.feedback(("somebody", "jazz-01"))
    server.stop()
    server.words.insert(2, str(world.model("inmo-mf")))
    server.start()
    server.connection = None
    owned = [part["id"] for part in server.get("/api/explain/u001/jazz-01")["parts"] if part["id"][0] != "("]
    query = {"user": "u001", "n": 1, "allow": owned[:1]}
    assert server.post("/api/recommend", query)["items"] == []
    server.ask("DELETE", f"/api/feedback/u001/{owned[0]}")
    assert [row["id"] for row in server.post("/api/recommend", query)["items"]] == owned[:1]


def test_pages_of_other_origins_may_not_ask_without_a_key(serve):
    server = serve("--first-events", "0")
    body = [event("u", "i")]
    own = f"{server.host}:{server.port}"
    assert server.ask("POST", "/api/feedback", body, headers={"Origin": "https://evil.example"})[0] == 403
    assert server.ask("GET", "/api/feedback", headers={"Origin": "null"})[0] == 403
    assert server.ask("POST", "/api/feedback", body, headers={"Origin": f"http://{own}"})[0] == 200
    server.stop()
    other = serve("--first-events", "0", "--allow-origin", "https://shop.example")
    assert other.ask("POST", "/api/feedback", body, headers={"Origin": "https://shop.example"})[0] == 200
    assert other.ask("POST", "/api/feedback", body, headers={"Origin": "https://evil.example"})[0] == 403


def test_a_body_that_comes_slowly_is_cut_off(serve):
    server = serve("--idle-seconds", "1")
    connection = socket.create_connection((server.host, server.port), timeout=20 * SLOW)
    connection.sendall(b"POST /api/feedback HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n[")
    began = time.monotonic()
    try:
        while time.monotonic() - began < 10 * SLOW:
            connection.sendall(b" ")
            connection.settimeout(0.3)
            try:
                if connection.recv(1000):
                    break
                raise ConnectionError
            except socket.timeout:
                pass
    except ConnectionError:
        pass
    assert time.monotonic() - began < 8 * SLOW
    connection.close()


def test_lines_of_the_log_cannot_be_forged(serve, tmp_path):
    server = serve(store="a\nb: warning.db")
    assert all(line[:4].isdigit() for line in server.log.read_text().splitlines())


def test_ends_well_while_the_disk_is_busy(serve):
    """A store that takes longer than the time for finishing requests: they are answered or refused, and nothing aborts."""
    server = serve("--first-events", "0")
    server.feedback(("u", "i"))
    lock = sqlite3.connect(server.store, isolation_level=None)
    lock.execute("BEGIN IMMEDIATE")  # every transaction of the server waits for seconds now, and fails
    body = json.dumps([event("u", "j")]).encode()
    head = b"POST /api/feedback HTTP/1.1\r\nHost: x\r\nContent-Length: %d\r\n\r\n" % len(body)
    asked = []
    for _ in range(2):  # the second waits for the first, and the third, which has only begun, for both
        asked.append(socket.create_connection((server.host, server.port), timeout=60 * SLOW))
        asked[-1].sendall(head + body)
        time.sleep(0.3)
    asked.append(socket.create_connection((server.host, server.port), timeout=60 * SLOW))
    asked[-1].sendall(head + body[:5])
    time.sleep(0.3)
    late = threading.Timer(7, asked[-1].sendall, [body[5:]])
    late.start()
    code = server.stop(expected=None)
    late.join()
    lock.close()
    assert code == 0, server.log.read_text()
    assert [connection.recv(12) for connection in asked[:2]] == [b"HTTP/1.1 503"] * 2


@pytest.mark.skipif(SLOW > 1, reason="sanitizers must be loaded first")
def test_ends_well_while_clients_come_and_go(serve, tmp_path):
    """libmicrohttpd aborted when a thread that a client had woken and the one that stops the server closed the same door."""
    library, over = tmp_path / "slow_epoll.so", threading.Event()
    subprocess.run(["cc", "-shared", "-fPIC", "-o", library, pathlib.Path(__file__).with_name("slow_epoll.c"), "-ldl"], check=True)
    server = serve("--threads", "2", env={"LD_PRELOAD": str(library)})

    def come_and_go():
        while not over.is_set():
            try:
                with socket.create_connection((server.host, server.port), timeout=5) as connection:
                    connection.sendall(b"GET /api/health/live HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
                    connection.recv(100)
            except OSError:
                time.sleep(0.001)

    clients = [threading.Thread(target=come_and_go) for _ in range(4)]
    for client in clients:
        client.start()
    time.sleep(0.3)
    code = server.stop(expected=None)
    over.set()
    for client in clients:
        client.join()
    assert code == 0, server.log.read_text()


def test_popularity_lists_what_is_allowed_however_unpopular(serve, world):
    server = serve(world.model("mf"))
    server.feedback(("stranger", "jazz-01"))
    least = server.get("/api/popular?n=1000")[-1]["Id"]
    answer = server.post("/api/recommend", {"user": "stranger", "n": 1, "allow": [least]})
    assert answer["fallback"] and [row["id"] for row in answer["items"]] == [least]
    assert server.post("/api/recommend", {"user": "stranger", "allow": [least], "deny": [least]})["items"] == []


@pytest.mark.skipif(not shutil.which("openssl"), reason="needs openssl")
def test_a_certificate_with_another_key_is_not_taken(serve, tmp_path):
    def make(name):
        subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", f"/CN={name}", "-days", "2", "-keyout",
                        tmp_path / f"{name}.key", "-out", tmp_path / f"{name}.pem"], check=True, capture_output=True)

    make("one")
    make("two")
    shutil.copy(tmp_path / "one.pem", tmp_path / "served.pem")
    shutil.copy(tmp_path / "one.key", tmp_path / "served.key")
    server = serve("--first-events", "0", "--tls-certificate", tmp_path / "served.pem", "--tls-key", tmp_path / "served.key")

    def served():
        return ssl.get_server_certificate((server.host, server.port)).strip()

    def reload(sign):
        count = server.log.read_text().count(sign)
        server.process.send_signal(signal.SIGHUP)
        server.wait_for(lambda: server.log.read_text().count(sign) > count)

    old, new = ((tmp_path / f"{name}.pem").read_text().strip() for name in ("one", "two"))
    assert served() == old
    shutil.copy(tmp_path / "two.pem", tmp_path / "served.pem")
    reload("do not belong together")
    assert served() == old
    shutil.copy(tmp_path / "two.key", tmp_path / "served.key")
    for _ in range(3):
        reload("were read again")
        assert served() == new
