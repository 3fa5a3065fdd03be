#!/usr/bin/env python3
"""walk.py - every command of the program while memory runs out, at one allocation after the other.

    python3 tests/alloc/walk.py PROGRAM FAILING-LIBRARY [--every] [COMMAND...]

Each command is first run with allocations counted (failing.c), which gives what it should print and write. Then it is
run again with allocation n refused, once alone and once with all that follow, for n from 0 on: for every n with
--every, otherwise for the first few and then a sample. A run must

  - end within the time limit, by itself, with the exit code of memory (9), and say so in one line, or
  - succeed with exactly the output of the first run (some allocations can be done without);
  - leave no damaged output: the file is not there, or is that of the first run; commands that go on with what is in
    their directory must then do so.
"""
import argparse
import concurrent.futures
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile

MEMORY = 9
LIMIT = 60  # seconds for a run that takes a fraction of one
FIRST, SAMPLE = 4, 7  # numbers from 0 on, numbers among the rest
FIRST_OF_SLOW, SAMPLE_OF_SLOW = 2, 4

# jansson 2.14 reads a string twice, does not notice that its copy lost a byte the first time, and asserts the second:
# a string of a file that is being opened, at one allocation in some hundreds. Nothing is being written then.
JANSSON_FAULT = "lex_scan_string: Assertion"

TRAIN = "--dim 4 --layers 1 --epochs 2 --batch 64 -q"
# name: command line, its output ("" for none), whether it goes on with what is there
COMMANDS = {
    "synth": ("synth -o out.tsv.gz --interactions 200 --users 20 --items 15 -q", "out.tsv.gz", False),
    "prepare": ("prepare log.tsv -o out --k-core 2 -q", "out", False),
    "train": (f"train data --model inmo-lightgcn {TRAIN} --no-checkpoint -o out.inmo", "out.inmo", False),
    "train-neumf": (f"train data --model neumf {TRAIN} --no-checkpoint -o out.inmo", "out.inmo", False),
    "train-ease": ("train data --model ease -q -o out.inmo", "out.inmo", False),
    "train-gf-cf": ("train data --model gf-cf --dim 4 -q -o out.inmo", "out.inmo", False),
    "tune": (f"tune data --model mf {TRAIN} --search dim=2|3 --method grid -o out --json", "out", True),
    "evaluate": ("evaluate model.inmo data --json -q", "", False),
    "recommend": ("recommend model.inmo --items {item} -k 5 -q", "", False),
    "recommend-json": ("recommend model.inmo --user {user} -k 3 --explain 2 --json -q", "", False),
    "recommend-all": ("recommend model.inmo --all-users -k 3 -o out.tsv -q", "out.tsv", False),
    "recommend-ease": ("recommend ease.inmo --user {user} -k 5 --observed new.tsv -q", "", False),
    "similar": ("similar model.inmo --item {item} -k 3 --json -q", "", False),
    "explain": ("explain model.inmo --user {user} --item {item} --json -q", "", False),
    "info": ("info model.inmo --json", "", False),
    "info-data": ("info data", "", False),
    "export": ("export model.inmo -o out.npy -q", "out.npy", False),
    "bench": ("bench data --seconds 0.01 -q --json", "", False),
    "reproduce": ("reproduce table4 --data log.tsv --seeds 1 --k-core 0 --epochs 1 --only popular,inmo-mf -q -o out",
                  "out", True),
}
SLOW = {"train", "train-neumf", "train-gf-cf", "tune", "bench", "reproduce"}
# What these print has times in it.
TIMES = {"train", "train-neumf", "train-ease", "train-gf-cf", "tune", "evaluate", "bench", "reproduce"}


class Walk:
    def __init__(self, program, library, work):
        self.program, self.library, self.work = str(program), str(library), pathlib.Path(work)
        self.environment = dict(os.environ, INMO_SETTLED="1", OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1",
                                MALLOC_CHECK_="3", MALLOC_PERTURB_="165")
        self.words = {}

    def run(self, folder, line, **variables):
        environment = dict(self.environment, **variables)
        if variables:
            environment["LD_PRELOAD"] = self.library
        words = [word.format(**self.words) for word in line.split()]
        return subprocess.run([self.program, *words], cwd=folder, env=environment, timeout=LIMIT,
                              capture_output=True, stdin=subprocess.DEVNULL)

    def must(self, line):
        done = self.run(self.work / "base", line)
        if done.returncode:
            sys.exit(f"walk: inmo {line} fails without being refused anything: {done.stderr.decode()}")
        return done.stdout.decode()

    def prepare(self):
        (self.work / "base").mkdir()
        self.must("synth -o log.tsv --interactions 300 --users 30 --items 25 -q")
        self.must("prepare log.tsv -o data -q")
        self.must(f"train data --model inmo-lightgcn {TRAIN} --no-checkpoint -o model.inmo")
        self.must("train data --model ease -q -o ease.inmo")
        lines = (self.work / "base" / "log.tsv").read_text().splitlines()
        self.words["user"], self.words["item"] = lines[0].split("\t")[:2]
        (self.work / "base" / "new.tsv").write_text(f"somebody\t{self.words['item']}\nsomebody\tnew-thing\n")

    def folder(self, name):
        fresh = self.work / name
        shutil.copytree(self.work / "base", fresh, symlinks=True)
        return fresh


