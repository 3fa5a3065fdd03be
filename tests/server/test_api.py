"""The REST interface: users, items, feedback, lists, and what is said when something is wrong."""

import json

import pytest
from conftest import patch_together, quoted


def error(server, method, path, status, code, field=None, **more):
    found, answer = server.ask(method, path, **more)
    assert (found, answer.get("code"), answer.get("field")) == (status, code, field), answer
    assert answer["error"] and "\n" not in answer["error"]
    return answer["error"]


def test_users_items_and_feedback_in_gorses_shape(serve):
    server = serve()
    user = {"UserId": "100", "Labels": ["a", "b"], "Subscribe": None, "Comment": "comment"}
    assert server.post("/api/user", user) == {"RowAffected": 1}
    assert server.get("/api/user/100") == user
    assert server.ask("PATCH", "/api/user/100", {"Comment": "other"}) == (200, {"RowAffected": 1})
    assert server.get("/api/user/100") == {**user, "Comment": "other"}
    item = {"ItemId": "i", "IsHidden": True, "Labels": {"title": "Song"}, "Categories": ["d", "e"],
            "Timestamp": "2022-08-07T00:26:46Z", "Comment": ""}
    assert server.post("/api/item", item) == {"RowAffected": 1}
    assert server.get("/api/item/i") == item
    server.ask("PUT", "/api/item/i/category/f")
    server.ask("DELETE", "/api/item/i/category/d")
    server.ask("PATCH", "/api/item/i", {"IsHidden": False})
    assert server.get("/api/item/i") == {**item, "Categories": ["e", "f"], "IsHidden": False}
    row = {"FeedbackType": "like", "UserId": "100", "ItemId": "i", "Timestamp": "2022-08-07T00:26:46Z", "Comment": "x"}
    assert server.post("/api/feedback", [row, {**row, "FeedbackType": "read"}]) == {"RowAffected": 2}
    assert server.post("/api/feedback", [{**row, "Comment": "later"}]) == {"RowAffected": 0}  # POST keeps what is there
    assert server.get("/api/feedback/like/100/i") == row
    assert server.ask("PUT", "/api/feedback", [{**row, "Comment": "later"}]) == (200, {"RowAffected": 1})
    assert server.get("/api/feedback/like/100/i")["Comment"] == "later"
    assert len(server.get("/api/user/100/feedback")) == 2 and len(server.get("/api/item/i/feedback/read")) == 1
    assert len(server.get("/api/feedback/100/i")) == 2
    assert server.ask("DELETE", "/api/feedback/like/100/i") == (200, {"RowAffected": 1})
    error(server, "GET", "/api/feedback/like/100/i", 404, "NOT_FOUND")
    assert server.ask("DELETE", "/api/user/100")[1] == {"RowAffected": 1}
    error(server, "GET", "/api/user/100", 404, "NOT_FOUND")
    assert server.get("/api/item/i/feedback") == []  # a person's events go with the person
    assert server.ask("DELETE", "/api/item/i")[1] == {"RowAffected": 1}
    error(server, "GET", "/api/item/i", 404, "NOT_FOUND")


def test_changes_of_one_item_at_once_are_all_kept(serve):
    server = serve("--first-events", "0")
    server.post("/api/item", {"ItemId": "x", "Timestamp": ""})
    patch_together([server], "x")


def test_pages_by_cursor_are_complete_and_without_repeats(serve):
    server = serve()
    server.post("/api/users", [{"UserId": f"u{n}"} for n in range(25)])
    server.post("/api/items", [{"ItemId": f"i{n}"} for n in range(25)])
    server.feedback(*((f"u{n}", f"i{n}") for n in range(25)))
    for path, name, key in (("users", "Users", "UserId"), ("items", "Items", "ItemId"), ("feedback", "Feedback", "UserId")):
        found, cursor = [], ""
        while True:
            page = server.get(f"/api/{path}?n=7&cursor={quoted(cursor)}")
            found += [row[key] for row in page[name]]
            cursor = page["Cursor"]
            if not cursor:
                break
        assert len(found) == 25 and len(set(found)) == 25, path
    error(server, "GET", "/api/users?cursor=%F0%9F%8D%8Fnonsense", 400, "BAD_REQUEST")


@pytest.mark.parametrize("name", ["a/b", "a b", "..", "a%2Fb", "ü", "line\nbreak", "a?b", "a#b", "<script>", "x" * 4096, "+", "%"])
def test_any_utf8_is_an_id(serve, name):
    server = serve()
    assert server.post("/api/item", {"ItemId": name}) == {"RowAffected": 1}
    assert server.get(f"/api/item/{quoted(name)}")["ItemId"] == name
    assert server.feedback((name, name)) == 1
    assert server.get(f"/api/feedback/like/{quoted(name)}/{quoted(name)}")["UserId"] == name
    assert server.get(f"/api/recommend/{quoted(name)}") == []
    assert server.get("/api/popular") == [{"Id": name, "Score": 1}]
    assert server.ask("DELETE", f"/api/item/{quoted(name)}")[1] == {"RowAffected": 1}


