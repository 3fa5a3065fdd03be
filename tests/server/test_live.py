"""Freshness: the contract of the server, number by number, for every kind of model that serves the unseen."""

import json
import threading
import time

import pytest
from conftest import SLOW, run

MODELS = ["inmo-lightgcn", "inmo-mf", "ials", "item-knn"]


def listed(answer):
    return [(row["id"], row["score"]) for row in answer["items"]]


def same(found, expected):
    """The same items in the same order, scores up to the digits that are printed; ties may stand either way."""
    assert len(found) == len(expected)
    for (left, a), (right, b) in zip(sorted(found, key=lambda row: (-round(row[1], 4), row[0])),
                                     sorted(expected, key=lambda row: (-round(row[1], 4), row[0]))):
        assert left == right and abs(a - b) <= 2e-5 * max(1, abs(b)), (left, a, right, b)


def told(*words):
    """What `inmo recommend` says."""
    return [(row["item"], row["score"]) for row in json.loads(run("recommend", *words, "--json", "--quiet"))["items"]]


@pytest.mark.parametrize("name", MODELS)
def test_after_a_refresh_as_recommend_with_the_observed_log(serve, world, tmp_path, name):
    server = serve(world.model(name), "--refresh", "0")
    events = [("new-user", "jazz-01"), ("new-user", "jazz-02"), ("new-user", "new-item"), ("u001", "new-item"),
              ("u002", "new-item"), ("u002", "techno-03"), ("u003", "folk-01")]
    server.feedback(*events)
    server.post("/api/model/refresh", {})
    assert server.get("/api/model")["freshness"]["pending"] == 0
    (tmp_path / "events.tsv").write_text("".join(f"{u}\t{i}\n" for u, i in events))
    for user in ("new-user", "u001", "u002", "u050"):
        same(listed(server.post("/api/recommend", {"user": user, "n": 15})),
             told(world.model(name), "--observed", tmp_path / "events.tsv", "--user", user, "--k", 15))


@pytest.mark.parametrize("name", MODELS)
def test_between_refreshes_as_recommend_with_that_history(serve, world, name):
    server = serve(world.model(name), "--refresh", "0")
    history = []
    for item in ("jazz-01", "techno-02", "jazz-04"):
        history.append(item)
        server.feedback(("somebody", item))
        same(listed(server.post("/api/recommend", {"user": "somebody", "n": 15})),
             told(world.model(name), "--items", ",".join(history), "--k", 15))
    assert server.get("/api/model")["freshness"]["pending"] == 3


def test_order_and_repeats_of_delivery_change_nothing(serve, world, tmp_path):
    events = [(f"n{u}", item) for u in range(3) for item in ("jazz-01", "techno-02", "folk-03")]
    answers = []
    for n, order in enumerate((events, events[::-1], events + events[3:] + events)):
        (tmp_path / str(n)).mkdir()
        server = serve(world.model("inmo-lightgcn"), folder=tmp_path / str(n))
        for event in order:
            server.feedback(event)
        answers.append([listed(server.post("/api/recommend", {"user": f"n{u}", "n": 10})) for u in range(3)])
    for answer in answers[1:]:
        for left, right in zip(answers[0], answer):
            same(left, right)


def test_an_unseen_item_is_recommended_within_a_second(serve, world):
    server = serve(world.model("inmo-lightgcn"), "--refresh", "0.3")
    fans = [line.split("\t")[0] for line in world.log.read_text().splitlines() if line.endswith("\tjazz-01")][:25]
    began = time.monotonic()
    server.feedback(*((fan, "brand-new") for fan in fans))
    server.wait_for(lambda: "brand-new" in [row["id"] for row in server.post(
        "/api/recommend", {"items": ["jazz-01", "jazz-02", "jazz-03"], "n": 50})["items"]], seconds=1)
    assert time.monotonic() - began < 1 * SLOW


def test_who_is_forgotten_stays_forgotten(serve, world):
    server = serve(world.model("inmo-lightgcn"))
    known = server.post("/api/recommend", {"user": "u001", "n": 5})
    assert not known["fallback"]
    server.ask("DELETE", "/api/user/u001")
    server.ask("DELETE", "/api/item/jazz-01")
    for again in range(2):
        answer = server.post("/api/recommend", {"user": "u001", "n": 5})
        assert answer["fallback"] and answer["coverage"] == 0
        everything = server.post("/api/recommend", {"items": ["jazz-02"], "n": 1000})
        assert "jazz-01" not in [row["id"] for row in everything["items"]]
        assert server.ask("GET", "/api/item/jazz-01/neighbors")[0] == 404
        if not again:  # the model file still knows them; the store says that it must not
            server.stop()
            server.start()
            server.connection = None
    server.feedback(("u001", "techno-01"))
    assert not server.post("/api/recommend", {"user": "u001", "n": 5})["fallback"]


