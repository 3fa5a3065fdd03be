"""Cases about runs: threads, kill -9, Ctrl-C, searches and experiments that go on where they stopped. run.py runs every function called case_..."""
import fcntl
import json
import os
import re
import shutil
import signal
import struct
import subprocess
import termios
import time

from cases_support import read, keys, wait_for_checkpoints, epochs_of, epochs_for, lines_in, is_locked

MODELS = ("mf", "lightgcn", "inmo-mf", "inmo-lightgcn")
LONG_RUN = ("--dim", "32", "--batch", "64", "--patience", "1000")
SPACE = ("--search", "learning-rate=1e-3..1e-1:log", "--search", "l2=0|1e-4|1e-3")


def case_threads_give_the_same_bytes(world):
    data = os.path.join(world.small, "data")
    for model, recipe in [(model, recipe) for model in MODELS for recipe in ("fast", "paper")]:
        for threads in ("1", "2"):
            world.inmo("train", data, "-o", model + threads, "--model", model, "--recipe", recipe, "--dim", "32",
                       "--epochs", "4", "--batch", "512", "--threads", threads, "--force", "-q")
        world.check(read(world.path(model + "1")) == read(world.path(model + "2")),
                    f"{model}, {recipe}: 1 and 2 threads gave different files")


def case_kill_and_resume_give_the_same_bytes(world):
    data = os.path.join(world.small, "data")
    for model in ("mf", "inmo-lightgcn", "idcf-lightgcn"):
        run = ("train", data, "--model", model, *LONG_RUN, "--epochs", epochs_for(world, data, model, 0.7), "-q")
        world.inmo(*run, "-o", "whole")
        for attempt in range(2):  # twice: a resumed run may be killed too
            more = ("--resume",) if attempt else ()
            process = world.start(*run, "-o", "pieces", "--checkpoint-seconds", "0", *more)
            world.check(wait_for_checkpoints(world.path("pieces.checkpoint"), process, 3 + 4 * attempt), "no checkpoint to kill at")
            process.kill()
            process.communicate()
            world.check(process.returncode == -signal.SIGKILL, "finished before it was killed")
        world.check(not os.path.exists(world.path("pieces")), "a model came of a killed run")
        world.inmo(*run, "-o", "pieces", code=8)  # an unfinished run is not thrown away by accident
        world.inmo(*run, "-o", "pieces", "--resume")
        world.check(read(world.path("whole")) == read(world.path("pieces")), f"{model}: another model after kill -9")
        world.check(not os.path.exists(world.path("pieces.checkpoint")), "the checkpoint was left behind")
        for name in ("whole", "pieces"):
            os.unlink(world.path(name))


def case_interrupt_says_how_to_go_on(world):
    data = os.path.join(world.small, "data")
    epochs = epochs_for(world, data, "inmo-mf", 0.7)
    for number in (signal.SIGINT, signal.SIGTERM):
        run = ("train", data, "--model", "inmo-mf", *LONG_RUN, "--epochs", epochs)
        world.inmo(*run, "-o", "whole", "--force")
        process = world.start(*run, "-o", "it's here", "--force", "--checkpoint-seconds", "0.05")
        world.check(wait_for_checkpoints(world.path("it's here.checkpoint"), process, 1), "it did not begin")
        process.send_signal(number)
        out, err = (text.decode() for text in process.communicate(timeout=60))
        world.check(process.returncode == 11, f"exit code {process.returncode}\n{out}{err}")
        world.check("the checkpoint is it's here.checkpoint" in err and not out, out + err)
        command = re.search(r"^inmo: to go on: (.*)$", err, re.M).group(1)
        world.check("'it'\\''s here'" in command and command.endswith(" --resume"), command)
        done = world.shell(command)
        world.check(done.returncode == 0, done.stderr.decode())
        world.check(read(world.path("whole")) == read(world.path("it's here")), "another model after the interrupt")


