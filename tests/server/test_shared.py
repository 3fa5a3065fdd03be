"""Servers on one PostgreSQL database. Run by with_postgres.sh, which has the database; skipped without it."""

import os
import pathlib
import socket
import threading
import time

import pytest
from conftest import SLOW, patch_together

ADDRESS = os.environ.get("INMO_TEST_POSTGRES") and "postgresql:///postgres"
pytestmark = pytest.mark.skipif(not ADDRESS, reason="needs PostgreSQL (with_postgres.sh)")


class Proxy:
    """Between the server and the database; frozen, it accepts and says nothing, as a machine that is cut off does."""

    def __init__(self):
        self.target = str(next(pathlib.Path(os.environ["PGHOST"]).glob(".s.PGSQL.*[0-9]")))
        self.listening = socket.create_server(("127.0.0.1", 0))
        self.running = threading.Event()
        self.running.set()
        self.url = f"postgresql://{os.environ.get('PGUSER', 'postgres')}@127.0.0.1:{self.listening.getsockname()[1]}/postgres"
        threading.Thread(target=self.accept, daemon=True).start()

    def accept(self):
        while True:
            near, _ = self.listening.accept()
            far = socket.socket(socket.AF_UNIX)
            far.connect(self.target)
            for one, other in ((near, far), (far, near)):
                threading.Thread(target=self.pump, args=(one, other), daemon=True).start()

    def pump(self, one, other):
        try:
            while piece := one.recv(65536):
                self.running.wait()
                other.sendall(piece)
        except OSError:
            pass
        other.close()


def test_two_servers_and_changes_of_one_item(serve, tmp_path):
    (tmp_path / "b").mkdir()
    a = serve("--first-events", "0", store=ADDRESS)
    b = serve("--first-events", "0", store=ADDRESS, folder=tmp_path / "b")
    assert a.post("/api/item", {"ItemId": "x", "Categories": ["c"], "Timestamp": "", "Comment": "X"})["RowAffected"] == 1
    assert b.ask("PATCH", "/api/item/x", {"IsHidden": True})[0] == 200
    assert b.ask("PUT", "/api/item/x/category/d")[0] == 200
    assert a.ask("PATCH", "/api/item/nothing", {"IsHidden": True})[0] == 404
    found = a.get("/api/item/x")
    assert found["IsHidden"] and found["Categories"] == ["c", "d"] and found["Comment"] == "X"
    a.post("/api/item", {"ItemId": "z", "Timestamp": ""})
    patch_together([a, b], "z")
    a.feedback(("u", "y"))
    b.wait_for(lambda: [row["Id"] for row in b.get("/api/popular")] == ["y"])
    assert len(b.get("/api/user/u/feedback")) == 1 and b.get("/api/users")["Users"][0]["UserId"] == "u"
    assert b.get("/api/model")["freshness"]["stored"] >= 4


def test_a_database_that_says_nothing_holds_up_nobody_else(serve):
    proxy = Proxy()
    server = serve("--first-events", "0", "--serve-threads", "1", store=proxy.url)
    server.feedback(("u", "i"))
    server.get("/api/user/u")
    proxy.running.clear()
    try:
        waiting = [server.connect() for _ in range(4)]
        for n, connection in enumerate(waiting):
            connection.request("GET", "/api/export" if n % 2 else "/api/user/u")
        time.sleep(0.2)
        began = time.monotonic()
        listed = server.get("/api/recommend/somebody")
        took = time.monotonic() - began
    finally:
        proxy.running.set()
    assert "i" in listed and took < 1 * SLOW
    answers = [connection.getresponse() for connection in waiting]
    assert [answer.status for answer in answers] == [200] * 4
    exported = answers[1].read().decode().splitlines()
    assert exported[0] == "user,item,type,time" and exported[-1].startswith("u,i,like,")
