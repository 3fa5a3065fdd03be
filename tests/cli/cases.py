"""Tests of the program that need more than a comparison of text; run.py runs every function called case_..."""
import fcntl
import json
import os
import re
import shutil
import signal
import stat
import struct
import subprocess
import termios
import time

COMMANDS = ("synth", "prepare", "train", "tune", "evaluate", "recommend", "similar", "explain", "info", "export", "reproduce",
            "man")
MODELS = ("mf", "lightgcn", "inmo-mf", "inmo-lightgcn")
HERE = os.path.dirname(os.path.abspath(__file__))


def read(path):
    with open(path, "rb") as stream:
        return stream.read()


def first(world, column):
    with open(os.path.join(world.small, "log.tsv"), encoding="utf-8") as stream:
        return stream.readline().split()[column]


def keys(world, text, *promised):
    found = json.loads(text)
    for key in promised:
        world.check(key in found, f'no key "{key}" in {text}')
    return found


# ---- One table: parser, help, manual and reference agree ----------------------------------------------------------

def rows_of(world, command):
    return json.loads(world.inmo("help", command, "--json")[0])


def case_every_option_is_in_help_and_manual(world):
    manual = world.inmo("man")[0].replace("\\-", "-")
    sections = dict(re.findall(r'^\.SS "inmo (\w+)[^\n]*\n(.*?)(?=^\.S[SH] )', manual, re.M | re.S))
    for command in COMMANDS:
        rows = rows_of(world, command)
        text = world.inmo(command, "--help")[0]
        world.check(text == world.inmo("help", command)[0], f"inmo {command} --help is not inmo help {command}")
        for row in rows:
            pattern = r"--(\[no-\])?" + re.escape(row["name"]) + r"(?![\w-])"
            for place, words in (("--help", text), ("the manual page", sections.get(command, ""))):
                world.check(re.search(pattern, words), f"--{row['name']} of {command} is not in {place}")
            if row["default"]:
                world.check("default " + row["default"] in re.sub(r"\s+", " ", text),
                            f"the default of --{row['name']} is not in the help of {command}")
            world.check(row["help"] and row["group"], f"--{row['name']} of {command} has no help or heading")


def case_every_option_in_help_is_parsed(world):
    """A value that cannot be, given to the parser, comes back in an error that names the option."""
    for command in COMMANDS:
        rows = {row["name"]: row for row in rows_of(world, command)}
        shown = set(re.findall(r"^  (?:-\w, |    )--(?:\[no-\])?([\w-]+)", world.inmo(command, "--help")[0], re.M))
        world.check(shown == set(rows) | {"help"}, f"{command}: help and parser differ: {shown ^ set(rows)}")
        arguments = {"prepare": ["x"], "train": ["x"], "tune": ["x"], "evaluate": ["x", "y"], "recommend": ["x"], "similar": ["x"],
                     "explain": ["x"], "info": ["x"], "export": ["x"], "reproduce": ["table1"]}.get(command, [])
        arguments += ["-o", "z"] if "output" in rows else []
        for name, row in rows.items():
            if row["type"] in "sl" and not row["expected"].startswith("one of"):
                continue
            err = world.inmo(command, *arguments, f"--{name}=im/possible", code=2)[1]
            world.check(f'--{name}: found "im/possible", expected {row["expected"]}' in err,
                        f"{command} --{name}=im/possible: {err}")


def case_manual_page_is_sound_troff(world):
    page = world.path("inmo.1")
    with open(page, "w", encoding="utf-8") as stream:
        stream.write(world.inmo("man")[0])
    try:
        done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", page], capture_output=True, text=True)
    except FileNotFoundError:
        return
    world.check(done.returncode == 0 and not done.stderr, done.stderr)


def case_reference_is_up_to_date(world):
    with open(os.path.join(HERE, "..", "..", "docs", "cli.md"), encoding="utf-8") as stream:
        world.check(stream.read() == world.inmo("man", "--markdown")[0],
                    "docs/cli.md is not what `inmo man --markdown` prints")


