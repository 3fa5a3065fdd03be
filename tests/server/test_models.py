"""Models while the server runs: trained in children, compared, swapped under load, rolled back, killed."""

import json
import os
import signal
import threading
import time

import pytest
from conftest import run

TRAIN = "--train=--dim 16 --epochs 2"


def retrain(server, **more):
    assert server.ask("POST", "/api/model/retrain", more)[0] == 202
    return server.wait_for(lambda: (lambda r: None if r["running"] else r["last"])(server.get("/api/model")["retraining"]))


def children(server):
    """Process ids of the server's children."""
    found = []
    for entry in os.listdir("/proc"):
        if entry.isdigit():
            try:
                fields = open(f"/proc/{entry}/stat", encoding="utf-8").read().rsplit(")", 1)[1].split()
            except OSError:
                continue
            if int(fields[1]) == server.process.pid:
                found.append(int(entry))
    return found


@pytest.fixture
def busy(serve, world):
    """A server with a log, and a thread that keeps asking; wrong has every answer that was not as it must be."""
    server = serve("--log", world.log, TRAIN, "--first-events", "0")
    wrong, slowest, stop = [], [0.0], threading.Event()

    def ask():
        connection = server.connect()
        while not stop.is_set():
            began = time.monotonic()
            try:
                connection.request("GET", "/api/recommend/u001?n=5")
                answer = connection.getresponse()
                if answer.status != 200 or len(json.loads(answer.read())) != 5:
                    wrong.append(answer.status)
            except OSError as problem:
                wrong.append(problem)
                connection = server.connect()
            slowest[0] = max(slowest[0], time.monotonic() - began)

    thread = threading.Thread(target=ask)
    thread.start()
    yield server, wrong, slowest
    stop.set()
    thread.join()


def test_retrained_compared_swapped_and_rolled_back_under_load(busy):
    server, wrong, _ = busy
    assert server.get("/api/model")["model"]["name"] == "popular"
    first = retrain(server)
    assert first["result"] == "swapped" and first["number"] == 1, first
    served = server.get("/api/model")
    assert served["model"]["number"] == 1 and served["model"]["name"] == "inmo-lightgcn"
    second = retrain(server)  # the same data and seed: exactly as good
    assert second["score"] == second["score_before"] == first["score"] > 0, (first, second)
    third = retrain(server, force=True)
    assert third["result"] == "swapped" and server.get("/api/model")["model"]["number"] == third["number"]
    assert server.ask("POST", "/api/model/rollback", {})[1]["number"] < third["number"]
    assert server.ask("POST", "/api/model/activate", {"number": 1})[1]["number"] == 1
    assert server.ask("POST", "/api/model/activate", {"number": 77})[0] == 404
    assert [row["active"] for row in server.get("/api/model")["models"]].count(True) == 1
    server.stop()
    assert not [one for one in wrong if isinstance(one, int)], wrong
    server.start()
    server.connection = None
    assert server.get("/api/model")["model"]["number"] == 1  # what was in use is in use again


def test_a_worse_model_is_kept_aside(serve, world):
    server = serve("--log", world.log, "--first-events", "0", "--train=--dim 16 --epochs 8", "--store", "s.db")
    assert retrain(server)["result"] == "swapped"
    server.stop()
    server.words[server.words.index("--train=--dim 16 --epochs 8")] = "--train=--model popular"
    server.start()
    server.connection = None
    last = retrain(server)
    assert last["result"] == "kept" and last["score"] < last["score_before"]
    assert server.get("/api/model")["model"]["name"] == "inmo-lightgcn"


def test_a_killed_child_leaves_the_server_as_it_was(busy):
    server, wrong, _ = busy
    retrain(server)
    server.ask("POST", "/api/model/retrain", {})
    while server.get("/api/model")["retraining"]["running"]:  # whichever command is running: one may end while it is looked for
        for child in children(server):
            try:
                os.kill(child, signal.SIGKILL)
            except ProcessLookupError:
                pass
    last = server.wait_for(lambda: (lambda r: None if r["running"] else r["last"])(server.get("/api/model")["retraining"]))
    assert last["result"] == "failed" and "signal 9" in last["error"]
    assert server.get("/api/model")["model"]["number"] == 1 and not wrong
    assert retrain(server)["result"] in ("swapped", "kept")


def test_a_server_killed_while_it_trains_comes_back_with_its_model(serve, world):
    server = serve("--log", world.log, "--first-events", "0", TRAIN)
    retrain(server)
    for pause in (0.05, 0.2, 0.5, 0.8):
        server.ask("POST", "/api/model/retrain", {"force": True})
        server.wait_for(lambda: children(server))
        time.sleep(pause)
        left = children(server)
        server.kill()
        for child in left:  # children end with the server
            server.wait_for(lambda c=child: not os.path.exists(f"/proc/{c}") or
                            open(f"/proc/{c}/stat", encoding="utf-8").read().rsplit(")", 1)[1].split()[0] == "Z", seconds=5)
        server.start()
        assert server.get("/api/model")["model"]["number"] >= 1
        assert len(server.get("/api/recommend/u001?n=5")) == 5


def test_retrains_by_itself_after_enough_events(serve, world):
    server = serve(world.model("inmo-mf"), TRAIN, "--retrain-events", "50")
    server.feedback(*((f"n{n % 10}", f"jazz-0{n % 7 + 1}") for n in range(40)), *((f"m{n}", "jazz-01") for n in range(30)))
    server.wait_for(lambda: server.get("/api/model")["retraining"]["last"])


def test_a_damaged_model_file_is_not_used(serve, world):
    server = serve("--log", world.log, "--first-events", "0", TRAIN)
    retrain(server)
    server.stop()
    path = server.folder / "store.db.models" / "000001.inmo"
    data = bytearray(path.read_bytes())
    data[len(data) // 2] ^= 255
    path.write_bytes(data)
    server.start()
    server.connection = None
    assert server.get("/api/model")["model"]["name"] == "popular"
    assert "cannot be used" in server.log.read_text()


def test_prepare_and_train_read_a_store(serve, world, tmp_path):
    server = serve("--log", world.log)
    run("train", server.store, "--model", "popular", "-o", tmp_path / "p.inmo", "--quiet")  # while it is being served
    run("prepare", server.store, "-o", tmp_path / "data", "--quiet")
