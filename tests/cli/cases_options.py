"""Cases about options: parser, help, manual, reference and configuration agree; the promised keys of --json. run.py runs every function called case_..."""
import json
import os
import re
import shlex
import shutil
import subprocess
import time

from cases_support import read, first, keys

COMMANDS = ("synth", "prepare", "train", "tune", "evaluate", "recommend", "similar", "explain", "info", "export", "reproduce",
            "completion", "man")
HERE = os.path.dirname(os.path.abspath(__file__))


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
                     "explain": ["x"], "info": ["x"], "export": ["x"], "reproduce": ["table1"], "completion": ["bash"]}.get(command, [])
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
        world.check(0 < report["metrics"][f"diversity@{k}"] <= 1 and report["metrics"][f"novelty@{k}"] > 0, str(report))
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


def completed(world, shell, *words, expected=()):
    """What the Tab key offers after these words; None where the shell is not installed. zsh gets more time if it does not offer what
    is expected: its list comes when it comes."""
    if not shutil.which(shell):
        return None
    with open(world.path("completion." + shell), "w", encoding="utf-8") as stream:
        stream.write(world.inmo("completion", shell)[0])
    if shell == "bash":
        script = (f"source ./completion.bash; COMP_WORDS=({shlex.join(words)}); COMP_CWORD={len(words) - 1}; _inmo; "
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        command = ["bash", "--norc", "-c", script]
    elif shell == "fish":
        command = ["fish", "--no-config", "-c", f"source ./completion.fish; complete -C {shlex.quote(' '.join(words))}"]
    else:  # a terminal in a terminal: zsh completes nowhere else
        typed = " ".join(words)
        command = ["zsh", "-f", "-c", r"""
            zmodload zsh/zpty; zpty z zsh -f -i; zpty -w z 'PROMPT=; autoload -U compinit; compinit -u -D; source ./completion.zsh'
            zpty -w z 'zstyle ":completion:*" list-grouped no; zstyle ":completion:*" verbose no; LISTMAX=10000'
            zpty -w z 'bindkey "^D" list-choices; print r""eady'; zpty -r -m z x '*ready*'
            zpty -w -n z """ + shlex.quote(typed) + r"""$'\x04'; sleep $seconds; zpty -w -n z $'\x15print d""one\n'
            zpty -r -m z x '*done*'; print -r -- $x"""]
    found = set()
    for attempt in range(4):  # the terminal of zsh loses keys that come while it is still busy
        environment = dict(world.environment, HOME=world.folder, XDG_CONFIG_HOME=world.folder, seconds=str(2 ** attempt))
        try:
            done = subprocess.run(command, cwd=world.folder, env=environment, capture_output=True, text=True,
                                  timeout=15 * (attempt + 1), stdin=subprocess.DEVNULL)
        except subprocess.TimeoutExpired:
            continue
        lines = done.stdout.replace("\r", "").split("\n")
        if shell != "zsh":
            return {line.split("\t")[0].strip() for line in lines if line.strip()}
        # columns, and codes of the terminal
        found = {word for line in lines for word in re.sub(r"\x1b\[[?\d]*\w", "", line).split()}
        if all(any(one in word for word in found) for one in expected):
            break
    return found


def case_completion_knows_every_option(world):
    commands = COMMANDS + ("bench",)
    for command in commands:
        text = world.inmo("help", command)[0]
        expected = {"--help"} | {"--" + row["name"] for row in rows_of(world, command)}
        expected |= {"--no-" + name for name in re.findall(r"--\[no-\]([\w-]+)", text)}
        found = completed(world, "bash", "inmo", command, "--")
        world.check(found == expected, f"bash: {command}: found {found}, expected {expected}")
    for command in ("train", "recommend"):
        found = completed(world, "fish", "inmo", command, "--")
        expected = {"--help"} | {"--" + row["name"] for row in rows_of(world, command)}
        world.check(found is None or expected <= found, f"fish: {command}: {expected - (found or expected)}")


def case_completion_knows_commands_values_and_files(world):
    for name in ("ease.csv", "easy.csv"):  # two: a shell lists only what it can choose from
        with open(world.path(name), "w", encoding="utf-8") as stream:
            stream.write("u,i\n")
    for shell in ("bash", "zsh", "fish"):
        for what, words, expected in (("commands", ("e",), {"evaluate", "explain", "export"}), ("files", ("train", "ea"), {"ease.csv"}),
                                      ("values", ("train", "--model", "i"), {"ials", "item-knn", "imc-gae"})):
            found = completed(world, shell, "inmo", *words, expected=expected)
            if what == "files" and found is not None:
                found = {one for one in expected if any(one in word for word in found)} or found
            world.check(found is None or expected <= found, f"{shell}: {what}: {found}")
    world.check(completed(world, "bash", "inmo", "train", "--model", "=", "ea") == {"ease"}, "bash: --model=ea")
    world.check(not completed(world, "bash", "inmo", "train", "--epochs", ""), "bash: a number has no completion")
    world.check(completed(world, "bash", "inmo", "help", "ex") == {"explain", "export"}, "bash: help")
    world.check(completed(world, "bash", "inmo", "completion", "") == {"bash", "zsh", "fish"}, "bash: shells")
    world.check("expected bash, zsh or fish" in world.inmo("completion", "csh", code=2)[1], "an unknown shell")