def case_exit_codes_are_documented(world):
    manual = world.inmo("man")[0]
    for code in range(12):
        world.check(f".B {code}\n" in manual, f"exit code {code} is not in the manual page")
        for text in (world.inmo("--help")[0], world.inmo("train", "--help")[0]):
            world.check(re.search(rf"^ +{code}  ", text, re.M), f"exit code {code} is not in --help")


# ---- JSON ------------------------------------------------------------------------------------------------------------

def case_json_outputs_have_the_promised_keys(world):
    log, user, item = os.path.join(world.small, "log.tsv"), first(world, 0), first(world, 1)
    keys(world, world.inmo("prepare", log, "-o", "data", "--json")[0], "users", "items", "interactions", "density",
         "scenario", "description")
    trained = keys(world, world.inmo("train", "data", "-o", "m", "--dim", "8", "--epochs", "2", "--json",
                                     "--threads", "1")[0],
                   "model", "settings", "epochs", "best_epoch", "steps", "seconds", "seconds_per_epoch",
                   "best_valid", "final_loss", "peak_rss_mb", "parameters", "output", "stopped", "threads")
    world.check(trained["epochs"] == 2 and trained["threads"] == 1 and trained["model"] == "inmo-lightgcn" and
                trained["settings"]["dim"] == 8 and trained["peak_rss_mb"] > 1, str(trained))
    report = keys(world, world.inmo("evaluate", "m", "data", "--k", "5,20", "--json")[0], "model", "data", "part",
                  "users", "metrics", "groups", "seconds", "inference_seconds")
    for k in (5, 20):
        for name in ("recall", "ndcg", "precision", "hit_rate", "mrr", "map", "coverage"):
            world.check(0 <= report["metrics"][f"{name}@{k}"] <= 1, f"{name}@{k}: {report}")
    for group in report["groups"].values():
        world.check("users" in group and "recall@20" in group["metrics"], str(group))
    lines = world.inmo("recommend", "m", "--user", user, "--user", user, "--k", "3", "--explain", "2", "--json")[0]
    world.check(lines.count("\n") == 2, lines)
    for line in lines.splitlines():
        found = keys(world, line, "user", "items", "coverage", "unknown_items", "fallback")
        world.check(found["user"] == user and len(found["items"]) == 3 and
                    len(found["items"][0]["because"]) <= 2, line)
    found = keys(world, world.inmo("recommend", "m", "--items", f"{item},nothing", "--json")[0], "user", "items")
    world.check(found["user"] is None and found["unknown_items"] == 1, str(found))
    keys(world, world.inmo("similar", "m", "--item", item, "--json")[0], "item", "similar")
    why = keys(world, world.inmo("explain", "m", "--user", user, "--item", item, "--json")[0], "score", "sum",
               "because")
    world.check(abs(why["score"] - sum(p["contribution"] for p in why["because"])) < 1e-5 + 1e-4 * abs(why["score"]),
                str(why))
    keys(world, world.inmo("info", "m", "--json")[0], "kind", "model", "users", "items", "parameters", "settings",
         "record")
    keys(world, world.inmo("info", "data", "--json")[0], "kind", "users", "items", "interactions")


