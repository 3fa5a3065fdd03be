#!/usr/bin/env python3
"""check_store_kill.py - kill -9 of a writer at any moment: every acknowledged event is there, whole batches only.

    check_store_kill.py STORE-WRITER [ROUNDS]

Counted by another program than ours: Python's sqlite3, or psql when INMO_TEST_POSTGRES names a server (with_postgres.sh).
"""
import os
import pathlib
import random
import sqlite3
import subprocess
import sys
import tempfile
import time

QUERY = """SELECT u.id, count(*) FROM {p}feedback f JOIN {p}user{s} u ON u.num = f.{q}user{q} GROUP BY u.id"""


def counted(url, file):
    """Events of each user, by an independent reader."""
    if file:
        connection = sqlite3.connect(file)
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        rows = connection.execute(QUERY.format(p="", s="", q="")).fetchall()
        state = connection.execute("SELECT feedback FROM state").fetchone()[0]
        connection.close()
    else:
        query = QUERY.format(p="inmo.", s="s", q='"') + " UNION ALL SELECT '', feedback FROM inmo.state"
        out = subprocess.run(["psql", "-X", "-A", "-t", "-F", " ", "-c", query, url], check=True, capture_output=True, text=True)
        rows = [(line.rsplit(" ", 1)[0], int(line.rsplit(" ", 1)[1])) for line in out.stdout.splitlines()]
        state = sum(n for user, n in rows if not user)
        rows = [(user, n) for user, n in rows if user]
    assert state == sum(n for _, n in rows), f"the totals say {state}"
    return dict(rows)


def main():
    writer, rounds = sys.argv[1], int(sys.argv[2]) if len(sys.argv) > 2 else 8
    chance = random.Random(14)
    with tempfile.TemporaryDirectory() as folder:
        file = url = str(pathlib.Path(folder) / "store.db")
        if "INMO_TEST_POSTGRES" in os.environ:
            subprocess.run(["createdb", "kills"], check=True)
            file, url = None, "postgresql:///kills"
        expected, acknowledged = {}, 0
        for number in range(rounds):
            batch = chance.choice([1, 7, 300])
            child = subprocess.Popen([writer, url, str(number), str(batch)], stdout=subprocess.PIPE)
            first = child.stdout.readline()  # it is under way
            assert first, f"the writer of round {number} wrote nothing"
            time.sleep(chance.random() * 0.4)
            child.kill()
            rest = child.stdout.read().decode().split()
            child.wait()
            for n in first.decode().split() + rest:
                expected[f"user-{number}-{n}"] = batch
                acknowledged += batch
            if not file:
                time.sleep(0.3)  # the server notices that its client is gone
            found = counted(url, file)
            for user, events in expected.items():
                assert found.get(user) == events, f"round {number}: {user} has {found.get(user)} events of {events}"
            # At most one batch a round was durable without being acknowledged, and it is whole.
            more = {user: n for user, n in found.items() if user not in expected}
            for user, events in more.items():
                expected[user] = events
            assert len(more) <= 1 and all(events == batch for events in more.values()), more
    print(f"check_store_kill: {rounds} kills, {acknowledged} events acknowledged, all there")
    return 0


if __name__ == "__main__":
    sys.exit(main())
