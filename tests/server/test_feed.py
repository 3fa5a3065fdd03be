"""Logs from databases: `--query`, from SQLite and (run by with_postgres.sh) from PostgreSQL. The same data set as from a CSV of the
same rows; a sentence for everything that goes wrong."""

import csv
import json
import os
import random
import signal
import sqlite3
import struct
import subprocess
import time

import pytest
from conftest import PROGRAM, SLOW

POSTGRES = os.environ.get("INMO_TEST_POSTGRES")
COLUMNS = ("user_id", "product_id", "stars", "created_at", "event")


def inmo(*words, code=0, env=None, cwd=None):
    done = subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, timeout=120 * SLOW, check=False, cwd=cwd,
                          env={**os.environ, **(env or {})})
    assert done.returncode == code, f"inmo {words}: {done.returncode}\n{done.stdout}{done.stderr}"
    return done.stdout, done.stderr


def rows(count=20000):
    """Ids that a CSV must quote, times that repeat, all stars."""
    draw = random.Random(1)
    odd = ['a "b" c', "comma, inside", "line\nend", " spaces ", "é\u4e2d", "tab\tx", "'; drop table events; --", "\\.", "x\\\"y"]
    for n in range(count):
        user = odd[n % len(odd)] if n % 50 == 0 else f"u{draw.randrange(1500)}"
        yield (user, draw.randrange(400), draw.choice((1, 2.5, 3, 4, 5)), 1600000000 + draw.randrange(5000),
               draw.choice(("buy", "view", "return")))


def iso(seconds):
    return time.strftime("%Y-%m-%d %H:%M:%S", time.gmtime(seconds))


def parts(directory):
    """Every array of a data set, and its description but for the name of the log."""
    with open(os.path.join(directory, "data.safetensors"), "rb") as stream:
        size = struct.unpack("<Q", stream.read(8))[0]
        header = json.loads(stream.read(size))
        data = stream.read()
    metadata = header.pop("__metadata__")
    description = json.loads(metadata["description"])
    description.pop("sources")
    arrays = {name: (about["shape"], data[slice(*about["data_offsets"])]) for name, about in header.items()
              if not name.startswith("inmo.pad")}
    return arrays, description, metadata["scenario"]


class Sqlite:
    def __init__(self, folder):
        self.address = str(folder / "shop.sqlite")
        self.connection = sqlite3.connect(self.address)
        self.run("create table events (user_id text, product_id integer, stars real, created_at text, event text)")
        self.connection.executemany("insert into events values (?, ?, ?, ?, ?)", [(*row[:3], iso(row[3]), row[4]) for row in rows()])
        self.connection.commit()
        self.count = "select count(*) from events"

    def run(self, sql):
        self.connection.execute(sql)
        self.connection.commit()

    def number(self, sql):
        return self.connection.execute(sql).fetchone()[0]


class Postgres:
    def __init__(self, folder):
        name = f"feed{os.getpid()}_{time.monotonic_ns()}"
        subprocess.run(["psql", "-q", "-d", "postgres", "-c", f"create database {name}"], check=True)
        self.address, self.name = f"postgresql:///{name}", name
        self.run("create table events (n serial, user_id text, product_id integer, stars numeric(3, 1), created_at timestamptz, event text)")
        path = folder / "load.csv"
        with open(path, "w", encoding="utf-8", newline="") as stream:
            csv.writer(stream).writerows((*row[:3], iso(row[3]) + "+00", row[4]) for row in rows())
        subprocess.run(["psql", "-q", "-d", name, "-c", f"\\copy events ({', '.join(COLUMNS)}) from '{path}' with (format csv)"],
                       check=True)

    def run(self, sql):
        subprocess.run(["psql", "-q", "-d", self.name, "-v", "ON_ERROR_STOP=1", "-c", sql], check=True)

    def number(self, sql):
        return int(subprocess.run(["psql", "-qAt", "-d", self.name, "-c", sql], check=True, capture_output=True).stdout)