def case_bench_puts_every_kernel_beside_its_limit(world):
    data = os.path.join(world.small, "data")
    report = keys(world, world.inmo("bench", data, "--seconds", "0.01", "--threads", "1", "--json")[0], "threads",
                  "instructions", "blas", "l2_bytes", "l3_bytes", "users", "items", "interactions", "rates", "kernels",
                  "seconds")
    world.check(report["users"] == 200 and report["items"] == 100 and report["threads"] == 1, str(report))
    rates = {(rate["what"], rate["level"]): rate["per_second"] for rate in report["rates"]}
    for what in ("read", "update", "rows of 128 bytes", "rows of 256 bytes"):
        for level in ("L2", "L3", "memory"):
            # Nothing moves less than 50 MB or more than 10 TB a second.
            world.check(5e7 < rates[what, level] < 1e13, f"{what} from {level}: {rates}")
    world.check(1e8 < rates["multiply-add", None] < 1e14, str(rates))
    world.check(len(report["kernels"]) == 10, str(report["kernels"]))
    for kernel in report["kernels"]:
        world.check(kernel["runs"] >= 3 and kernel["bytes"] > 0 and kernel["flops"] > 0 and
                    kernel["bound"] in ("memory", "arithmetic") and kernel["limit_ms"] > 0 and
                    abs(kernel["ratio"] - kernel["ms"] / kernel["limit_ms"]) < 1e-6 * kernel["ratio"], str(kernel))
    table = world.inmo("bench", data, "--seconds", "0.01")[0]
    for kernel in report["kernels"]:
        world.check(kernel["name"] in table, table)
    world.check("nowhere" in world.inmo("bench", "nowhere", code=4)[1], "a data set that is not there")


def case_settings_of_a_run_are_a_configuration_file(world):
    data = os.path.join(world.small, "data")
    trained = json.loads(world.inmo("train", data, "-o", "a", "--model", "inmo-mf", "--dim", "8", "--epochs", "2",
                                    "--seed", "9", "--json")[0])
    with open(world.path("run.json"), "w", encoding="utf-8") as stream:
        json.dump(trained["settings"], stream)
    world.inmo("train", data, "-o", "b", "--config", "run.json")
    world.check(read(world.path("a")) == read(world.path("b")), "the same settings gave another model")


def case_short_memory_is_said(world):
    """The n-th allocation of jansson or the program fails, alone or with all after it: exit code 9 and no JSON, or the whole
    result. Never a part of it, never a file that is called damaged."""
    library = os.environ.get("INMO_SHORT_MEMORY")
    if not library:
        return
    user, item = first(world, 0), first(world, 1)
    mf, data, log = (os.path.join(world.small, name) for name in ("mf", "data", "log.tsv"))
    with open(world.path("options.json"), "w", encoding="utf-8") as stream:
        stream.write('{"k": 3}')
    tune = ("tune", data, "-o", "search", "--model", "mf", "--dim", "4", "--epochs", "1", "-q", "--search", "l2=0|1e-4", "--json")
    for arguments in (("recommend", mf, "--user", user, "--explain", "2", "--json", "--config", "options.json"),
                      ("recommend", mf, "--all-users", "-o", "-", "--k", "2", "--json"),
                      ("similar", mf, "--item", item, "--k", "3", "--json"), ("explain", mf, "--user", user, "--item", item, "--json"),
                      ("info", mf, "--json"), ("evaluate", mf, data, "--json"), ("help", "train", "--json"),
                      ("prepare", log, "-o", "prepared", "--force", "--json"), tune):

        def run(at, stays):
            more = {"INMO_SETTLED": "1", "LD_PRELOAD": library, "SHORT_MEMORY_AT": str(at), **({"SHORT_MEMORY_STAYS": "1"} if stays else {})}
            shutil.rmtree(world.path("search"), ignore_errors=True)
            done = subprocess.run([world.program, *arguments, *(() if arguments[0] == "help" else ("--threads", "1"))],
                                  cwd=world.folder, env=dict(world.environment, **more), capture_output=True, timeout=60)
            return done.returncode, re.sub(rb'"\w*seconds": [0-9.e-]+', b"", done.stdout), done.stderr

        code, whole, err = run(0, 0)
        world.check(code == 0 and whole, f"{arguments}: {err}")
        at, reached = 1, True
        while reached and at < 100000:
            reached = False
            for stays in (0, 1):
                code, out, err = run(at, stays)
                ended = code == 9 and b"not enough memory" in err and whole.startswith(out)
                world.check(ended or (code == 0 and out == whole), f"{arguments}, {at}: {code} {out[-300:]} {err}")
                reached |= code != 0
            world.check(reached or at > 5, f"{arguments}: nothing failed")
            at += 1 + at // 2


