"""The program and the package: the same bytes, the same numbers, the same lists, for the same options and seed."""

import json

import numpy as np
import pytest

import inmo

def printed(value):
    """Numbers as the program prints them in JSON, inside anything."""
    if isinstance(value, dict):
        return {name: printed(one) for name, one in value.items()}
    return [printed(one) for one in value] if isinstance(value, (list, tuple)) else value if isinstance(value, str) else float(f"{value:.10g}")


MODELS = ["inmo-lightgcn", "inmo-mf", "lightgcn", "mf", "item-knn", "ease", "ials", "gf-cf", "mult-vae", "popular"]


def same_synth(program, tmp_path):
    program("synth", "--interactions", 3000, "--seed", 9, "--times", "-o", tmp_path / "program.tsv")
    inmo.synth(tmp_path / "package.tsv", interactions=3000, seed=9, times=True)
    return (tmp_path / "program.tsv").read_bytes() == (tmp_path / "package.tsv").read_bytes()


def test_synth(program, tmp_path):
    assert same_synth(program, tmp_path)


@pytest.mark.parametrize("scenario", ["transductive", "new-users-items"])
def test_prepare(program, log, tmp_path, scenario):
    program("prepare", log, "--k-core", 3, "--seed", 4, "--scenario", scenario, "-o", tmp_path / "program")
    inmo.prepare(log, k_core=3, seed=4, scenario=scenario).save(tmp_path / "package")
    for name in ("data.safetensors", "meta.json"):
        assert (tmp_path / "program" / name).read_bytes() == (tmp_path / "package" / name).read_bytes()


@pytest.mark.parametrize("name", MODELS)
def test_models_and_answers(program, log, tmp_path, name):
    program("prepare", log, "--seed", 3, "-o", tmp_path / "data")
    words = ["--model", name, "--seed", 5] + (["--dim", 8, "--epochs", 3] if name not in ("item-knn", "ease", "popular") else [])
    program("train", tmp_path / "data", *words, "-o", tmp_path / "program.inmo", "-q")
    options = {"dim": 8, "epochs": 3} if name not in ("item-knn", "ease", "popular") else {}
    model = inmo.train(inmo.prepare(log, seed=3), model=name, seed=5, **options)
    model.save(tmp_path / "package.inmo")
    assert (tmp_path / "program.inmo").read_bytes() == (tmp_path / "package.inmo").read_bytes()

    found = model.evaluate(inmo.open_dataset(tmp_path / "data"), k=[5, 20])
    told = json.loads(program("evaluate", tmp_path / "program.inmo", tmp_path / "data", "--k", "5,20", "--json"))
    assert told["metrics"] == printed(dict(found))
    assert {group: one["metrics"] for group, one in told["groups"].items()} == printed({g: m for g, m in found.groups.items() if g != "all"})

    user = model.users[7]
    one = json.loads(program("recommend", tmp_path / "program.inmo", "--user", user, "--k", 9, "--json"))
    assert [[entry["item"], entry["score"]] for entry in one["items"]] == printed(list(model.recommend(user, k=9)))
    lists = program("recommend", tmp_path / "program.inmo", "--all-users", "--k", 5, "-o", "-", "--json").splitlines()
    ids, scores = model.recommend_many(users=[json.loads(line)["user"] for line in lists], k=5)
    for line, items, values in zip(lists, ids, scores):
        entries = json.loads(line)["items"]
        assert [entry["item"] for entry in entries] == [model.items[n] for n in items[: len(entries)]]
        assert np.allclose([entry["score"] for entry in entries], values[: len(entries)], rtol=1e-5, atol=1e-6)


def test_raw_log(program, log, tmp_path):
    program("train", log, "--model", "inmo-mf", "--dim", 8, "--epochs", 2, "-o", tmp_path / "program.inmo", "-q")
    inmo.train(log, model="inmo-mf", dim=8, epochs=2).save(tmp_path / "package.inmo")
    assert (tmp_path / "program.inmo").read_bytes() == (tmp_path / "package.inmo").read_bytes()


def test_paper_recipe(program, log, tmp_path):
    program("train", log, "--model", "inmo-mf", "--recipe", "paper", "--dim", 8, "--epochs", 1, "-o", tmp_path / "program.inmo", "-q")
    inmo.train(log, model="inmo-mf", recipe="paper", dim=8, epochs=1).save(tmp_path / "package.inmo")
    assert (tmp_path / "program.inmo").read_bytes() == (tmp_path / "package.inmo").read_bytes()


def test_explain_similar_observed(program, model, tmp_path):
    model.save(tmp_path / "m.inmo")
    history = model.items[:3]
    told = json.loads(program("explain", tmp_path / "m.inmo", "--items", ",".join(history), "--item", model.items[9], "--json"))
    found = model.explain(model.items[9], items=history)
    assert told["score"] == printed(found.score)
    told = json.loads(program("similar", tmp_path / "m.inmo", "--item", model.items[2], "--k", 4, "--json"))
    assert printed([one.score for one in model.similar(item=model.items[2], k=4)]) == [one["score"] for one in told["similar"]]
    (tmp_path / "late.tsv").write_text("".join(f"newcomer\t{item}\n" for item in history))
    told = json.loads(program("recommend", tmp_path / "m.inmo", "--user", "newcomer", "--observed", tmp_path / "late.tsv", "--json"))
    view = model.view(observed=tmp_path / "late.tsv")
    assert [[entry["item"], entry["score"]] for entry in told["items"]] == printed(list(view.recommend("newcomer")))


def test_export(program, model, tmp_path):
    model.save(tmp_path / "m.inmo")
    program("export", tmp_path / "m.inmo", "-o", tmp_path / "program")
    model.export(tmp_path / "package")
    assert np.array_equal(np.load(tmp_path / "program.npy"), np.load(tmp_path / "package.npy"))
    assert (tmp_path / "program.ids").read_bytes() == (tmp_path / "package.ids").read_bytes()


def test_safetensors_reads_the_model_file(model, tmp_path):
    numpy = pytest.importorskip("safetensors.numpy")
    model.save(tmp_path / "m.inmo")
    found = numpy.load_file(tmp_path / "m.inmo")
    assert found and all(isinstance(one, np.ndarray) for one in found.values())
    sizes = {name: one.shape for name, one in found.items()}
    assert any(shape and shape[-1] == 16 for shape in sizes.values()), sizes
    offsets = [one for name, one in found.items() if name == "users.offset"]
    assert len(offsets[0]) == len(model.users) + 1
    text = found["users.text"].tobytes().split(b"\0")
    assert [one.decode() for one in text[: len(model.users)]] == model.users
