"""Logs brought in by `inmo serve --import` and `--log`: events keep their types, as they do through POST /api/import, whose lines
are read by the same code; low ratings only mark as seen; memory does not grow with the file."""

import gzip
import os
import subprocess

from conftest import PROGRAM, run

EVENTS = [(f"u{n % 40}", f"i{(n * 7) % 23}", ("buy", "view", "like")[n % 3], 1700000000 + n) for n in range(600)]


def text_of(separator=",", header="user,item,type,time"):
    lines = [header.replace(",", separator)] if header else []
    return "\n".join(lines + [separator.join(map(str, event)) for event in EVENTS]) + "\n"


def exported(server):
    return sorted(server.ask("GET", "/api/export")[1].splitlines())


def test_a_file_and_a_request_give_the_same_store(serve, tmp_path):
    posted = serve(store="posted.db")
    assert posted.ask("POST", "/api/import", raw=text_of().encode())[0] == 200
    expected = exported(posted)
    assert all(any(f"{kind}" in line for line in expected) for kind in ("buy", "view", "like"))
    json_lines = "".join(f'{{"UserId": "{u}", "ItemId": "{i}", "FeedbackType": "{t}", "Timestamp": {when}}}\n' for u, i, t, when in EVENTS)
    files = {"a.csv": (text_of().encode(), ()), "b.csv.gz": (gzip.compress(text_of().encode()), ()),
             "c.tsv": (text_of("\t").encode(), ()), "d.csv": (text_of(";").replace("\n", "\r\n").encode(), ()),
             "e.jsonl": (json_lines.encode(), ()), "f.txt": (text_of(",", None).encode(), ("--columns", "user,item,event,time")),
             "g.csv": (text_of(",", "kunde,artikel,art,wann").encode(), ("--columns", "user,item,event,time", "--header", "yes")),
             "h.csv": (text_of(",", "customer,sku,action,ts").encode("utf-16"), ())}
    for name, (data, options) in files.items():
        (tmp_path / name).write_bytes(data)
        run("serve", "--store", tmp_path / f"{name}.db", "--import", tmp_path / name, *options)
        assert exported(serve(store=f"{name}.db")) == expected, name
    for new in (len(expected) - 1, 0):
        again = subprocess.run([PROGRAM, "serve", "--store", tmp_path / "again.db", "--import", tmp_path / "a.csv", "--import", tmp_path / "c.tsv"],
                               capture_output=True, text=True, check=True)
        assert f"inmo: {new} events are new" in again.stderr, again.stderr


def test_views_are_not_listed_and_not_learned_from(serve, tmp_path):
    (tmp_path / "log.csv").write_text("user,item,event\n" + "".join(f"v{n % 9},i{n % 12},buy\n" for n in range(300)) +
                                      "ann,i1,buy\nann,i2,view\nann,i3,view\n")
    server = serve("--log", tmp_path / "log.csv", "--seen", "view", "--first-events", "0")
    listed = server.get("/api/recommend/ann?n=12")
    assert listed and not {"i1", "i2", "i3"} & set(listed), listed
    assert server.get("/api/feedback/view/ann/i2")["ItemId"] == "i2"


def test_low_ratings_come_in_as_seen(serve, tmp_path):
    (tmp_path / "r.csv").write_text("userId,movieId,rating,timestamp\nann,a,5,1\nann,b,2,2\nann,c,3,3\nbob,b,4.5,4\nbob,d,x,5\n")
    done = subprocess.run([PROGRAM, "serve", "--store", tmp_path / "s.db", "--import", tmp_path / "r.csv"], capture_output=True, text=True)
    assert done.returncode == 3 and "r.csv:6: rating: found \"x\", expected a number" in done.stderr, done.stderr
    run("serve", "--store", tmp_path / "s.db", "--import", tmp_path / "r.csv", "--skip-bad", "1")
    server = serve(store="s.db")
    assert [server.get(f"/api/feedback/{t}/{u}/{i}")["ItemId"] for t, u, i in
            (("like", "ann", "a"), ("seen", "ann", "b"), ("seen", "ann", "c"), ("like", "bob", "b"))] == ["a", "b", "c", "b"]
    run("serve", "--store", tmp_path / "t.db", "--import", tmp_path / "r.csv", "--skip-bad", "1", "--min-rating", "3", "--seen", "view",
        "--import-type", "rated")
    other = serve(store="t.db")
    assert other.get("/api/feedback/rated/ann/c")["ItemId"] == "c" and other.get("/api/feedback/view/ann/b")["ItemId"] == "b"


def test_logs_without_types_are_read_as_before(serve, tmp_path):
    (tmp_path / "plain.tsv").write_text("".join(f"u{n % 5}\ti{n}\n" for n in range(50)))
    (tmp_path / "lists.txt").write_text("u1 a b c\nu2 a d\n")
    for name, rows in (("plain.tsv", 50), ("lists.txt", 5)):
        run("serve", "--store", tmp_path / f"{name}.db", "--import", tmp_path / name)
        assert len(exported(serve(store=f"{name}.db"))) == rows + 1, name


def test_memory_does_not_grow_with_the_file(tmp_path):
    """The same events again and again: the store has each once, and a log that was read whole would have 8 bytes for each."""
    peak = []
    for repeats in (1, 60):
        path = tmp_path / f"{repeats}.csv"
        with open(path, "w", encoding="utf-8") as stream:
            stream.write("user,item,event\n")
            stream.writelines(f"somebody-{n % 5000},i{n % 50},{'buy' if n % 2 else 'view'}\n" for n in range(20000 * repeats))
        child = subprocess.Popen([PROGRAM, "serve", "--store", tmp_path / f"{repeats}.db", "--import", path], stderr=subprocess.DEVNULL)
        _, status, usage = os.wait4(child.pid, 0)
        assert status == 0
        peak.append(usage.ru_maxrss)
    assert peak[1] < peak[0] + 3 * 1024, f"{peak[0]} KB for 20,000 lines, {peak[1]} KB for 1,200,000"
