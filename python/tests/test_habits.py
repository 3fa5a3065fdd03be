"""Habits: Ctrl-C, progress, logging, tables in and out, options from the library's tables, docstrings."""

import doctest
import importlib
import logging
import os
import pkgutil
import signal
import subprocess
import sys
import textwrap

import numpy as np
import pytest

import inmo

MODULES = [f"inmo.{one.name}" for one in pkgutil.iter_modules(inmo.__path__) if one.name != "libinmo"]


@pytest.mark.parametrize("name", MODULES)
def test_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_ctrl_c_stops_and_goes_on(log, tmp_path):
    """SIGINT during training: KeyboardInterrupt, a checkpoint, and the same model after resuming as without interruption."""
    code = textwrap.dedent(
        """
        import os, signal, sys, inmo
        data = inmo.prepare(sys.argv[1], seed=3)
        options = dict(dim=8, epochs=40, patience=40, checkpoint=sys.argv[2] + "/c", seed=1, progress=False)
        told = []
        def watch(stage, done, total, seconds, loss, score):
            if stage == "training" and done >= 3 and not told:
                told.append(1)
                os.kill(os.getpid(), signal.SIGINT)
        try:
            inmo.train(data, callback=watch, **options)
        except KeyboardInterrupt as stopped:
            print("stopped:", stopped)
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
        assert os.path.exists(options["checkpoint"])
        inmo.train(data, resume=True, **options).save(sys.argv[2] + "/resumed")
        del options["checkpoint"]
        inmo.train(data, **options).save(sys.argv[2] + "/whole")
        """
    )
    done = subprocess.run([sys.executable, "-c", code, str(log), str(tmp_path)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("stopped: training stopped on request in epoch")
    assert (tmp_path / "resumed").read_bytes() == (tmp_path / "whole").read_bytes()


def test_callback_faults_end_the_call(data):
    def refuse(*told):
        raise ZeroDivisionError("from the callback")

    with pytest.raises(ZeroDivisionError, match="from the callback"):
        inmo.train(data, dim=4, epochs=3, callback=refuse)


def test_progress_on_request(data, capsys, monkeypatch):
    inmo.train(data, dim=4, epochs=2, progress=True)
    assert "training" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm.std", None)
    inmo.train(data, dim=4, epochs=2, progress=True)
    assert "training" in capsys.readouterr().err
    inmo.train(data, dim=4, epochs=2, progress=False)
    assert capsys.readouterr().err == ""


def test_logging(caplog):
    pairs = [(user, item) for user in range(30) for item in range(20) if (user + item) % 3]
    with caplog.at_level(logging.INFO, "inmo"):
        inmo.train(inmo.prepare(pairs, split="100/0/0"), model="mf", dim=4, epochs=1, hold_out=0)
    assert any("no validation part" in record.message and record.levelno == logging.WARNING for record in caplog.records)


def test_held_out_and_refitted():
    """Without a validation part one is held out, and the model has everything in the end."""
    pairs = [(user, item) for user in range(30) for item in range(20) if (user + item) % 3]
    for model, hold_out in (("mf", 0.1), ("inmo-mf", 0.2)):
        trained = inmo.train(pairs, model=model, dim=4, epochs=2, hold_out=hold_out)
        assert trained.info["interactions"] == len(pairs)
        assert trained.report["best_epoch"] >= 0 and trained.refit["how"] == "train"
        assert abs(trained.refit["held-out"] / len(pairs) - hold_out) < 0.05
        assert inmo.train(pairs, model=model, dim=4, epochs=2, refit="none").refit == {}


def test_tables_in():
    columns = {"userId": [1, 1, 2, 2, 3], "movieId": ["x", "y", "x", "z", "z"], "rating": [5, 4, 2, 5, 4], "timestamp": [9, 8, 7, 6, 5]}
    expected = inmo.prepare(columns, split="100/0/0")
    assert expected.users == ["1", "2", "3"] and expected.items == ["x", "y", "z"]
    forms = [[(u, i, r, t) for u, i, r, t in zip(*columns.values())]]
    pandas, polars, pyarrow = (pytest.importorskip(name) for name in ("pandas", "polars", "pyarrow"))
    forms += [pandas.DataFrame(columns), polars.DataFrame(columns), pyarrow.table(columns)]
    for form in forms:
        found = inmo.prepare(form, split="100/0/0")
        assert found.users == expected.users and (found.part("train") != expected.part("train")).nnz == 0
    renamed = pandas.DataFrame(columns).rename(columns={"userId": "a", "movieId": "b", "rating": "c"})
    assert inmo.prepare(renamed, columns="user,item,rating,time", split="100/0/0").users == expected.users
    assert inmo.prepare(renamed, columns="user,item,-", split="100/0/0").info["train"] == 5
    with pytest.raises(inmo.InputError, match="the columns a, b, c"):
        inmo.prepare(renamed)


def test_parquet(tmp_path):
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    parquet.write_table(pyarrow.table({"user_id": ["a", "b", "b"], "item_id": [1, 1, 2]}), tmp_path / "log.parquet")
    assert inmo.prepare(tmp_path / "log.parquet", split="100/0/0").info["train"] == 3
    (tmp_path / "bad.parquet").write_text("nothing")
    with pytest.raises(inmo.InputError):
        inmo.read(tmp_path / "bad.parquet")


def test_tables_out(model, data):
    pandas = pytest.importorskip("pandas")
    frame = model.recommend(items=model.items[:2], k=4, explain=1).to_frame()
    assert isinstance(frame, pandas.DataFrame) and list(frame.columns) == ["id", "score", "because"] and len(frame) == 4
    assert model.explain(model.items[5], items=model.items[:2]).to_frame()["contribution"].sum() > 0
    assert model.evaluate(data).to_frame().loc["all"]["ndcg@20"] > 0


def test_titles_and_lists_as_columns(data, tmp_path, monkeypatch):
    """Titles stay with the model; the lists of all users become columns, which pyarrow writes."""
    import types

    path = tmp_path / "titles.csv"
    path.write_text("id,title,kind\n" + "".join(f'{item},"The {item}, so called",x\n' for item in data.items), encoding="utf-8")
    model = inmo.train(data, model="inmo-mf", dim=8, epochs=1, titles=path)
    model.save(tmp_path / "m.inmo")
    again = inmo.load(tmp_path / "m.inmo")
    assert again.title(data.items[3]) == f"The {data.items[3]}, so called" and again.title("nothing") is None
    assert inmo.train(data, model="popular").title(data.items[3]) is None
    with pytest.raises(inmo.InputError, match="is empty"):
        (tmp_path / "empty").write_text("")
        inmo.train(data, model="popular", titles=tmp_path / "empty")
    written = {}
    parquet = types.SimpleNamespace(write_table=lambda table, part: (written.update(table), open(part, "w").close()))
    monkeypatch.setitem(sys.modules, "pyarrow", types.SimpleNamespace(table=dict, parquet=parquet))
    again.save_lists(tmp_path / "lists.parquet", k=3)
    assert (tmp_path / "lists.parquet").exists() and not (tmp_path / "lists.parquet.part").exists()
    assert list(written) == ["user", "rank", "item", "score", "title"] and len(set(map(len, written.values()))) == 1
    assert list(dict.fromkeys(written["user"])) == again.users and set(written["rank"]) == {1, 2, 3}
    user = again.users[5]
    mine = [n for n, other in enumerate(written["user"]) if other == user]
    assert [written["item"][n] for n in mine] == again.recommend(user, k=3).ids
    assert written["title"][mine[0]] == again.title(written["item"][mine[0]])
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(ImportError, match="needs pyarrow"):
        again.save_lists(tmp_path / "more.parquet")


def test_lists_as_a_parquet_file(data, tmp_path):
    """By the real pyarrow: types that other teams expect, read by pandas and polars, and back into a log."""
    pyarrow, pandas, polars = (pytest.importorskip(name) for name in ("pyarrow", "pandas", "polars"))
    from pyarrow import parquet

    (tmp_path / "titles.csv").write_text("id,title\n" + "".join(f"{item},Nº {item}\n" for item in data.items), encoding="utf-8")
    model = inmo.train(data, model="inmo-mf", dim=8, epochs=1, titles=tmp_path / "titles.csv")
    path = tmp_path / "lists.parquet"
    model.save_lists(path, users=model.users[:4], k=2)
    table = parquet.read_table(path)
    assert table.schema.names == ["user", "rank", "item", "score", "title"]
    kinds = {"user": pyarrow.types.is_string, "rank": pyarrow.types.is_integer, "item": pyarrow.types.is_string,
             "score": pyarrow.types.is_floating, "title": pyarrow.types.is_string}
    assert all(kinds[field.name](field.type) or pyarrow.types.is_large_string(field.type) for field in table.schema)
    rows = table.to_pydict()
    assert rows["rank"] == [1, 2] * 4 and rows["item"][:2] == model.recommend(model.users[0], k=2).ids
    assert rows["title"] == [f"Nº {item}" for item in rows["item"]]
    assert pandas.read_parquet(path)["item"].tolist() == rows["item"] == polars.read_parquet(path)["item"].to_list()
    again = inmo.prepare(path, columns="user,-,item,-,-", split="100/0/0")
    assert again.info["train"] == 8 and again.users == model.users[:4]
    with pytest.raises(OSError):
        model.save_lists(tmp_path / "absent" / "lists.parquet")
    assert os.listdir(tmp_path) and not list(tmp_path.glob("*.part"))


def test_every_option_is_a_keyword(root):
    """Each option of the program's training, reading, preparing ... is there under its name with underscores."""
    names = {command: {option.name for option in inmo.options(command)} for command in ("read", "prepare", "synth", "train", "tune", "eval")}
    assert {"dim", "learning_rate", "bm25_k1"} <= names["train"] and {"split", "k_core"} <= names["prepare"]
    if root is None:
        pytest.skip("the reference is with the sources")
    reference = (root / "docs" / "cli.md").read_text(encoding="utf-8")
    section = reference[reference.index("## inmo train") : reference.index("## inmo tune")]
    known = names["train"] | names["read"] | names["prepare"] | {"recipe", "like", "templates", "lr", "titles"}
    program_only = {"output", "no_checkpoint", "keep_checkpoint", "threads", "quiet", "verbose", "json", "force", "help", "config", "log_times", "query", "from"}  # from: from_ in Python
    found = {line.split("`--")[1].split("`")[0].split(" ")[0].replace("-", "_") for line in section.split("\n") if "`--" in line and line.startswith("| `")}
    assert len(found) > 50
    assert found - known <= program_only, found - known
    for option in inmo.options("train", model="mf"):
        assert option.help and option.group and option.expected


def test_types_are_checked(root):
    """mypy finds nothing, with its strict settings."""
    pytest.importorskip("mypy")
    if root is None:
        pytest.skip("the settings are with the sources")
    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--no-error-summary", "--cache-dir", os.devnull, "--config-file", "pyproject.toml"],
        cwd=root, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_gil_is_free(model):
    """Python goes on while the library works."""
    import threading

    ticks, done = [0], threading.Event()

    def count():
        while not done.is_set():
            ticks[0] += 1

    thread = threading.Thread(target=count)
    thread.start()
    for _ in range(20):
        model.recommend_many(users=model.users, k=20)
    done.set()
    thread.join()
    assert ticks[0] > 100


def test_signal_of_others_is_left_alone(data):
    before = signal.signal(signal.SIGINT, lambda *about: None)
    try:
        own = signal.getsignal(signal.SIGINT)
        inmo.train(data, dim=4, epochs=1)
        assert signal.getsignal(signal.SIGINT) is own
    finally:
        signal.signal(signal.SIGINT, before)


def test_matrices_make_the_same_model_as_logs(matrix):
    pairs = [(u, i) for u, i in zip(*matrix.nonzero())]
    one = inmo.train(inmo.dataset(matrix, split="80/10/10", seed=4), model="ease")
    rows = np.array(pairs)
    assert rows.shape[1] == 2 and one.info["interactions"] > 0
