"""Cases about the nightly job: several logs, warm starts, how a log was read, locks, times in logs. run.py runs every
function called case_..."""
import json
import os
import re
import time

from cases_support import read


def days(world):
    """Two days of a shop's events with semicolons, other names and ratings up to 10."""
    with open(os.path.join(world.small, "log.tsv"), encoding="utf-8") as stream:
        rows = [line.split("\t")[:2] for line in stream.read().splitlines()]
    for name, part in (("one.csv", rows[:3600]), ("two.csv", rows[3600:])):
        with open(world.path(name), "w", encoding="utf-8") as stream:
            for n, (user, item) in enumerate(part):
                stream.write(f"{item};{user};{n % 10 + 1}\n")
    return ("--columns", "item,user,rating", "--separator", ";", "--min-rating", "2", "--header", "no")


def settings_of(world, name):
    return json.loads(world.inmo("info", name, "--json")[0])


SMALL = ("--model", "inmo-mf", "--dim", "8", "--epochs", "6", "--batch", "256", "-q")


def case_several_logs_are_read_as_one(world):
    how = days(world)
    with open(world.path("both.csv"), "wb") as stream:
        stream.write(read(world.path("one.csv")) + read(world.path("two.csv")))
    world.inmo("train", "one.csv", "two.csv", "-o", "apart", *how, *SMALL)
    world.inmo("train", "both.csv", "-o", "joined", *how, *SMALL)
    world.check(read(world.path("apart")) == read(world.path("joined")), "two logs gave another model than one of both")
    _, err = world.inmo("train", "one.csv", os.path.join(world.small, "data"), "-o", "x", *how, *SMALL, code=2)
    world.check("stands alone" in err, err)


def case_another_log_is_read_as_that_of_the_model(world):
    how = days(world)
    world.inmo("train", "one.csv", "-o", "model", *how, *SMALL)
    origin = settings_of(world, "model")["origin"]
    world.check(origin["reading"]["columns"] == "item,user,rating" and origin["reading"]["min-rating"] == 2
                and origin["options"]["split"] == "100/0/0", origin)
    # without the model's word the third column would be the user
    followed, note = world.inmo("recommend", "model", "--user", "u017", "--observed", "two.csv", "--json")
    given, _ = world.inmo("recommend", "model", "--user", "u017", "--observed", "two.csv", "--json", *how)
    world.check(followed == given, "followed the model and got another list than by saying it all")
    world.check("as for the log of model: --columns item,user,rating --separator ';'" in note, note)
    other, warning = world.inmo("recommend", "model", "--user", "u017", "--observed", "two.csv", "--min-rating", "7")
    world.check("--min-rating is 7, but the log of model was read with 2" in warning, warning)
    world.inmo("train", "one.csv", "-o", "split", *how, *SMALL, "--split", "70/10/20")
    world.inmo("prepare", "one.csv", "-o", "data", *how)
    for part in ("data", "one.csv"):  # the log is split as the model's was, which is as prepare does it
        found = json.loads(world.inmo("evaluate", "split", part, "--json")[0])
        world.check(found["metrics"] == json.loads(world.inmo("evaluate", "split", "data", "--json")[0])["metrics"],
                    "evaluate split the log in another way than train")


def case_warm_start_takes_over_what_is_not_said(world):
    how = days(world)
    world.inmo("train", "one.csv", "-o", "old", *how, *SMALL, "--dropout", "0.25", "--patience", "100")
    _, err = world.inmo("train", "one.csv", "two.csv", "-o", "new", "--from", "old")
    kept = re.search(r"warm start: (\d+) rows of parameters are kept, \d+ are new; 1 epoch will", err)
    world.check(kept and int(kept.group(1)) > 200, err)
    old, new = settings_of(world, "old"), settings_of(world, "new")
    world.check(old["settings"] == new["settings"], "other settings than the earlier model's")
    world.check(old["origin"]["reading"] == new["origin"]["reading"] and "from" in new["origin"], new["origin"])
    world.inmo("train", "one.csv", "two.csv", "-o", "again", "--from", "old", "-q")
    world.check(read(world.path("new")) == read(world.path("again")), "a second warm start gave other bytes")
    _, err = world.inmo("train", "one.csv", "-o", "x", "--from", "old", "--dim", "16", code=2)
    world.check("--dim: found 16" in err, err)
    _, err = world.inmo("train", "one.csv", "-o", "x", "--from", "old", "--model", "mf", code=2)
    world.check("holds inmo-mf" in err, err)
    _, err = world.inmo("train", "two.csv", "-o", "x", "--from", "old", code=3)
    world.check("give all days, not only the new ones" in err, err)
    world.inmo("train", "one.csv", "-o", "x", "--from", "nothing", code=4)


