#!/usr/bin/env python3
"""Tests of the program: what a person types, what comes back, and the exit code.

    tests/cli/run.py PROGRAM [--only WORD] [--jobs N] [--update]

A file of transcripts/ is a script with the exact output expected:

    $ inmo prepare nothing.tsv -o data
    ! inmo: cannot open nothing.tsv: No such file or directory
    [4]

"$ " starts a command (bash), "! " is a line of standard error, "[N]" an exit code other than 0, any other line is
standard output. "# " is a comment. "..." inside a line stands for any text, a line of "..." alone for any lines of
standard output. Each transcript has a folder of its own. $SMALL is a folder with a log, a prepared data set and trained
models (see fixture below), $FILES is files/. What needs more than a comparison of text is a function of
one of the files cases_*.py. --update writes what came back into the transcripts.
"""
import argparse
import concurrent.futures
import os
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.dont_write_bytecode = True
sys.path.insert(0, HERE)


class Failure(Exception):
    pass


class World:
    """The program, the folder with the small models, and a fresh folder to work in."""

    def __init__(self, program, small):
        self.program = os.path.abspath(program)
        self.small = small
        self.folder = None
        # Threads that wait asleep: on a machine that does other work too, spinning ones take ten times as long.
        self.environment = dict(os.environ, LC_ALL="C", TERM="dumb", SMALL=small, OMP_WAIT_POLICY="passive",
                                FILES=os.path.join(HERE, "files"),
                                PATH=os.path.dirname(self.program) + ":" + os.environ["PATH"])

    def path(self, *names):
        return os.path.join(self.folder, *names)

    def shell(self, command, timeout=300):
        return subprocess.run(["bash", "-c", command], cwd=self.folder, env=self.environment, timeout=timeout,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    def inmo(self, *arguments, code=0):
        """Runs the program, checks the exit code, returns (stdout, stderr)."""
        done = subprocess.run([self.program, *arguments], cwd=self.folder, env=self.environment, timeout=300,
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        out, err = (text.decode("utf-8", "replace") for text in (done.stdout, done.stderr))
        if done.returncode != code:
            raise Failure(f"inmo {' '.join(arguments)}\nexit code {done.returncode}, expected {code}\n{out}{err}")
        return out, err

    def start(self, *arguments):
        return subprocess.Popen([self.program, *arguments], cwd=self.folder, env=self.environment,
                                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)

    @staticmethod
    def check(truth, sentence):
        if not truth:
            raise Failure(sentence)


def fixture(program):
    """A log of 4,000 interactions, a data set and a small model of each kind, made once for all tests."""
    small = tempfile.mkdtemp(prefix="inmo-small-")
    world = World(program, small)
    world.folder = small
    world.inmo("synth", "-o", "log.tsv", "--interactions", "4000", "--users", "200", "--items", "100", "--groups",
               "4", "--seed", "5", "--quiet")
    world.inmo("prepare", "log.tsv", "-o", "data")
    world.inmo("prepare", "log.tsv", "-o", "new", "--scenario", "new-users-items")
    for model in ("mf", "lightgcn", "inmo-mf", "inmo-lightgcn", "popular"):
        world.inmo("train", "data", "-o", model, "--model", model, "--dim", "8", "--epochs", "3", "--batch", "256",
                   "--quiet")
    return small


def read_transcript(path):
    """[comment lines before, command, expected lines]"""
    steps, before = [], []
    with open(path, encoding="utf-8") as stream:
        for line in stream.read().split("\n")[:-1]:
            if line.startswith("$ "):
                steps.append([before, line[2:], []])
                before = []
            elif not line or line.startswith("# "):
                before.append(line)
            else:
                steps[-1][2] += before + [line]  # empty lines that turn out to stand inside an output
                before = []
    return steps, before


def lines_of(world, data, prefix):
    text = data.decode("utf-8", "replace").replace(world.small, "$SMALL").replace(world.folder, "$FOLDER")
    text = text.replace(os.path.join(HERE, "files"), "$FILES")
    if not text:
        return []
    lines = text.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [prefix + line for line in lines]


def matches(expected, found):
    pattern = ""
    for line in expected:
        if line == "...":
            pattern += "(?:[^!\n][^\n]*\n|\n)*"
        else:
            pattern += "[^\n]*".join(re.escape(piece) for piece in line.split("...")) + "\n"
    return re.fullmatch(pattern, "".join(line + "\n" for line in found)) is not None


def run_transcript(world, path, update):
    steps, rest = read_transcript(path)
    wrong, written = [], []
    for before, command, expected in steps:
        done = world.shell(command)
        found = lines_of(world, done.stdout, "") + lines_of(world, done.stderr, "! ")
        if done.returncode:
            found.append(f"[{done.returncode}]")
        good = matches(expected, found)
        if not good:
            wrong.append("\n".join([f"$ {command}", "--- expected", *expected, "--- found", *found]))
        written += before + [f"$ {command}"] + (expected if good else found)
    if update:
        with open(path, "w", encoding="utf-8") as stream:
            stream.write("\n".join(written + rest) + "\n")
    elif wrong:
        raise Failure("\n".join(wrong))


def main():
    import cases_bounded
    import cases_files
    import cases_lists
    import cases_nightly
    import cases_options
    import cases_runs
    import cases_shop
    parser = argparse.ArgumentParser()
    parser.add_argument("program")
    parser.add_argument("--only", default="", help="run tests whose name has this word")
    parser.add_argument("--update", action="store_true", help="write what came back into the transcripts")
    parser.add_argument("--jobs", type=int, default=2 + (os.cpu_count() or 1), help="tests at the same time")
    options = parser.parse_args()

    small = fixture(options.program)
    tests = []
    for name in sorted(os.listdir(os.path.join(HERE, "transcripts"))):
        path = os.path.join(HERE, "transcripts", name)
        tests.append((name, lambda world, path=path: run_transcript(world, path, options.update)))
    for cases in (cases_options, cases_lists, cases_runs, cases_files, cases_bounded, cases_nightly, cases_shop):
        for name, function in vars(cases).items():
            if name.startswith("case_"):
                tests.append((name[5:].replace("_", "-"), function))
    tests = [test for test in tests if options.only in test[0]]
    # Those that take longest first, so that none of them is left alone at the end.
    tests.sort(key=lambda test: not any(word in test[0] for word in ("kill", "memory", "in-help", "bench", "systems", "interrupt")))

    def run_one(test):
        name, function = test
        world = World(options.program, small)
        world.folder = tempfile.mkdtemp(prefix="inmo-case-")
        began = time.monotonic()
        try:
            function(world)
            print(f"ok    {name} ({time.monotonic() - began:.1f} s)", flush=True)
            return True
        except Exception as failure:
            print(f"FAIL  {name}\n      " + str(failure).replace("\n", "\n      "), flush=True)
            return False
        finally:
            shutil.rmtree(world.folder, ignore_errors=True)

    # Each has a folder of its own, and much of their time is waiting for the disk and for processes to begin.
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        results = list(pool.map(run_one, tests))
    passed, failed = results.count(True), results.count(False)
    shutil.rmtree(small, ignore_errors=True)
    print(f"{passed} passed, {failed} failed")
    return 1 if failed or not passed else 0


if __name__ == "__main__":
    sys.exit(main())
