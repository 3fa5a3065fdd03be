"""The program's way: read, prepare, train, evaluate, ask, observe, save, load."""

import copy
import pickle
import subprocess
import sys

import numpy as np
import pytest

import inmo


def test_version(root):
    assert inmo.__version__.count(".") == 2
    if root:
        assert f'INMO_VERSION "{inmo.__version__}"' in (root / "include" / "inmo.h").read_text()


def test_prepare_and_parts(data):
    info = data.info
    assert info["users"] == 200 and info["train"] > info["test"] > 0
    assert len(data.users) == 200 and len(data.items) == info["items"]
    train, test = data.part("train"), data.part("test")
    assert train.shape == (200, info["items"]) and train.nnz == info["train"]
    assert train.multiply(test).nnz == 0
    assert info["description"]["options"]["seed"] == 3


def test_train_and_ask(model, data):
    assert model.name == "inmo-lightgcn" and model.configuration["dim"] == 16
    assert model.report["epochs"] == len(model.record) == 6
    assert set(model.chosen) == {"layers", "temperature", "walks", "links", "link-ridge", "link-popularity", "prior"}
    best = model.recommend(items=model.items[:3], k=7)
    assert len(best) == 7 and len(set(best.ids) - set(model.items[:3])) == 7
    assert list(best.scores) == sorted(best.scores, reverse=True)
    assert best.coverage == 1 and not best.fallback and best.unknown_items == 0
    user = data.users[5]
    assert len(model.recommend(user=user, k=3, allow=model.items[:50])) == 3
    assert not set(model.recommend(user, deny=best.ids).ids) & set(best.ids)
    assert model.recommend(items=["no such thing"]).fallback


def test_reasons(model):
    history = model.items[2:6]
    found = model.recommend(items=history, k=4, explain=2)
    assert all(len(why.parts) == 2 for why in found.because)
    whole = model.explain(found[0].id, items=history)
    assert abs(whole.score - found[0].score) < 1e-4
    assert abs(sum(part.score for part in whole.parts) - whole.score) < 1e-4
    assert {part.id for part in whole.parts} >= set(history)
    assert "because of" in found.table() and "<table>" in found._repr_html_() and history[0] in whole._repr_html_()


def test_similar(model):
    found = model.similar(item=model.items[0], k=5)
    assert found.measure == "cosine" and len(found) == 5 and model.items[0] not in found.ids
    assert len(model.similar(user=model.users[0], k=5)) == 5


def test_evaluate(model, data):
    found = model.evaluate(data, k=[5, 20])
    assert set(found) >= {"ndcg@5", "recall@20"} and 0 < found["ndcg@5"] < 1
    assert found.groups["all"]["ndcg@20"] == found["ndcg@20"] and found.users["all"] == 200
    assert abs(np.nanmean(found.user_ndcg) - found["ndcg@5"]) < 1e-6
    assert "ndcg@20" in found.table() and "<td>" in found._repr_html_()
    assert model.evaluate(data, part="valid")["ndcg@20"] != found["ndcg@20"]


def test_observe(data):
    model = inmo.train(data, model="inmo-mf", dim=8, epochs=2)
    item, other = model.items[0], model.items[9]
    with pytest.raises(inmo.UnknownIdError):
        model.recommend(user="somebody new")
    view = model.observe([("somebody new", item), ("somebody new", other)])
    assert view is model.live and view.freshness["pending"] == 2
    first = model.recommend(user="somebody new")
    assert first == model.recommend(items=[item, other])
    view.observe(("somebody new", "an unheard-of item"))
    assert len(view.refresh().user_vectors) == 201
    view.forget(user="somebody new")
    with pytest.raises(LookupError):
        view.recommend(user="somebody new")
    again = model.view(observed=[("somebody new", item), ("somebody new", other)])
    assert np.allclose(again.recommend(user="somebody new").scores, first.scores, rtol=0.2, atol=0.2)
    assert "events observed" in repr(view)


def test_seen(data, log):
    model = inmo.train(data, model="ease")
    user = model.users[0]
    first = model.recommend(user=user, k=2)
    assert model.observe_seen([(user, first[0].id)]) is model.live
    assert model.recommend(user=user, k=1)[0] == first[1]
    low = inmo.read([("a", "x", 5.0), ("a", "y", 2.0), ("b", "y", 4.0)], columns="user,item,rating", min_rating=4)
    rated = inmo.train(inmo.prepare(low, split="100/0/0"), model="item-knn")
    assert "y" not in [entry.id for entry in rated.recommend(user="a")]
    with pytest.raises(inmo.InputError, match="the model was trained on"):
        inmo.train(inmo.prepare(log, split="90/10/0"), model="ease").evaluate(data)


def test_many(model):
    users = model.users[:80]
    items, scores = model.recommend_many(users=users, k=6)
    assert items.shape == scores.shape == (80, 6) and items.dtype == np.int32 and scores.dtype == np.float32
    for place in (0, 41, 79):
        one = model.recommend(user=users[place], k=6)
        assert [model.items[n] for n in items[place]] == one.ids
        assert np.allclose(scores[place], one.scores, atol=1e-4)
    with pytest.raises(inmo.UnknownIdError):
        model.recommend_many(users=["nobody"] * 3)


def test_save_load_copy_pickle(model, tmp_path):
    path = tmp_path / "model.inmo"
    model.save(path)
    with pytest.raises(FileExistsError):
        model.save(path)
    model.save(path, force=True)
    ask = {"items": model.items[:4], "k": 5}
    expected = model.recommend(**ask)
    for other in (inmo.load(path), pickle.loads(pickle.dumps(model)), copy.deepcopy(model)):
        assert other.recommend(**ask) == expected and other is not model
        other.save(tmp_path / "again.inmo", force=True)
        assert (tmp_path / "again.inmo").read_bytes() == path.read_bytes()
    with pytest.raises(TypeError):
        pickle.dumps(model.live)