# ---- Lists -----------------------------------------------------------------------------------------------------------

def case_lists_of_all_users(world):
    model = os.path.join(world.small, "inmo-lightgcn")
    world.inmo("recommend", model, "--all-users", "-o", "a.tsv", "--k", "5")
    with open(world.path("a.tsv"), encoding="utf-8") as stream:
        rows = [line.rstrip("\n").split("\t") for line in stream]
    world.check(all(len(row) == 3 for row in rows), "not user, item, score")
    users = list(dict.fromkeys(row[0] for row in rows))
    world.check(users == list(dict.fromkeys(users)) and len(rows) == 5 * len(users), "not 5 items a user")
    out = world.inmo("recommend", model, "--all-users", "-o", "-", "--k", "5")[0]
    world.check(out.encode() == read(world.path("a.tsv")), "standard output and file differ")
    lines = world.inmo("recommend", model, "--all-users", "-o", "-", "--k", "5", "--json")[0].splitlines()
    world.check([json.loads(line)["user"] for line in lines] == users, "JSON lines have other users")
    one = json.loads(world.inmo("recommend", model, "--user", users[3], "--k", "5", "--json")[0])
    world.check([i["item"] for i in one["items"]] == [row[1] for row in rows if row[0] == users[3]],
                "one user's list is not the list among all users")


def case_allow_deny_and_seen(world):
    model, user = os.path.join(world.small, "inmo-mf"), first(world, 0)

    def items(*more):
        found = json.loads(world.inmo("recommend", model, "--user", user, "--k", "10", "--json", *more)[0])
        return [entry["item"] for entry in found["items"]]

    best = items()
    for name, ids in (("allow", best[4:7]), ("deny", best[:2])):
        with open(world.path(name), "w", encoding="utf-8") as stream:
            stream.write("".join(i + "\n" for i in ids))
    world.check(items("--allow", "allow") == best[4:7], "--allow")
    world.check(items("--deny", "deny")[:8] == best[2:], "--deny")
    world.check(items("--exclude-seen") == best, "--exclude-seen is not the default")
    world.check(items("--include-seen") == items("--no-exclude-seen"), "--include-seen")
    out = world.inmo("recommend", model, "--all-users", "-o", "-", "--k", "10", "--deny", "deny")[0]
    mine = [line.split("\t")[1] for line in out.splitlines() if line.split("\t")[0] == user]
    world.check(mine == items("--deny", "deny"), "--deny with --all-users")


def case_explanations_sum_to_the_score(world):
    for model in MODELS:
        path = os.path.join(world.small, model)
        best = json.loads(world.inmo("recommend", path, "--user", first(world, 0), "--k", "3", "--json")[0])
        for entry in best["items"]:
            why = json.loads(world.inmo("explain", path, "--user", first(world, 0), "--item", entry["item"],
                                        "--json")[0])
            total = sum(part["contribution"] for part in why["because"])
            for name, value in (("score", why["score"]), ("recommended score", entry["score"])):
                world.check(abs(total - value) < 1e-5 + 1e-4 * abs(value), f"{model}: sum {total}, {name} {value}")


def case_export_npy(world):
    model = os.path.join(world.small, "inmo-lightgcn")
    for what in ("users", "items"):
        world.inmo("export", model, "-o", what, "--what", what)
        data = read(world.path(what + ".npy"))
        world.check(data[:8] == b"\x93NUMPY\x01\x00", "not .npy")
        length = struct.unpack("<H", data[8:10])[0]
        header = eval(data[10:10 + length].decode())
        rows, columns = header["shape"]
        world.check((10 + length) % 64 == 0 and header["descr"] == "<f4" and not header["fortran_order"],
                    str(header))
        world.check(len(data) == 10 + length + 4 * rows * columns and columns == 8, str(header))
        ids = read(world.path(what + ".ids")).decode().splitlines()
        world.check(len(ids) == rows, "ids are not one a row")
        out = world.inmo("export", model, "-o", "-", "--what", what, "--format", "tsv")[0].splitlines()
        world.check([line.split("\t")[0] for line in out] == ids, "ids of .tsv and .npy differ")
        numbers = [float(x) for x in out[1].split("\t")[1:]]
        begin = 10 + length + 4 * columns
        world.check(struct.pack(f"<{columns}f", *numbers) == data[begin:begin + 4 * columns],
                    "the text does not give the same floats back")


