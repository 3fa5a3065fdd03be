"""Two servers on one PostgreSQL database, and a database that goes away and comes back (run by with_postgres.sh)."""

import json
import os
import subprocess
import threading
import time

import pytest
from conftest import SLOW

URL = os.environ.get("INMO_TEST_POSTGRES")
pytestmark = pytest.mark.skipif(not URL, reason="needs a PostgreSQL server of its own: with_postgres.sh")


@pytest.fixture
def database(tmp_path):
    """A fresh database; its address."""
    name = f"d{os.getpid()}_{time.monotonic_ns()}"
    subprocess.run(["psql", "-q", "-d", "postgres", "-c", f"create database {name}"], check=True)
    yield f"postgresql:///{name}"


def rows(database):
    """What an independent reader finds."""
    name = database.rsplit("/", 1)[1]
    said = subprocess.run(["psql", "-q", "-A", "-t", "-d", name, "-c",
                           "select u.id, i.id from inmo.feedback f join inmo.users u on u.num = f.\"user\" join inmo.items i on i.num = f.item"],
                          check=True, capture_output=True, text=True).stdout
    return [tuple(line.split("|")) for line in said.split()]


def ctl(*words):
    subprocess.run([os.environ["INMO_TEST_PGCTL"], *words], check=True)


@pytest.fixture
def pair(serve, world, database, tmp_path):
    """Two servers on one database, with one model."""
    folders = [tmp_path / name for name in "ab"]
    for folder in folders:
        folder.mkdir()
    return [serve(world.model("inmo-lightgcn"), "--models", folder / "models", folder=folder, store=database) for folder in folders]


def test_an_event_given_to_one_server_changes_the_lists_of_the_other(pair):
    one, other = pair
    assert one.get("/api/model")["freshness"]["stored"] == other.get("/api/model")["freshness"]["stored"]
    history = ["jazz-01", "jazz-02", "jazz-03"]
    nobody = other.get("/api/recommend/zoe?n=10")
    one.feedback(*(("zoe", item) for item in history))
    expected = one.get("/api/recommend/zoe?n=10")  # at once
    assert expected != nobody and not set(history) & set(expected)
    began = time.monotonic()
    other.wait_for(lambda: other.get("/api/recommend/zoe?n=10") == expected, 10)
    assert time.monotonic() - began < 2 * SLOW
    other.feedback(("zoe", expected[0]))  # and the other way round
    again = other.get("/api/recommend/zoe?n=10")
    one.wait_for(lambda: one.get("/api/recommend/zoe?n=10") == again, 10)
    other.ask("PATCH", f"/api/item/{again[0]}", {"IsHidden": True})
    one.wait_for(lambda: again[0] not in one.get("/api/recommend/zoe?n=10"), 10)
    assert one.ask("DELETE", "/api/user/zoe")[0] == 200
    other.wait_for(lambda: other.get("/api/recommend/zoe?n=10") == one.get("/api/recommend/zoe?n=10"), 10)
    assert other.get("/api/user/zoe/feedback") == []


def test_both_servers_write_at_once_and_have_the_same(pair, database):
    def write(server, number, acknowledged):
        connection = server.connect()
        for n in range(60):
            pairs = [(f"w{number}", f"i{n}-{m}") for m in range(3)] + [("shared", f"s{n}")]
            connection.request("POST", "/api/feedback", json.dumps(
                [{"FeedbackType": "like", "UserId": u, "ItemId": i, "Timestamp": "2024-01-01"} for u, i in pairs]))
            reply = connection.getresponse()
            assert reply.status == 200, reply.read()
            acknowledged.append((pairs, json.loads(reply.read())["RowAffected"]))

    done = [[] for _ in range(4)]
    threads = [threading.Thread(target=write, args=(pair[n % 2], n, done[n])) for n in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(len(part) == 60 for part in done)
    mine = {p for part in done for pairs, _ in part for p in pairs}
    found = [row for row in rows(database) if row in mine]
    assert len(found) == len(set(found)) == len(mine) == sum(count for part in done for _, count in part)
    one, other = pair
    last = max(server.get("/api/model")["freshness"]["stored"] for server in pair)
    for server in pair:
        server.wait_for(lambda server=server: server.get("/api/model")["freshness"]["applied"] >= last, 20)
    assert one.get("/api/recommend/shared?n=10") == other.get("/api/recommend/shared?n=10")
    assert one.get("/api/popular?n=50") == other.get("/api/popular?n=50")


def test_a_database_that_goes_away_and_comes_back(pair, database):
    one, other = pair
    acknowledged, refused, wrong, stop = set(), [], [], threading.Event()

    def write():
        connection, n = one.connect(), 0
        while not stop.is_set():
            pair_ = ("writer", f"n{n}")
            connection.request("POST", "/api/feedback", json.dumps(
                [{"FeedbackType": "like", "UserId": pair_[0], "ItemId": pair_[1], "Timestamp": "2024-01-01"}]))
            reply = connection.getresponse()
            text = json.loads(reply.read())
            if reply.status == 200:
                acknowledged.add(pair_)
                n += 1  # what was refused is sent again: it may have been stored, and must not be there twice
            elif reply.status == 503 and text["code"] == "STORE_AWAY" and int(reply.headers["Retry-After"]) >= 1:
                refused.append(time.monotonic())
                time.sleep(0.05)
            else:
                wrong.append((reply.status, text))
                return

    writer = threading.Thread(target=write)
    writer.start()
    one.wait_for(lambda: len(acknowledged) > 20, 20)
    ctl("stop", "-m", "immediate")
    try:
        one.wait_for(lambda: refused or wrong, 20)
        for server in pair:  # reading goes on
            assert len(server.get("/api/recommend/u001?n=10")) == 10
            assert server.get("/api/popular?n=3") and server.get("/api/item/jazz-01/neighbors?n=3")
            assert server.ask("POST", "/api/session/recommend?n=3", [{"ItemId": "jazz-01"}])[0] == 200
        status, said = other.ask("POST", "/api/feedback", [{"FeedbackType": "like", "UserId": "x", "ItemId": "y", "Timestamp": ""}])
        assert (status, said["code"]) == (503, "STORE_AWAY") and int(other.headers["Retry-After"]) >= 1
    finally:
        ctl("start")
    before = len(acknowledged)
    one.wait_for(lambda: len(acknowledged) > before + 20 or wrong, 30)
    stop.set()
    writer.join()
    assert not wrong and refused
    found = [row for row in rows(database) if row[0] == "writer"]
    assert len(found) == len(set(found)) and acknowledged <= set(found) and len(found) <= len(acknowledged) + 1
    expected = one.get("/api/recommend/writer?n=10")
    other.wait_for(lambda: other.get("/api/recommend/writer?n=10") == expected, 20)  # it listens again