def test_lists_leave_out_what_is_chosen_seen_hidden_or_denied(serve, world):
    server = serve(world.model("inmo-mf"))
    history = ["jazz-01", "jazz-02", "jazz-03"]
    server.feedback(*(("zoe", item) for item in history))
    listed = server.get("/api/recommend/zoe?n=20")
    assert len(listed) == 20 and not set(history) & set(listed)
    seen, hidden = listed[0], listed[1]
    server.feedback(("zoe", seen), kind="read")
    server.ask("PATCH", f"/api/item/{hidden}", {"IsHidden": True})
    after = server.get("/api/recommend/zoe?n=20")
    assert seen not in after and hidden not in after and len(after) == 20
    assert after[:18] == listed[2:]  # what was only seen teaches nothing
    asked = server.post("/api/recommend", {"user": "zoe", "n": 20, "deny": [after[0]]})
    assert [row["id"] for row in asked["items"]][:19] == after[1:]
    asked = server.post("/api/recommend", {"user": "zoe", "n": 5, "allow": after[3:6]})
    assert [row["id"] for row in asked["items"]] == after[3:6]
    assert server.get("/api/recommend/zoe?n=5&offset=5") == after[5:10]
    for name in after[4:8]:
        server.ask("PUT", f"/api/item/{name}/category/c")
    assert server.get("/api/recommend/zoe/c") == after[4:8]
    assert server.get("/api/recommend/zoe/nothing") == []
    assert {row["Id"] for row in server.get("/api/popular/c")} == set(after[4:8])


def test_write_back_marks_as_seen(serve, world):
    server = serve(world.model("inmo-mf"))
    first = server.get("/api/recommend/u001?n=3&write-back-type=read&write-back-delay=10m")
    assert len(server.get("/api/user/u001/feedback/read")) == 3
    assert not set(first) & set(server.get("/api/recommend/u001?n=10"))


def test_sessions_neighbours_explanations_and_search(serve, world):
    server = serve(world.model("inmo-lightgcn"))
    session = [{"FeedbackType": "like", "UserId": "nobody", "ItemId": "jazz-01", "Timestamp": ""}]
    scored = server.post("/api/session/recommend?n=5", session)
    query = server.post("/api/recommend", {"items": ["jazz-01"], "n": 5, "explain": 2})
    assert [row["Id"] for row in scored] == [row["id"] for row in query["items"]]
    assert query["coverage"] == 1 and not query["fallback"] and query["unknown"] == 0
    why = server.post("/api/session/explain", {"items": ["jazz-01"], "item": scored[0]["Id"]})
    assert abs(sum(part["score"] for part in why["parts"]) - why["score"]) < 1e-5 and not why["owned"]
    assert server.post("/api/session/explain", {"items": ["jazz-01"], "item": "jazz-01"})["owned"]
    assert server.get("/api/explain/u001/jazz-02")["parts"]
    near = server.get("/api/item/jazz-01/neighbors?n=5")
    assert len(near) == 5 and all(row["Id"] != "jazz-01" for row in near)
    assert len(server.get("/api/user/u001/neighbors?n=4")) == 4
    server.ask("PATCH", "/api/item/jazz-02", {"Comment": "Blue Train <b>"})
    assert server.get("/api/search?q=bLUE")[0]["id"] == "jazz-02"
    unknown = server.post("/api/recommend", {"items": ["no such item"]})
    assert unknown["fallback"] and unknown["unknown"] == 1
    error(server, "GET", "/api/item/no-such/neighbors", 404, "NOT_FOUND")
    error(server, "GET", "/api/explain/no-such-user/jazz-01", 404, "NOT_FOUND")


def test_latest_is_by_time(serve):
    server = serve()
    server.post("/api/items", [{"ItemId": f"i{n}", "Timestamp": f"2024-01-0{n}"} for n in range(1, 6)])
    assert [row["Id"] for row in server.get("/api/latest?n=3")] == ["i5", "i4", "i3"]
    assert server.get("/api/popular") == []


@pytest.mark.parametrize("body, field", [
    (b"", None), (b"{", None), (b"[1]", None), (b'"text"', None), (b"[{}]", "FeedbackType"),
    (b'[{"FeedbackType":"a","UserId":"u"}]', "ItemId"), (b'[{"FeedbackType":"a","UserId":3,"ItemId":"i"}]', "UserId"),
    (b'[{"FeedbackType":"a","UserId":"","ItemId":"i"}]', "UserId"),
    (b'[{"FeedbackType":"a","UserId":"u\\u0000","ItemId":"i"}]', None),
    (b'[{"FeedbackType":"a","UserId":"u","ItemId":"i","Timestamp":"yesterday"}]', "Timestamp"),
    (b'[{"FeedbackType":"a","UserId":"\xff","ItemId":"i"}]', None),
    (b"[" * 100000, None),
    (b'[{"FeedbackType":"a","UserId":"' + b"x" * 4097 + b'","ItemId":"i"}]', "UserId"),
])
def test_bad_bodies_are_named(serve, body, field):
    server = serve()
    error(server, "POST", "/api/feedback", 400, "BAD_REQUEST", field, raw=body)
    assert server.get("/api/feedback")["Feedback"] == []