def case_search_finds_what_training_repeats(world):
    data = os.path.join(world.small, "data")
    for method, recipe in (("random", "fast"), ("halving", "fast"), ("halving", "paper")):
        directory = f"{method}-{recipe}"
        run = ("tune", data, "-o", directory, "--model", "inmo-mf", "--recipe", recipe, "--dim", "8", "--epochs", "9",
               "--eval-every", "1", "--method", method, "--trials", "5", *SPACE)
        text, err = world.inmo(*run)
        world.check(err.count("inmo: trial ") >= 5, err)
        found = keys(world, world.inmo(*run, "--json")[0], "method", "trials", "planned", "trained", "seconds",
                     "stopped", "command", "best_model", "page", "output")
        world.check(found["trained"] == 0 and found["planned"] == 5 == len(found["trials"]), str(found))
        best = keys(world, json.dumps(found["trials"][0]), "trial", "model", "settings", "epochs", "seconds", "ndcg@20",
                    "deviation", "error")
        world.check(text.endswith(f"best: {found['command']}\n"), text)
        scores = [trial["ndcg@20"] for trial in found["trials"] if trial["epochs"] == best["epochs"]]
        world.check(scores == sorted(scores, reverse=True), str(scores))
        done = world.shell(found["command"] + " --json --force")
        world.check(done.returncode == 0, done.stderr.decode())
        trained = json.loads(done.stdout)
        world.check(trained["best_valid"] == best["ndcg@20"], f"{found['command']} gives {trained['best_valid']}")
        for name, value in best["settings"].items():
            world.check(trained["settings"][name] == value, f"{name}: {trained['settings'][name]}, not {value}")
        left = sorted(os.listdir(world.path(directory)))
        world.check(left == ["best.inmo", "trials.html", "trials.jsonl"], str(left))
        world.check(read(world.path(directory, "best.inmo")) == read(world.path("best.inmo")), "best.inmo is another model")


def case_search_without_ranges(world):
    """A raw log and nothing else: the best model is ready to use, and is what the printed command trains. Options that are given
    are not searched."""
    log = os.path.join(world.small, "log.tsv")
    run = ("tune", log, "-o", "plain", "--model", "inmo-mf", "--dim", "8", "--epochs", "9", "--eval-every", "3", "--temperature",
           "0.2", "--trials", "4", "--split", "80/20/0", "--by", "random", "-q")
    found = json.loads(world.inmo(*run, "--json")[0])
    world.check(found["stopped"] == "done" and len(found["trials"]) == 4, str(found))
    first = next(trial for trial in found["trials"] if trial["trial"] == 1)
    world.check(first["settings"] == {"learning-rate": 0.0025, "dropout": 0.6, "popularity": -0.2}, str(first))
    world.check(" --split 80/20/0 --by random" in found["command"] or " --by random" in found["command"], found["command"])
    world.check(found["best_model"] == "plain/best.inmo" and found["page"] == "plain/trials.html", str(found))
    done = world.shell(found["command"] + " -q")
    world.check(done.returncode == 0, done.stderr.decode())
    world.check(read(world.path("best.inmo")) == read(world.path("plain", "best.inmo")), found["command"])
    with open(log, encoding="utf-8") as stream:
        user = stream.readline().split("\t")[0]
    world.check(len(world.inmo("recommend", "plain/best.inmo", "--user", user, "--k", "3")[0].splitlines()) >= 3, "no list")


def case_search_over_all_models(world):
    """Within its time, on a small log: every model is tried, the best one's file is what its command trains."""
    data = os.path.join(world.small, "data")
    run = ("tune", data, "-o", "all", "--model", "all", "--dim", "8", "--epochs", "3", "--eval-every", "1", "--trials", "18",
           "--max-seconds", "0", "-q", "--top", "30")
    text, _ = world.inmo(*run)
    found = json.loads(world.inmo(*run, "--json")[0])
    models = {trial["model"] for trial in found["trials"]}
    world.check(found["trained"] == 0 and len(models) == 18 == len(found["trials"]), str(found))
    world.check(all(model in text for model in models) and "all/best.inmo" in text, text)
    scores = [trial["ndcg@20"] for trial in found["trials"]]
    world.check(scores == sorted(scores, reverse=True), str(scores))
    done = world.shell(found["command"] + " -q")
    world.check(done.returncode == 0, done.stderr.decode())
    world.check(read(world.path("best.inmo")) == read(world.path("all", "best.inmo")), found["command"])
    out, _ = world.inmo("tune", data, "-o", "two", "--model", "popular,ease", "--trials", "3", "--json", "-q")
    world.check({trial["model"] for trial in json.loads(out)["trials"]} == {"popular", "ease"}, out)
    _, err = world.inmo("tune", data, "-o", "none", "--model", "mf,thing", code=2)
    world.check("--model: found 'thing', expected one of" in err, err)


