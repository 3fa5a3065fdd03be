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
                and origin["options"]["split"] == "90/10/0", origin)
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