def test_bad_addresses_are_named(serve):
    server = serve()
    error(server, "GET", "/api/nothing", 404, "NOT_FOUND")
    error(server, "GET", "/api/recommend/%zz", 400, "BAD_REQUEST")
    error(server, "GET", "/api/recommend/%00", 400, "BAD_REQUEST")
    error(server, "GET", "/api/recommend/%ff", 400, "BAD_REQUEST")
    error(server, "GET", "/api/recommend/u?n=%ff", 400, "BAD_REQUEST")
    error(server, "GET", "/api/recommend/u?n=0", 400, "BAD_REQUEST", "n")
    error(server, "GET", "/api/recommend/u?n=ten", 400, "BAD_REQUEST", "n")
    error(server, "GET", "/api/recommend/u?n=99999999999999999999", 400, "BAD_REQUEST", "n")
    error(server, "GET", "/api/recommend/u?offset=-1", 400, "BAD_REQUEST", "offset")
    error(server, "GET", "/api/recommend/u?n=", 400, "BAD_REQUEST", "n")
    error(server, "GET", "/api/recommend/u?n=3&n=4", 400, "BAD_REQUEST", "n")
    error(server, "GET", "/api/recommend/u?write-back-delay=soon", 400, "BAD_REQUEST", "write-back-delay")
    error(server, "POST", "/api/import?type=" + "x" * 4097, 400, "BAD_REQUEST", "type", raw=b"user,item\n")
    error(server, "POST", "/api/session/recommend", 400, "BAD_REQUEST", "FeedbackType", body=[{"ItemId": "i", "FeedbackType": {}}])
    error(server, "GET", "/api/recommend/u?" + "a=b&" * 40, 400, "BAD_REQUEST")
    error(server, "DELETE", "/api/feedback", 405, "BAD_REQUEST")
    assert server.headers["Allow"] == "GET, HEAD, POST, PUT"
    for path in ("/page/..%2f..%2fetc%2fpasswd", "/page/%2e%2e", "/page/nothing", "/page/../../etc/passwd"):
        assert server.ask("GET", path)[0] == 404
    assert server.ask("HEAD", "/api/health/live")[0] == 200


def test_numbers_of_any_length_are_json_and_three_long_ids_fit_an_address(serve):
    server = serve()
    assert server.post("/api/recommend", {"n": 5.0, "other": 10 ** 40})["items"] == []
    error(server, "POST", "/api/recommend", 400, "BAD_REQUEST", "n", body={"n": 5.5})
    error(server, "POST", "/api/recommend", 400, "BAD_REQUEST", "n", body={"n": 10 ** 40})
    error(server, "GET", "/api/explain/u/i", 409, "UNSUPPORTED")
    long = "ü" * 2048
    path = f"/api/feedback/{quoted(long)}/{quoted(long)}/{quoted(long)}"
    assert server.post("/api/feedback", [{"FeedbackType": long, "UserId": long, "ItemId": long}]) == {"RowAffected": 1}
    assert server.get(path)["UserId"] == long
    assert server.ask("DELETE", path)[1] == {"RowAffected": 1}


def test_import_and_export_are_the_same_log(serve, tmp_path, world):
    from conftest import run
    server = serve("--import-type", "listen")
    lines = "user,item,type,time\n" + "".join(f'"u,{n}","i""{n % 7}",buy,2024-01-01T00:00:{n % 60:02d}Z\n' for n in range(12000))
    assert server.ask("POST", "/api/import", raw=lines.encode())[1] == {"RowAffected": 12000, "lines": 12001}
    assert server.ask("POST", "/api/import", raw=lines.encode())[1] == {"RowAffected": 0, "lines": 12001}
    more = "\n".join(json.dumps({"user": "a", "item": f"x{n}", "time": 1700000000 + n}) for n in range(10))
    assert server.ask("POST", "/api/import", raw=more.encode())[1] == {"RowAffected": 10, "lines": 10}
    assert server.get("/api/feedback/listen/a/x3")["Timestamp"] == "2023-11-14T22:13:23Z"
    bad = lines.splitlines()
    bad[7000] = "broken"
    said = error(server, "POST", "/api/import", 400, "BAD_REQUEST", raw="\n".join(bad).encode())
    assert "line 7001" in said and "skip=5001" in said, said
    assert server.ask("POST", "/api/import?skip=7001", raw="\n".join(bad).encode())[0] == 200
    status, text = server.ask("GET", "/api/export")
    assert status == 200 and len(text.splitlines()) == 12011
    (tmp_path / "out.csv").write_text(text)
    run("prepare", tmp_path / "out.csv", "-o", tmp_path / "data", "--quiet")
    other = serve(store="other.db")
    assert other.ask("POST", "/api/import", raw=text.encode())[1]["RowAffected"] == 12010
    assert other.ask("GET", "/api/export")[1].splitlines() == text.splitlines()