# ---- Training: threads, kill, Ctrl-C -----------------------------------------------------------------------------------

def case_threads_give_the_same_bytes(world):
    data = os.path.join(world.small, "data")
    for model, recipe in [(model, recipe) for model in MODELS for recipe in ("fast", "paper")]:
        for threads in ("1", "2"):
            world.inmo("train", data, "-o", model + threads, "--model", model, "--recipe", recipe, "--dim", "32",
                       "--epochs", "4", "--batch", "512", "--threads", threads, "--force", "-q")
        world.check(read(world.path(model + "1")) == read(world.path(model + "2")),
                    f"{model}, {recipe}: 1 and 2 threads gave different files")


def stamp(path):
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return None


def wait_for_checkpoints(path, process, count, seconds=60):
    """Until the file has been written so many times: the run is that far, however fast the machine is."""
    end, last, seen = time.monotonic() + seconds, stamp(path), 0
    while seen < count and process.poll() is None and time.monotonic() < end:
        now = stamp(path)
        seen += now is not None and now != last
        last = now or last
        time.sleep(0.002)
    return seen >= count and process.poll() is None


LONG_RUN = ("--dim", "32", "--batch", "64", "--patience", "1000")


def epochs_of(world, seconds, least, *run):
    """Epochs that take about this long on this machine, so that there is time to interrupt them. Of three trials the fastest
    counts: a machine that is busy now may be idle later."""
    trials = [json.loads(world.inmo(*run, "-o", "trial", "--epochs", "5", "--json", "-q", "--force")[0])["seconds"]
              for _ in range(3)]
    return max(least, min(3000, int(seconds * 5 / max(min(trials), 1e-3))))


def epochs_for(world, data, model, seconds):
    return str(epochs_of(world, seconds, 6, "train", data, "--model", model, *LONG_RUN))


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


# ---- Searching settings ----------------------------------------------------------------------------------------------

SPACE = ("--search", "learning-rate=1e-3..1e-1:log", "--search", "l2=0|1e-4|1e-3")


def lines_in(path):
    return read(path).count(b"\n") if os.path.exists(path) else 0


def case_search_finds_what_training_repeats(world):
    data = os.path.join(world.small, "data")
    for method, recipe in (("random", "fast"), ("halving", "fast"), ("halving", "paper")):
        directory = f"{method}-{recipe}"
        run = ("tune", data, "-o", directory, "--model", "inmo-mf", "--recipe", recipe, "--dim", "8", "--epochs", "9",
               "--eval-every", "1", "--method", method, "--trials", "5", *SPACE)
        text, err = world.inmo(*run)
        world.check(err.count("inmo: trial ") >= 5, err)
        found = keys(world, world.inmo(*run, "--json")[0], "method", "trials", "planned", "trained", "seconds",
                     "stopped", "command", "output")
        world.check(found["trained"] == 0 and found["planned"] == 5 == len(found["trials"]), str(found))
        best = keys(world, json.dumps(found["trials"][0]), "trial", "settings", "epochs", "ndcg@20", "deviation", "error")
        world.check(text.endswith(f"best: {found['command']}\n"), text)
        scores = [trial["ndcg@20"] for trial in found["trials"] if trial["epochs"] == best["epochs"]]
        world.check(scores == sorted(scores, reverse=True), str(scores))
        done = world.shell(found["command"] + " --json --force")
        world.check(done.returncode == 0, done.stderr.decode())
        trained = json.loads(done.stdout)
        world.check(trained["best_valid"] == best["ndcg@20"], f"{found['command']} gives {trained['best_valid']}")
        for name, value in best["settings"].items():
            world.check(trained["settings"][name] == value, f"{name}: {trained['settings'][name]}, not {value}")
        world.check(os.listdir(world.path(directory)) == ["trials.jsonl"], str(os.listdir(world.path(directory))))


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
        world.check(world.inmo(*run, "-o", "pieces", "-q")[0] == whole, f"{method}: another table after kill -9")
        for name in ("whole", "pieces"):
            world.check(os.listdir(world.path(name)) == ["trials.jsonl"], str(os.listdir(world.path(name))))
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