@pytest.fixture(params=["sqlite", "postgres"])
def database(request, tmp_path):
    if request.param == "postgres" and not POSTGRES:
        pytest.skip("needs a PostgreSQL server of its own: with_postgres.sh")
    return (Sqlite if request.param == "sqlite" else Postgres)(tmp_path)


ALL = f"select {', '.join(COLUMNS)} from events order by " + "{}"


def everything(database):
    return ALL.format("n" if isinstance(database, Postgres) else "rowid")


def test_same_data_set_as_from_a_csv(database, tmp_path):
    """Byte for byte, in memory and in a bounded memory; the columns by their names or by --columns."""
    log = tmp_path / "log.csv"
    with open(log, "w", encoding="utf-8", newline="") as stream:
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(COLUMNS)
        writer.writerows((*row[:3], iso(row[3]), row[4]) for row in rows())
    for options in ((), ("--by", "time", "--k-core", "3"), ("--positive", "buy", "--seen", "view", "--negative", "return"),
                    ("--columns", "item,user,-,time,-"), ("--keep-all-ratings", "--seed", "5")):
        inmo("prepare", log, "-o", tmp_path / "file", "--force", *options)
        for bound in ((), ("--memory", "4M")):
            inmo("prepare", database.address, "--query", everything(database) + " ;\n", "-o", tmp_path / "query", "--force", *options,
                 *bound)
            assert parts(tmp_path / "file") == parts(tmp_path / "query"), options
    _, notes = inmo("prepare", database.address, "--query", everything(database) + " -- a comment", "-o", tmp_path / "query", "--force")
    assert "comma-separated user,item,rating,time" in notes


def test_other_commands_take_a_query(database, tmp_path):
    query = ("--query", "select user_id, product_id from events")
    inmo("train", database.address, *query, "-o", tmp_path / "m.inmo", "--dim", "8", "--epochs", "1", "--split", "70/10/20")
    out, _ = inmo("evaluate", tmp_path / "m.inmo", database.address, *query, "--json")
    assert json.loads(out)


@pytest.mark.parametrize("query, code, words", [
    ("select user_id, product_id from nowhere", 2, "refuses the query: "),
    ("select user_id, product_idd from events", 2, "refuses the query: "),
    ("select user_id product_id events where", 2, ""),
    ("", 2, ""),
    ("delete from events", 2, ""),
    ("drop table events", 2, ""),
    ("with gone as (delete from events returning *) select user_id, product_id from gone", 2, ""),
    ("select 1 as user_id, 2 as item_id; delete from events", 2, ""),
    ("select 1) to stdout; delete from events; copy (select 1", 2, ""),
    ("select user_id, product_id from events where 1 = 0", 3, "the query gives no rows"),
    ("select user_id from events", 3, "which is one column"),
    ("select user_id as who, product_id as what from events", 3, "expected names such as user, item"),
    ("select null as user_id, product_id from events", 3, "found an empty user, expected an id (line 2 is the first row of the query; NULL is empty)"),
    ("select user_id, product_id, null as rating from events", 3, 'found the rating "", expected a finite number'),
    ("select user_id, product_id, 'yesterday' as time from events", 3, 'found the time "yesterday"'),
])
def test_a_wrong_query_is_a_sentence(database, tmp_path, query, code, words):
    before = database.number("select count(*) from events")
    for bound in ((), ("--memory", "4M")):
        out, err = inmo("prepare", database.address, "--query", query, "-o", tmp_path / "data", *bound, code=code)
        assert words in err and err.count("\n") <= 2 and not out, err
    assert not (tmp_path / "data").exists()
    assert database.number("select count(*) from events") == before