def case_paper_settings_are_those_of_a_data_set(world):
    data = os.path.join(world.small, "data")
    for like, rate, l2, more in (("gowalla", 1e-4, 1e-3, ()), ("yelp", 1e-3, 1e-3, ()), ("amazon-book", 1e-3, 1e-4, ()),
                                 ("amazon-book", 0.5, 0.25, ("--lr", "0.5", "--l2", "0.25")), (None, 1e-4, 1e-3, ())):
        out, err = world.inmo("train", data, "-o", "like.inmo", "--model", "mf", "--recipe", "paper", "--epochs", "1",
                              "--json", "--force", *(("--like", like) if like else ()), *more)
        found = json.loads(out)["settings"]
        world.check((found["learning-rate"], found["l2"]) == (rate, l2), f"{like}: {found}")
        world.check(("those for gowalla, which is nearest" in err) == (like is None), err)
    text, _ = world.inmo("tune", data, "-o", "like", "--model", "inmo-mf", "--recipe", "paper", "--like", "yelp",
                         "--search", "l2=0|1e-3", "--epochs", "1")
    world.check("--recipe paper --like yelp --l2 " in text and "--dropout" not in text, text)
    out, _ = world.inmo("reproduce", "table2", "--data", data, "-o", "like-yelp", "--recipe", "paper", "--like", "yelp",
                        "--only", "mf", "--seeds", "1", "--epochs", "1", "--k-core", "0")
    world.check("Recipe: paper:yelp." in out, out)
    out, _ = world.inmo("reproduce", "table2", "--data", data, "-o", "half", "--recipe", "paper", "--storage", "half", "--only",
                        "mf,inmo-lightgcn", "--seeds", "1", "--epochs", "1", "--k-core", "0", "--json")
    trained = json.loads(out)["runs"]
    world.check(len(trained) == 2 and "walks" not in out, "walks are not the paper's")
    settings = [open(os.path.join(world.folder, "half", "runs", f"{run['run']}.run"), "rb").read() for run in trained]
    world.check(sorted(b'storage' in text for text in settings) == [False, True], "graph layers alone have a storage")


def case_like_needs_the_paper_recipe(world):
    data = os.path.join(world.small, "data")
    for command in (("train", data), ("tune", data, "--search", "l2=0|1e-3"), ("reproduce", "table2", "--data", data)):
        _, err = world.inmo(*command, "-o", "none", "--like", "yelp", code=2)
        world.check("--like is for --recipe paper" in err, err)


def case_search_after_kill_gives_the_same_table(world):
    data = os.path.join(world.small, "data")
    for method, recipe in (("random", "fast"), ("halving", "paper")):
        common = ("--model", "inmo-mf", "--recipe", recipe, "--dim", "32", "--batch", "64", "--patience", "1000",
                  "--eval-every", "1", "--threads", "1")
        epochs = epochs_of(world, 0.3, 9, "train", data, *common)
        run = ("tune", data, *common, "--epochs", str(epochs), "--method", method, "--trials", "4",
               "--checkpoint-seconds", "0.01", *SPACE)
        whole = world.inmo(*run, "-o", "whole", "--threads", "2", "-q")[0]
        killed = 0
        for finished in (1, 2, 4):  # lines of the record: its first, one more, three more
            process = world.start(*run, "-o", "pieces")
            end = time.monotonic() + 60
            while process.poll() is None and time.monotonic() < end:
                if lines_in(world.path("pieces", "trials.jsonl")) >= finished and any(
                        name.endswith(".checkpoint") for name in os.listdir(world.path("pieces"))):
                    time.sleep(0.02)  # into the training, not at its edge
                    break
                time.sleep(0.002)
            process.kill()
            process.communicate()
            killed += process.returncode == -signal.SIGKILL
        world.check(killed == 3, f"{method}: killed {killed} times of 3")
        with open(world.path("pieces", "trials.jsonl"), "ab") as stream:
            stream.write(b'{"trial": 4, "epo')  # what a power cut leaves of a line
        before = lines_in(world.path("pieces", "trials.jsonl"))
        world.check(world.inmo(*run, "-o", "pieces", "-q")[0] == whole.replace("whole/", "pieces/"),
                    f"{method}: another table after kill -9")
        world.check(read(world.path("whole", "best.inmo")) == read(world.path("pieces", "best.inmo")),
                    f"{method}: another best model after kill -9")
        for name in ("whole", "pieces"):
            left = sorted(os.listdir(world.path(name)))
            world.check(left == ["best.inmo", "trials.html", "trials.jsonl"], str(left))
        record = [[json.loads(line) for line in read(world.path(name, "trials.jsonl")).splitlines()]
                  for name in ("whole", "pieces")]
        for lines in record:
            world.check(len({(line["trial"], line["epochs"], line["seed"]) for line in lines[1:]}) == len(lines) - 1,
                        "the same training stands twice in the record")
            for line in lines[1:]:
                del line["seconds"]
        world.check(record[0] == record[1] and len(record[0]) > before, f"{method}: another record after kill -9")
        for name in ("whole", "pieces"):
            shutil.rmtree(world.path(name))