def test_begins_with_nothing_then_popularity_then_a_model(serve, world):
    server = serve("--first-events", "3000", "--train=--dim 16 --epochs 2")
    assert server.get("/api/recommend/anybody") == [] and server.get("/api/model")["model"] is None
    server.feedback(("a", "x"), ("b", "x"), ("b", "y"))
    assert server.get("/api/recommend/anybody") == ["x", "y"] and server.get("/api/recommend/a") == ["y"]
    assert server.get("/api/model")["model"]["name"] == "popular"
    server.ask("POST", "/api/import", raw=("user,item\n" + world.log.read_text().replace("\t", ",")).encode())
    served = server.wait_for(lambda: (lambda m: m if m["number"] else None)(server.get("/api/model")["model"]))
    assert served["name"] == "inmo-lightgcn" and served["record"]
    assert not server.post("/api/recommend", {"user": "u001", "n": 5})["fallback"]


def test_a_model_without_room_for_newcomers_falls_back_to_popularity(serve, world):
    server = serve(world.model("mf"))
    assert not server.post("/api/recommend", {"user": "u001", "n": 5})["fallback"]
    server.feedback(("stranger", "jazz-01"))
    answer = server.post("/api/recommend", {"user": "stranger", "n": 5})
    assert answer["fallback"] and "jazz-01" not in [row["id"] for row in answer["items"]]


def test_many_threads_ask_while_events_come(serve, world):
    """Every list has the person's events up to the last acknowledged one."""
    server = serve(world.model("inmo-lightgcn"), "--refresh", "0.2")
    wrong = []

    def person(number):
        connection = server.connect()
        chosen = []
        for step in range(40):
            connection.request("GET", f"/api/recommend/p{number}?n=3")
            found = json.loads(connection.getresponse().read())
            if set(found) & set(chosen) or len(found) != 3:
                wrong.append((number, step, found, chosen))
            chosen.append(found[step % 3])
            connection.request("POST", "/api/feedback", json.dumps(
                [{"FeedbackType": "like", "UserId": f"p{number}", "ItemId": chosen[-1], "Timestamp": ""}]))
            if json.loads(connection.getresponse().read()) != {"RowAffected": 1}:
                wrong.append((number, step))

    threads = [threading.Thread(target=person, args=(n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    server.wait_for(lambda: server.get("/api/model")["freshness"]["refreshes"])


def metric(server, name):
    """The value of a line of /metrics; labels belong to the name."""
    for line in server.ask("GET", "/metrics")[1].splitlines():
        if line.rsplit(" ", 1)[0] == name:
            return float(line.rsplit(" ", 1)[1])
    raise AssertionError(f"/metrics has no {name}")


def test_how_fresh_it_is_can_be_read(serve, world):
    server = serve(world.model("inmo-mf"), "--refresh", "0")
    server.feedback(("ann", "jazz-01"))
    for again in range(2):
        server.feedback(("bob", "jazz-02"))
        assert server.get("/api/model")["freshness"]["newest_time"] == "2024-01-01T00:00:00Z"
        assert metric(server, "inmo_freshness_newest_event_timestamp_seconds") == 1704067200
        assert metric(server, "inmo_freshness_pending_events") == (0 if again else 2)
        assert metric(server, "inmo_store_lag_changes") == 0
        assert metric(server, "inmo_store_commit_seconds_count") >= 2
        assert metric(server, "inmo_freshness_event_seconds_count") >= 2
        assert metric(server, 'inmo_events_total{kind="duplicate"}') == again
        assert abs(metric(server, "inmo_freshness_snapshot_timestamp_seconds") - time.time()) < 120 * SLOW
        assert metric(server, "inmo_model_validation_score") > 0
        server.post("/api/model/refresh", {})
    assert metric(server, "inmo_freshness_refresh_seconds_count") == 2
    assert server.get("/api/model")["freshness"]["snapshot"]
    server.post("/api/recommend", {"items": ["nothing that is known"]})
    assert metric(server, 'inmo_recommendations_total{by="popularity"}') == 1