def contents(path):
    """Everything below a path, by name; None when it is not there."""
    if not path.exists():
        return None
    if path.is_file():
        return {"": path.read_bytes()}
    return {str(file.relative_to(path)): file.read_bytes() for file in sorted(path.rglob("*")) if file.is_file()}


def without_times(text):
    """And without what was trained by this call, which depends on what was there."""
    text = re.sub(rb'"([a-z_]*seconds[a-z_]*|trained)": *[-+0-9.e]+', b"", text)
    text = re.sub(rb"[-+0-9.e]+ s\b", b"", text)
    return text.split(b"\n## Runs\n")[0]  # of a report: how long each training took


def check(walk, name, number, on, expected):
    """None, or what is wrong with this run."""
    line, output, goes_on = COMMANDS[name]
    folder = walk.folder(f"{name}-{number}-{on}")
    variables = {"INMO_FAIL_AT": str(number)}
    if on:
        variables["INMO_FAIL_ON"] = "1"
    try:
        done = walk.run(folder, line, **variables)
    except subprocess.TimeoutExpired:
        return f"did not end within {LIMIT} s"
    said = done.stderr.decode(errors="replace")
    found = contents(folder / output) if output else None
    wrong = None
    if done.returncode == 0:
        if name not in TIMES and done.stdout != expected["stdout"]:
            wrong = "succeeded with another output than without the failure"
        elif output and not goes_on and found != expected["files"]:
            wrong = "succeeded with another file than without the failure"
    elif done.returncode < 0 and JANSSON_FAULT in said:
        wrong = None
    elif done.returncode < 0:
        wrong = f"ended by signal {-done.returncode}: {said[-200:]}"
    elif done.returncode != MEMORY:
        wrong = f"exit code {done.returncode} instead of {MEMORY}: {said.strip()[-300:]}"
    elif len(said.strip().splitlines()) != 1 or not said.startswith(("inmo: ", '{"error":{"code":9,')):
        wrong = f"said {said!r}, expected one line"
    elif output and not goes_on and found not in (None, expected["files"]):
        wrong = f"left a damaged {output}: {sorted(found)}"
    if not wrong and done.returncode == MEMORY and not goes_on:
        extra = {str(path) for path in folder.rglob("*") if ".part" in path.name}
        if extra:
            wrong = f"left {sorted(extra)}"
    if not wrong and goes_on and done.returncode == MEMORY:
        again = walk.run(folder, line)
        if again.returncode != 0:
            wrong = f"cannot go on afterwards: {again.stderr.decode().strip()[-300:]}"
        elif without_times(again.stdout) != without_times(expected["stdout"]):
            wrong = "goes on to another result"
    shutil.rmtree(folder)
    return wrong


def numbers(total, every, slow):
    first, sample = (FIRST_OF_SLOW, SAMPLE_OF_SLOW) if slow else (FIRST, SAMPLE)
    if every or total <= first + sample:
        return list(range(total))
    # Not in equal steps: loops that allocate would be met at the same place each time.
    span = total - first
    return list(range(first)) + sorted({first + (span * n) // sample + (n * 7) % max(1, span // sample)
                                        for n in range(sample)})


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("program", type=pathlib.Path)
    parser.add_argument("library", type=pathlib.Path)
    parser.add_argument("--every", action="store_true", help="every allocation, not a sample")
    parser.add_argument("command", nargs="*", choices=[[], *COMMANDS], help="only these")
    given = parser.parse_args()
    failures = runs = 0
    with tempfile.TemporaryDirectory(prefix="inmo-alloc-") as work:
        walk = Walk(given.program.resolve(), given.library.resolve(), work)
        walk.prepare()
        for name in given.command or COMMANDS:
            line, output, _ = COMMANDS[name]
            folder = walk.folder(name)
            first = walk.run(folder, line, INMO_FAIL_COUNT=str(folder / "count"))
            if first.returncode:
                sys.exit(f"walk: inmo {line}: {first.stderr.decode()}")
            total = int((folder / "count").read_text())
            (folder / "count").unlink()
            expected = {"stdout": first.stdout, "files": contents(folder / output) if output else None}
            shutil.rmtree(folder)
            jobs = [(number, on) for number in numbers(total, given.every, name in SLOW) for on in (0, 1)]
            with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
                results = list(pool.map(lambda job, n=name, e=expected: check(walk, n, *job, e), jobs))
            wrong = [(job, what) for job, what in zip(jobs, results) if what]
            print(f"{name}: {total} allocations, {len(jobs)} runs, {len(wrong)} wrong", flush=True)
            for (number, on), what in wrong[:40]:
                print(f"    allocation {number}{' and on' if on else ''}: {what}", flush=True)
            failures += len(wrong)
            runs += len(jobs)
    print(f"walk: {runs} runs, {failures} wrong")
    return 1 if failures or not runs else 0


if __name__ == "__main__":
    sys.exit(main())