def case_search_interrupted_says_how_to_go_on(world):
    data = os.path.join(world.small, "data")
    run = ("tune", data, "-o", "my search", "--model", "mf", "--dim", "8", "--epochs", "3000", "--patience", "10000",
           "--trials", "2", "--search", "l2=0|1e-4")
    process = world.start(*run)
    end = time.monotonic() + 60
    while not lines_in(world.path("my search", "trials.jsonl")) and time.monotonic() < end:
        time.sleep(0.01)  # the record is there: the search has begun
    process.send_signal(signal.SIGINT)
    out, err = (text.decode() for text in process.communicate(timeout=60))
    world.check(process.returncode == 11 and not out, f"exit code {process.returncode}\n{out}{err}")
    command = re.search(r"^inmo: to go on: (.*)$", err, re.M).group(1)
    world.check("'my search'" in command and "'l2=0|1e-4'" in command, command)
    done = world.shell(command + " --max-seconds 0.3")
    world.check(done.returncode == 0 and b"inmo: stopped by --max-seconds" in done.stderr, done.stderr.decode())


def findings(world, folder):
    """What was found, without what depends on the clock."""
    with open(world.path(folder, "report.json"), encoding="utf-8") as stream:
        found = json.load(stream)
    for run in found["runs"]:
        del run["seconds"]
    return found