def test_huge_values(database, tmp_path):
    """A line has 8 MB at most, an id 4096 bytes; what is not asked for may be of any size that fits in a line."""
    database.run("create table notes (user_id text, item_id text, note text)")
    repeat = "replace(hex(zeroblob({})), '0', 'x')" if isinstance(database, Sqlite) else "repeat('xx', {})"
    database.run(f"insert into notes values ('a', 'b', {repeat.format(1000000)})")
    inmo("prepare", database.address, "--query", "select * from notes", "-o", tmp_path / "data")
    database.run(f"insert into notes values ('c', 'd', {repeat.format(5000000)})")
    _, err = inmo("prepare", database.address, "--query", "select * from notes", "-o", tmp_path / "data", "--force", code=3)
    assert "found a line longer than 8 MB" in err
    inmo("prepare", database.address, "--query", "select * from notes", "-o", tmp_path / "data", "--force", "--skip-bad", "1")
    database.run(f"insert into notes values ({repeat.format(3000)}, 'd', '')")
    _, err = inmo("prepare", database.address, "--query", "select user_id, item_id from notes", "-o", tmp_path / "data", "--force", code=3)
    assert "expected at most 4096" in err or "4096" in err


def test_ctrl_c_ends_a_long_query(database, tmp_path):
    forever = ("with recursive n(x) as (select 1 union all select x + 1 from n) select x as user_id, x as item_id from n where x % 2 = 5"
               if isinstance(database, Sqlite) else "select 1 as user_id, 2 as item_id from pg_sleep(600)")
    for number in (signal.SIGINT, signal.SIGTERM):
        process = subprocess.Popen([PROGRAM, "prepare", database.address, "--query", forever, "-o", str(tmp_path / "data")],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(1.5)
        began = time.monotonic()
        process.send_signal(number)
        _, err = process.communicate(timeout=30 * SLOW)
        assert process.returncode == 11 and b"was stopped on request" in err, err
        assert time.monotonic() - began < 5 * SLOW
    assert not (tmp_path / "data").exists()
    if isinstance(database, Postgres):
        time.sleep(0.5)
        assert database.number("select count(*) from pg_stat_activity where query like '%pg_sleep(600)%' and pid <> pg_backend_pid()") == 0


def test_options_of_files_do_not_go_with_a_query(tmp_path):
    path = Sqlite(tmp_path).address
    query = ("--query", "select * from events")
    for option in (("--separator", "tab"), ("--header", "no"), ("--format", "list"), ("--encoding", "latin-1")):
        _, err = inmo("prepare", path, *query, "-o", tmp_path / "data", *option, code=2)
        assert option[0] in err and "does not go with --query" in err
    _, err = inmo("prepare", path, path, *query, "-o", tmp_path / "data", code=2)
    assert "one database" in err
    log = tmp_path / "log.tsv"
    log.write_text("a\tb\n")
    _, err = inmo("prepare", log, *query, "-o", tmp_path / "data", code=2)
    assert "is none: expected postgresql://... or a file of SQLite" in err
    _, err = inmo("prepare", path, "-o", tmp_path / "data", code=5)
    assert "--query reads other tables" in err
    inmo("prepare", "sqlite:" + path, *query, "-o", tmp_path / "data")
    _, err = inmo("prepare", "sqlite:" + str(tmp_path / "missing"), *query, "-o", tmp_path / "other", code=4)
    assert "cannot open" in err and not (tmp_path / "missing").exists()


def test_a_blob_and_a_damaged_file(tmp_path):
    database = Sqlite(tmp_path)
    database.run("insert into events values (x'00ff', 1, 5, '2024-01-01', 'buy')")
    _, err = inmo("prepare", database.address, "--query", "select * from events", "-o", tmp_path / "data", code=3)
    assert "row 20001 of the query has a BLOB as its user_id" in err
    database.connection.close()
    size = os.path.getsize(database.address)
    with open(database.address, "r+b") as stream:
        for at in range(4096, size, 4096):
            stream.seek(at)
            stream.write(b"\xff" * 64)
    _, err = inmo("prepare", database.address, "--query", "select * from events", "-o", tmp_path / "data", code=4)
    assert "malformed" in err and not (tmp_path / "data").exists()


needs_postgres = pytest.mark.skipif(not POSTGRES, reason="needs a PostgreSQL server of its own: with_postgres.sh")


@needs_postgres
def test_a_password_in_the_address_is_refused(tmp_path):
    for address in ("postgresql://ann:secret@localhost/shop", "postgresql://localhost/shop?password=secret"):
        _, err = inmo("prepare", address, "--query", "select 1", "-o", tmp_path / "data", code=2)
        assert "has a password" in err and "PGPASSWORD" in err and "~/.pgpass" in err and "secret" not in err


@needs_postgres
def test_the_password_comes_from_the_environment(tmp_path):
    """The server demands one; it is taken from PGPASSWORD or from a .pgpass, and nothing else will do."""
    database = Postgres(tmp_path)
    hba = os.path.join(os.environ["INMO_TEST_PGDATA"], "pg_hba.conf")
    role = f"shop{time.monotonic_ns()}"
    database.run(f"create role {role} login password 'tops3cret'; grant select on events to {role}")
    with open(hba, encoding="utf-8") as stream:
        before = stream.read()
    try:
        with open(hba, "w", encoding="utf-8") as stream:
            stream.write(f"local all {role} scram-sha-256\n" + before)
        database.run("select pg_reload_conf()")
        time.sleep(0.5)
        address = f"postgresql://{role}@/{database.name}"
        words = ("prepare", address, "--query", "select user_id, product_id from events", "-o", tmp_path / "data", "--force")
        _, err = inmo(*words, code=4, env={"PGPASSFILE": "/dev/null"})
        assert "cannot reach" in err and "password" in err
        _, err = inmo(*words, code=4, env={"PGPASSWORD": "wrong"})
        assert "cannot reach" in err and "wrong" not in err
        inmo(*words, env={"PGPASSWORD": "tops3cret"})
        secrets = tmp_path / "pgpass"
        secrets.write_text(f"*:*:*:{role}:tops3cret\n")
        secrets.chmod(0o600)
        inmo(*words, env={"PGPASSFILE": str(secrets)})
        for name in ("data.safetensors", "meta.json"):
            assert b"tops3cret" not in (tmp_path / "data" / name).read_bytes()
    finally:
        with open(hba, "w", encoding="utf-8") as stream:
            stream.write(before)
        database.run("select pg_reload_conf()")


@needs_postgres
def test_a_connection_lost_in_the_middle(tmp_path):
    """The rows that came before are no log."""
    database = Postgres(tmp_path)
    slow = "select n as user_id, n as item_id, pg_sleep(case when n = 15000 then 600 end) as slept from generate_series(1, 100000) n"
    for bound in ((), ("--memory", "4M")):
        process = subprocess.Popen([PROGRAM, "prepare", database.address, "--query", slow, "-o", str(tmp_path / "data"), *bound],
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        time.sleep(1.5)
        database.run("select pg_terminate_backend(pid) from pg_stat_activity where query like '%generate_series(1, 100000)%' "
                     "and pid <> pg_backend_pid()")
        _, err = process.communicate(timeout=60 * SLOW)
        assert process.returncode == 4 and b"the query ended after" in err and b"terminating connection" in err, err
        assert not (tmp_path / "data").exists()
    _, err = inmo("prepare", "postgresql:///nowhere?host=/tmp/no-such-place", "--query", "select 1", "-o", tmp_path / "data", code=4)
    assert "cannot reach postgresql:///nowhere?host=/tmp/no-such-place" in err


@needs_postgres
def test_an_error_among_the_rows(tmp_path):
    database = Postgres(tmp_path)
    query = "select n as user_id, 10 / (50000 - n) as item_id from generate_series(1, 100000) n"
    _, err = inmo("prepare", database.address, "--query", query, "-o", tmp_path / "data", code=4)
    assert "the query ended after 49999 rows: division by zero" in err