def case_warm_start_and_refit(world):
    """Yesterday's model and today's each without, with the graph of, and trained again on everything: today's has all
    interactions unless told otherwise, and is never validated with what yesterday's was trained on."""
    how = days(world)
    rows = {tuple(line.split(";")[:2]) for name in ("one.csv", "two.csv") for line in read(world.path(name)).decode().split()
            if int(line.split(";")[2]) >= 2}
    for old in ("none", "graph", "train"):
        world.inmo("train", "one.csv", "-o", "old", *how, *SMALL, "--refit", old, "--force")
        before = settings_of(world, "old")
        for new in ("none", "graph", "train"):
            run = ("train", "one.csv", "two.csv", "-o", "new", "--from", "old", "--refit", new, "--force")
            _, err = world.inmo(*run)
            validated = int(re.search(r"is not validated with: (\d+) validation interactions instead of \d+", err).group(1))
            world.check("warm start: " in err and validated > 0, err)
            found = settings_of(world, "new")
            held = 0 if new != "none" else validated
            world.check(found["interactions"] == len(rows) - held, f"{old}, {new}: {found['interactions']} of {len(rows)} interactions")
            refit = found["record"][0].get("refit") if new != "none" else None
            world.check(new == "none" or (refit["how"] == new and refit["held-out"] == validated), f"{old}, {new}: {found['record'][0]}")
            # all of yesterday's is known to a refitted model: only what is new today can be held out
            world.check(old == "none" or validated <= len(rows) - before["interactions"], f"{old}, {new}: {validated} validated")
            first = read(world.path("new"))
            world.inmo(*run, "-q", "--threads", "3" if new == "train" else "1")
            world.check(read(world.path("new")) == first, f"{old}, {new}: other bytes at another number of threads")
            out = world.inmo("recommend", "new", "--all-users", "-o", "-", "--k", "100", "-q")[0]
            listed = {(line.split("\t")[1], line.split("\t")[0]) for line in out.splitlines()}
            world.check(new == "none" or not listed & rows, f"{old}, {new}: lists have what people have")


def case_two_runs_do_not_make_the_same_output(world):
    data = os.path.join(world.small, "data")
    first = world.start("train", data, "-o", "model", "--dim", "64", "--epochs", "100000", "--patience", "100000")
    for _ in range(600):
        if os.path.exists(world.path("model.lock")) and read(world.path("model.lock")):
            break
        time.sleep(0.05)
    _, err = world.inmo("train", data, "-o", "model", *SMALL, "--force", code=12)
    world.check(re.search(rf"model is being made by process {first.pid} on \S+ since 20\d\d-\d\d-\d\d \d\d:\d\d:\d\d UTC", err),
                err)
    first.kill()
    first.communicate()
    world.check(os.path.exists(world.path("model.lock")), "the lock went with the process: this test proves nothing")
    world.inmo("train", data, "-o", "model", *SMALL, "--force")  # nobody holds what a killed process left
    world.check(not os.path.exists(world.path("model.lock")), "the lock was left behind")