def case_experiments_after_kill_end_with_the_same_numbers(world):
    command = ["reproduce", "table1", "table4", "--data", os.path.join(world.small, "log.tsv"), "--k-core", "0", "--seeds",
               "1,2", "--only", "mf,popular,item-knn,inmo-mf,inmo-mf*", "--epochs", "4", "--threads", "1", "-o"]
    out, err = world.inmo(*command, "whole")
    whole = findings(world, "whole")
    world.check(re.search(r"training the others takes at most about \d+ s, beside 4 that are fitted at once", err), err)
    asked = command[:-1] + ["--finished", "-o"]
    asked[asked.index("--only") + 1] += ",lightgcn,inmo-lightgcn"
    out, err = world.inmo(*asked, "whole")
    world.check("| INMO-MF |" in out and "| INMO-LGCN |" not in out and "0 of them trained now" in err, out + err)
    world.check("| LightGCN |" in out, out)  # it cannot, which takes no training to say
    rows = {row["label"]: row for row in whole["experiments"][1]["rows"]}
    world.check(list(rows) == ["Popular", "ItemKNN", "MF", "INMO-MF", "INMO-MF*"], str(list(rows)))
    world.check("learned vector" in rows["MF"]["reason"] and rows["MF"]["cells"][0]["mean"] is None, str(rows["MF"]))
    world.check("only items that were there" in rows["ItemKNN"]["reason"], str(rows["ItemKNN"]))
    for cell in rows["INMO-MF"]["cells"]:
        world.check(0 < cell["mean"] < 100 and cell["seeds"] == 2 and cell["deviation"] >= 0, str(cell))
    page = read(world.path("whole", "report.html")).decode()
    world.check("INMO-MF*" in page and "src=" not in page and "http" not in page, page[:300])
    world.check("\\\\ MF: mf has a learned vector" in out, out)

    # Beside the table its systems in order; those without a number are not among them.
    pictures = re.findall(r"<svg.*?</svg>", page, re.S)
    over_all = next(picture for picture in pictures if 'aria-label="Over all"' in picture)
    names = re.findall(r'text-anchor="end">([^<]*)<', over_all)
    values = [float(value) for value in re.findall(r">(\d+\.\d\d)<", over_all)]
    world.check(sorted(names) == ["INMO-MF", "INMO-MF*", "ItemKNN", "Popular"] and
                values == sorted(values, reverse=True) and len(values) == 4, over_all)

    # Who is new is part of a run: the other choice is trained beside it and found again; both keep their numbers.
    choice = ["reproduce", "table4", "--data", os.path.join(world.small, "log.tsv"), "--k-core", "0", "--seeds", "1", "--only",
              "popular", "-o", "choice", "--new-choice"]
    drawn, last = (world.inmo(*choice, how)[0] for how in ("random", "last"))
    world.check("the last ones to appear" in last and "the last ones to appear" not in drawn, last)
    for how, before in (("random", drawn), ("last", last)):
        out, err = world.inmo(*choice, how)
        world.check(out == before and "0 of them trained now" in err, out + err)
    table = [re.search(r"\| Popular \|.*", text).group() for text in (drawn, last)]
    world.check(table[0] != table[1], str(table))
    world.inmo("prepare", os.path.join(world.small, "log.tsv"), "-o", "parts")
    choice[choice.index("--data") + 1] = "parts"
    world.check("needs a log" in world.inmo(*choice, "last", code=2)[1], "")

    # The curves of training have a point for each validation.
    found = json.loads(world.inmo("reproduce", "annealing", "--data", os.path.join(world.small, "log.tsv"), "--k-core", "0",
                                  "--only", "inmo-mf", "--epochs", "12", "-o", "curves", "--json")[0])
    series = found["experiments"][0]["panels"][0]["series"]
    world.check([s["label"] for s in series] == ["INMO-MF", "INMO-MF, no annealing"] and
                all(s["x"] == [6, 12] and s["y"][0] > 0 for s in series), str(series))

    # Killed as soon as it has something: the rest of it, and nothing of that again.
    process = subprocess.Popen([world.program, *command, "cut"], cwd=world.folder, env=world.environment,
                               stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    end = time.monotonic() + 60
    while process.poll() is None and time.monotonic() < end:
        if os.path.isdir(world.path("cut", "runs")) and any(n.endswith(".run") for n in os.listdir(world.path("cut", "runs"))):
            break
        time.sleep(0.001)
    process.kill()
    process.wait()
    kept = {n: read(world.path("cut", "runs", n)) for n in os.listdir(world.path("cut", "runs")) if n.endswith(".run")}
    err = world.inmo(*command, "cut")[1]
    world.check(f"10 runs, {10 - len(kept)} of them trained now" in err and kept, err)
    world.check(findings(world, "cut") == whole, "other numbers after kill -9")
    for name, content in kept.items():
        world.check(read(world.path("cut", "runs", name)) == content, f"{name} was made again")
    world.check("10 runs, 0 of them trained now" in world.inmo(*command, "cut")[1], "trained twice")

    # A damaged run is made again, with the same numbers; a folder with other things in it is left alone.
    name = sorted(os.listdir(world.path("cut", "runs")))[0]
    with open(world.path("cut", "runs", name), "r+b") as stream:
        stream.write(b"damage")
    err = world.inmo(*command, "cut")[1]
    world.check("it is trained again" in err and "10 runs, 1 of them trained now" in err, err)
    world.check(findings(world, "cut") == whole, "other numbers after damage")
    os.mkdir(world.path("mine"))
    with open(world.path("mine", "letter.txt"), "w", encoding="utf-8") as stream:
        stream.write("dear")
    err = world.inmo(*command, "mine", code=8)[1]
    world.check("letter.txt" in err and os.listdir(world.path("mine")) == ["letter.txt"], err)
    world.check('found the experiment "table9"' in world.inmo("reproduce", "table9", "--data", "x", "-o", "y", code=2)[1], "")


def case_one_at_a_time_in_a_directory(world):
    log, data = (os.path.join(world.small, name) for name in ("log.tsv", "data"))
    reproduce = ("reproduce", "table2", "--data", log, "--k-core", "0", "--seeds", "1", "--only", "mf", "--epochs",
                 "100000", "--threads", "1", "-o", "out")
    tune = ("tune", data, "-o", "search", "--model", "mf", "--epochs", "100000", "--patience", "100000", "--search",
            "l2=0|1e-4", "--threads", "1")
    for run, place in ((reproduce, ("out", "runs")), (tune, ("search", "trials.jsonl"))):
        process = world.start(*run)
        end = time.monotonic() + 60
        while not (os.path.exists(world.path(*place)) and is_locked(world.path(*place))):
            world.check(process.poll() is None and time.monotonic() < end, f"{run[0]} locks nothing")
            time.sleep(0.01)
        err = world.inmo(*run, code=4)[1]
        world.check("is in use: another inmo is" in err, err)
        process.kill()
        process.communicate()
        world.check(not is_locked(world.path(*place)), "the lock outlived its process")


def case_first_interrupt_is_heard_while_writing(world):
    """Standard output is a pipe of one page that nobody reads yet, so that the program is in the middle of its lines."""
    mf = os.path.join(world.small, "mf")
    with open(os.path.join(world.small, "log.tsv"), encoding="utf-8") as stream:
        users = sorted({line.split("\t")[0] for line in stream})
    for number in (signal.SIGINT, signal.SIGTERM):
        for arguments in (("export", mf, "-o", "-", "--what", "users", "--format", "tsv"),
                          ("recommend", mf, "-o", "-", *(word for user in users for word in ("--user", user)))):
            reader, writer = os.pipe()
            fcntl.fcntl(reader, fcntl.F_SETPIPE_SZ, 4096)
            process = subprocess.Popen([world.program, *arguments], cwd=world.folder, env=world.environment, stdout=writer,
                                       stderr=subprocess.PIPE)
            os.close(writer)
            end = time.monotonic() + 30
            while struct.unpack("i", fcntl.ioctl(reader, termios.FIONREAD, b"1234"))[0] < 4096 and time.monotonic() < end:
                time.sleep(0.01)
            process.send_signal(number)
            while os.read(reader, 65536):
                pass
            os.close(reader)
            err = process.communicate(timeout=60)[1]
            world.check(process.returncode == 11 and err == b"inmo: stopped on request\n",
                        f"{arguments[0]}: exit code {process.returncode} {err}")


def case_second_interrupt_ends_at_once(world):
    reader, writer = os.pipe()  # a log that never comes
    process = subprocess.Popen([world.program, "prepare", "-", "-o", "data"], cwd=world.folder, stdin=reader,
                               env=world.environment, stderr=subprocess.PIPE)
    caught = 0
    while not caught & 1 << (signal.SIGINT - 1):  # until the program listens
        time.sleep(0.02)
        caught = int(re.search(r"SigCgt:\s*(\w+)", open(f"/proc/{process.pid}/status", encoding="utf-8").read()).group(1), 16)
    time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    process.send_signal(signal.SIGINT)  # at the same moment: still the first
    time.sleep(0.5)
    world.check(process.poll() is None, "one interrupt, sent twice at once, ended it")
    process.send_signal(signal.SIGINT)
    process.communicate(timeout=10)
    os.close(reader)
    os.close(writer)
    world.check(process.returncode == -signal.SIGINT, f"exit code {process.returncode}")


def case_limits_of_time_and_epochs(world):
    data = os.path.join(world.small, "data")
    trained = json.loads(world.inmo("train", data, "-o", "m", "--model", "mf", *LONG_RUN, "--epochs", "100000",
                                    "--max-seconds", "0.5", "--json")[0])
    world.check(trained["stopped"] == "max-seconds" and trained["seconds"] < 30, str(trained))
    world.check(not os.path.exists(world.path("m.checkpoint")), "a checkpoint was left behind")


def case_raw_log_keeps_nothing_for_a_test(world):
    log = os.path.join(world.small, "log.tsv")
    for more, share in (((), 1), (("--split", "50/50/0"), 0.5)):
        world.inmo("train", log, "-o", "m", "--model", "popular", "--force", *more)
        trained_on = json.loads(world.inmo("info", "m", "--json")[0])["interactions"]
        world.check(abs(trained_on / 4000 - share) < 0.05, f"trained on {trained_on} of 4000")