def is_locked(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False


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


def case_long_configuration_files(world):
    """Time in proportion to their length; beyond 1 MB refused."""
    with open(world.path("long"), "w", encoding="utf-8") as stream:
        stream.write("seed = 7\n" * 100000)
    began = time.monotonic()
    world.inmo("synth", "-o", "a", "--interactions", "100", "--config", "long")
    world.check(time.monotonic() - began < 5, "100,000 lines take more than 5 s")
    world.inmo("synth", "-o", "b", "--interactions", "100", "--seed", "7")
    world.check(read(world.path("a")) == read(world.path("b")), "other options than on the command line")
    world.inmo("synth", "-o", "c", "--interactions", "100", "--config", "long", "--seed", "8")
    world.check(read(world.path("c")) != read(world.path("a")), "the command line does not win")
    with open(world.path("long"), "a", encoding="utf-8") as stream:
        stream.write("seed = 7\n" * 20000)
    world.check("more than 1 MB" in world.inmo("synth", "-o", "d", "--config", "long", code=3)[1], "1 MB")


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
    time.sleep(0.3)
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
    for more, share in (((), 0.9), (("--split", "50/50/0"), 0.5)):
        world.inmo("train", log, "-o", "m", "--model", "popular", "--force", *more)
        trained_on = json.loads(world.inmo("info", "m", "--json")[0])["interactions"]
        world.check(abs(trained_on / 4000 - share) < 0.05, f"trained on {trained_on} of 4000")


# ---- Folders that refuse, a disk without space -------------------------------------------------------------------------

def case_folder_that_may_not_be_written(world):
    """Refused before the work begins. Root may write anywhere, so root does this as nobody."""
    folder = world.path("closed")
    os.mkdir(folder)
    for path, mode in ((world.small, 0o755), (world.folder, 0o755), (folder, 0o555)):
        os.chmod(path, mode)
    as_nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    log, data, mf = (os.path.join(world.small, name) for name in ("log.tsv", "data", "mf"))
    for arguments in (("train", data, "-o", "closed/m"), ("prepare", log, "-o", "closed/d"),
                      ("synth", "-o", "closed/log"), ("export", mf, "-o", "closed/items"),
                      ("recommend", mf, "--all-users", "-o", "closed/lists")):
        try:
            done = subprocess.run([world.program, *arguments], cwd=world.folder, env=world.environment,
                                  capture_output=True, text=True, **as_nobody)
        except PermissionError:
            return  # the program itself is where nobody may look
        world.check(done.returncode == 4 and done.stderr == "inmo: cannot write in closed: Permission denied\n" and
                    not done.stdout and not os.listdir(folder), f"{arguments}: {done.returncode} {done.stderr}")


def case_devices_and_pipes_are_written_into(world):
    """Never replaced, with or without --force. The device is a node of our own; only where this test may make one."""
    mf = os.path.join(world.small, "mf")
    lists = world.inmo("recommend", mf, "--all-users", "-o", "-", "--k", "3")[0]
    os.mkfifo(world.path("pipe"))
    for more in ((), ("--force",)):
        reader = subprocess.Popen(["cat", world.path("pipe")], stdout=subprocess.PIPE)
        try:
            world.inmo("recommend", mf, "--all-users", "-o", "pipe", "--k", "3", *more)
            world.check(reader.communicate(timeout=60)[0].decode() == lists, "something else came out of the pipe")
        finally:
            reader.kill()
        world.check(stat.S_ISFIFO(os.stat(world.path("pipe")).st_mode), "the pipe was replaced")
    done = world.shell(f"inmo recommend {mf} --all-users -o /dev/stdout --k 3 > collected")
    world.check(done.returncode == 0 and read(world.path("collected")).decode() == lists, done.stderr.decode())
    try:
        os.mknod(world.path("null"), 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        os.close(os.open(world.path("null"), os.O_WRONLY))
    except OSError:
        return
    for more in ((), ("--force",)):
        for arguments in (("recommend", mf, "--all-users", "-o", "null"), ("export", mf, "-o", "null", "--format", "tsv"),
                          ("synth", "-o", "null", "--interactions", "100"),
                          ("train", os.path.join(world.small, "data"), "-o", "null", "--model", "mf", "--epochs", "1")):
            if arguments[0] == "export":  # a name without a suffix gets one
                os.rename(world.path("null"), world.path("null.tsv"))
            world.inmo(*arguments, *more)
            if arguments[0] == "export":
                os.rename(world.path("null.tsv"), world.path("null"))
            world.check(stat.S_ISCHR(os.stat(world.path("null")).st_mode), f"{arguments[0]} replaced the device")
    world.check(sorted(os.listdir(world.folder)) == ["collected", "null", "pipe"], str(os.listdir(world.folder)))


def case_numbers_and_ids_change_together(world):
    """The disk is full at the second of two files; only where this test may mount one."""
    disk = world.path("disk")
    os.mkdir(disk)
    try:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12k", "tmpfs", disk], capture_output=True).returncode:
            return  # test_file does the same with a limit on file size
    except FileNotFoundError:
        return
    try:
        # Three pages: the numbers take one, and the ids find none, even after the old numbers are gone.
        for name, content in (("items.npy", b""), ("items.ids", b"old ids"), ("other", b"other")):
            with open(os.path.join(disk, name), "wb") as stream:
                stream.write(content)
        err = world.inmo("export", os.path.join(world.small, "mf"), "-o", "disk/items", "--force", code=4)[1]
        world.check("No space left on device" in err, err)
        world.check(read(os.path.join(disk, "items.npy")) == b"" and read(os.path.join(disk, "items.ids")) == b"old ids",
                    "one of the two was replaced")
        world.check(sorted(os.listdir(disk)) == ["items.ids", "items.npy", "other"], str(os.listdir(disk)))
    finally:
        subprocess.run(["umount", disk], check=True)


def case_full_disk_leaves_what_was_there(world):
    """On a file system of 64 KB; only where this test may mount one."""
    disk = world.path("disk")
    os.mkdir(disk)
    try:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk],
                                 capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        return  # outputs.transcript does the same with a limit on file size
    try:
        data = os.path.join(world.small, "data")
        world.inmo("synth", "-o", "large", "--interactions", "50000")
        with open(os.path.join(disk, "model"), "wb") as stream:
            stream.write(b"before")
        for arguments in (("train", data, "-o", "disk/model", "--force", "--model", "mf", "--dim", "64", "--epochs",
                           "1", "--checkpoint", "elsewhere"),
                          ("prepare", "large", "-o", "disk/data"),
                          ("synth", "-o", "disk/log", "--interactions", "100000"),
                          ("recommend", os.path.join(world.small, "mf"), "--all-users", "-o", "disk/lists", "--k", "50")):
            err = world.inmo(*arguments, code=4)[1]
            world.check("No space left on device" in err, err)
            world.check(os.listdir(disk) == ["model"] and read(os.path.join(disk, "model")) == b"before",
                        f"{arguments[0]} left {os.listdir(disk)}")
    finally:
        subprocess.run(["umount", disk], check=True)