def case_lines_have_times_when_asked(world):
    data = os.path.join(world.small, "data")
    _, err = world.inmo("train", data, "-o", "model", "--dim", "8", "--epochs", "2", "--log-times")
    lines = err.splitlines()
    world.check(lines and all(re.match(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ inmo: ", line) for line in lines), err)
    _, err = world.inmo("info", "nothing", "--log-times", code=4)
    world.check(re.match(r"20\d\d-\d\d-\d\dT\d\d:\d\d:\d\dZ inmo: cannot open nothing", err), err)


def case_compare_trains_chooses_and_goes_on(world):
    data = os.path.join(world.small, "data")
    run = ("compare", data, "-o", "out", "--models", "popular,item-knn,inmo-mf", "--max-seconds", "5", "--json")
    first = json.loads(world.inmo(*run)[0])
    rows = {row["name"]: row for row in first["models"]}
    world.check(set(rows) == {"popular", "item-knn", "inmo-mf"} and sum(row["best"] for row in rows.values()) == 1, first)
    best = max(rows.values(), key=lambda row: row["valid"])
    world.check(best["best"], "the best is not that of the validation part")
    for row in rows.values():
        world.check(row["low"] < row["score"] < row["high"] and row["seconds"] >= 0 and row["peak_rss_mb"] > 1
                    and row["bytes"] == os.path.getsize(world.path("out", row["name"] + ".inmo")), row)
        alone = json.loads(world.inmo("evaluate", world.path("out", row["name"] + ".inmo"), data, "--json")[0])
        world.check(alone["metrics"] == row["metrics"] and abs(alone["metrics"]["ndcg@20"] - row["score"]) < 1e-6,
                    "compare and evaluate disagree")
    again, err = world.inmo(*run)
    world.check(json.loads(again) == first and "training" not in err, "a second call trained again, or said something else")
    os.unlink(world.path("out", "item-knn.json"))  # as if it had been killed before the report was there
    third, err = world.inmo(*run)
    world.check("training item-knn" in err and "training popular" not in err, err)
    world.check(json.loads(third)["models"][0] == first["models"][0], "another result")
    with open(world.path("out", "compare.html"), encoding="utf-8") as stream:
        page = stream.read()
    world.check("<svg" in page and "item-knn" in page and page.endswith("</html>\n"), page)
    _, err = world.inmo("compare", os.path.join(world.small, "new"), "-o", "out", "--models", "popular", code=8)
    world.check("other data" in err, err)
    world.inmo("compare", data, "-o", "x", "--models", "popular,lightgnc", code=2)
    world.inmo("compare", data, "-o", "x", "--models", "popular,popular", code=2)


def case_compare_says_once_what_was_left_out(world):
    with open(world.path("rated.csv"), "w", encoding="utf-8") as stream:
        stream.write("user,item,rating\n")
        stream.writelines(f"u{user},i{item},{1 + (user + item) % 5}\n" for user in range(30) for item in range(user % 3, 24, 2))
    _, err = world.inmo("compare", "rated.csv", "-o", "out", "--models", "popular,item-knn")
    world.check(err.count("rated 3 or less") == 1 and err.count("seen, not liked") == 1 and err.count("inmo: training ") == 2, err)
    world.inmo("prepare", "rated.csv", "-o", "data")
    _, err = world.inmo("compare", "data", "-o", "again", "--models", "popular,item-knn")
    world.check(err.count("rated 3 or less") == 1, err)


def case_compare_does_not_judge_what_has_seen_the_test(world):
    log, data = os.path.join(world.small, "log.tsv"), os.path.join(world.small, "data")
    world.inmo("train", log, "-o", "seen", "--model", "popular")  # on all of the log
    out, _ = world.inmo("compare", data, "seen", os.path.join(world.small, "inmo-mf"), "-o", "out", "--models", "none", "--json")
    rows = json.loads(out)["models"]
    world.check("of the" in rows[0]["error"] and "test interactions" in rows[0]["error"], rows[0])
    world.check(rows[1]["best"], rows[1])
    _, err = world.inmo("compare", data, "seen", "-o", "alone", "--models", "none", code=3)
    world.check("no model could be judged" in err, err)


def case_compare_is_interrupted_and_goes_on(world):
    data = os.path.join(world.small, "data")
    run = ("compare", data, "-o", "out", "--models", "inmo-lightgcn,popular")
    process = world.start(*run)
    for _ in range(600):
        if os.path.exists(world.path("out", "inmo-lightgcn.inmo.lock")):
            break
        time.sleep(0.02)
    time.sleep(0.5)
    process.terminate()
    _, err = process.communicate(timeout=60)
    if process.returncode == 0:
        return  # it was quicker
    world.check(process.returncode == 11 and "to go on: " in err.decode(), err.decode())
    world.check(not os.path.exists(world.path("out", "compare.json")), "a result of half a comparison")
    world.inmo(*run)
    world.check(os.path.exists(world.path("out", "compare.html")) and not os.path.exists(world.path("out.lock")), "no page")


def case_evaluate_takes_several_models(world):
    data, names = os.path.join(world.small, "data"), [os.path.join(world.small, name) for name in ("mf", "popular")]
    both = json.loads(world.inmo("evaluate", *names, data, "--json")[0])
    for path, found in zip(names, both):
        alone = json.loads(world.inmo("evaluate", path, data, "--json")[0])
        world.check(found["model"] == path and found["metrics"] == alone["metrics"], found)
    world.inmo("evaluate", names[0], os.path.join(world.small, "nothing"), data, code=4)