def test_warm_start(data, tmp_path):
    first = inmo.train(data, model="inmo-mf", dim=12, epochs=6, dropout=0.2)
    path = tmp_path / "first.inmo"
    first.save(path)
    warm = inmo.train(data, from_=path)
    # On the same data the first model, refitted, has seen everything, so nothing is left to validate by and to refit on.
    same = {**warm.configuration, "refit": first.configuration["refit"]}
    assert warm.name == "inmo-mf" and same == first.configuration and warm.configuration["refit"] == "none"
    assert warm.report["epochs"] == 1 and "from" in warm.origin
    with pytest.raises(ValueError, match="dim"):
        inmo.train(data, from_=path, dim=16)


def test_warm_start_weighs_again_what_was_weighed(data, tmp_path):
    first = inmo.train(data, dim=8, epochs=2, refit="none", walks=2.0)
    assert "walks" not in first.chosen and "links" in first.chosen
    path = tmp_path / "first.inmo"
    first.save(path)
    warm = inmo.train(data, from_=path, from_epochs=1, refit="none")
    assert warm.configuration["walks"] == 2.0 and "walks" not in warm.chosen and "links" in warm.chosen


def test_dataset_files(data, tmp_path):
    data.save(tmp_path / "data")
    for other in (inmo.open_dataset(tmp_path / "data"), pickle.loads(pickle.dumps(data))):
        assert (other.part("train") != data.part("train")).nnz == 0 and other.users == data.users


def test_export(model, tmp_path):
    model.export(tmp_path / "items")
    found = np.load(tmp_path / "items.npy")
    assert np.array_equal(found, model.live.item_vectors)
    assert (tmp_path / "items.ids").read_text().split("\n")[:-1] == model.items
    with pytest.raises(FileExistsError):
        model.export(tmp_path / "items")


def test_arrays_are_views(model):
    vectors = model.live.item_vectors
    assert not vectors.flags.owndata and not vectors.flags.writeable
    again = model.live.item_vectors
    assert vectors.__array_interface__["data"][0] == again.__array_interface__["data"][0]
    user, item = model.users[3], model.items[8]
    score = model.explain(item, user=user).score
    product = model.live.user_vectors[3] @ vectors[8]
    assert product <= score + 1e-4  # walks add to it


def test_arrays_outlive_everything(data):
    model = inmo.train(data, model="inmo-mf", dim=8, epochs=1)
    vectors = model.live.item_vectors
    before = vectors.copy()
    model.observe([("x", model.items[0])]).refresh()
    del model
    assert np.array_equal(vectors, before)


def test_tensors(data):
    model = inmo.train(data, model="item-knn", neighbours=10)
    found = model.tensors
    assert found["item-knn.offset"][-1] == len(found["item-knn.item"]) == len(found["item-knn.weight"])
    kept = found["item-knn.weight"]
    total = float(kept.sum())
    del model, found
    assert float(kept.sum()) == total


def test_tune(data, tmp_path):
    found = inmo.tune(data, {"dim": [4, 8]}, tmp_path / "search", model="inmo-mf", epochs=1, method="grid")
    assert {trial["dim"] for trial in found.trials} == {4, 8} and found.stopped == "done"
    assert found.trials[0]["score"] >= found.trials[1]["score"] and found.best["dim"] == found.trials[0]["dim"]
    again = inmo.train(data, progress=False, **found.best)
    assert abs(again.report["best_score"] - found.trials[0]["score"]) < 1e-12
    assert "dim" in repr(found) and "<table>" in found._repr_html_()
    assert found.path == str(tmp_path / "search" / "best.inmo") and "<svg" in open(found.page, encoding="utf-8").read()
    again.save(tmp_path / "again.inmo")
    assert open(found.path, "rb").read() == (tmp_path / "again.inmo").read_bytes()


def test_tune_without_a_search(data):
    """What matters is searched, beginning with the defaults; what is given is not; the best model is there."""
    found = inmo.tune(data, model="gf-cf", trials=4, low_pass=0.1)
    assert found.settings == ["dim"] and len(found.trials) == 4 and found.path is None and found.page is None
    assert next(trial for trial in found.trials if trial["trial"] == 1)["dim"] == "auto"
    assert found.model.name == "gf-cf" and found.model.recommend(items=found.model.items[:3], k=2)
    several = inmo.tune(data, model=["popular", "ease", "item-knn"], trials=7)
    assert {trial["model"] for trial in several.trials} == {"popular", "ease", "item-knn"} and len(several.trials) == 7
    assert several.best["model"] == several.model.name == several.trials[0]["model"]
    assert [trial["score"] for trial in several.trials] == sorted((trial["score"] for trial in several.trials), reverse=True)
    assert next(trial for trial in several.trials if trial["model"] == "popular")["l2"] is None
    everything = inmo.tune(data, model="all", trials=18, epochs=1, dim=4, max_seconds=1)
    assert everything.planned == 18 and len({trial["model"] for trial in everything.trials}) == len(everything.trials)


def test_import_is_quick():
    """By the processor's time, which other programs do not lengthen much; bench/compare_implicit.py measures the seconds."""
    code = "import time; t = time.process_time(); import inmo; print(time.process_time() - t)"
    seconds = min(float(subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout) for _ in range(3))
    assert seconds < 1
    code = "import sys, inmo; print([name for name in ('scipy', 'pandas', 'tqdm', 'pyarrow') if name in sys.modules])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"
