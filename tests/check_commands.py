#!/usr/bin/env python3
"""check_commands.py - the commands of README.md and docs/cookbook.md run.

    python3 tests/check_commands.py SOURCE-ROOT PROGRAM

README.md: every line of a block that begins with "inmo " (what follows two or more spaces and is not part of the command
explains it). docs/cookbook.md: every block marked sh, as a script whose lines must all succeed. Each page has a folder of its
own. A command that would take hours, measure for a minute or serve for ever gets further options, which are no part of the page;
what needs another machine is skipped, and said.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile

# What a command of the README gets besides, so that it ends soon. Each must still be there.
LIMITS = {
    "inmo train": "--max-seconds 10",
    "inmo compare": "--models popular,item-knn",
    "inmo tune": "--trials 2 --epochs 2 --dim 16",
    "inmo reproduce": "--seeds 1 --only popular --epochs 1",
    "inmo bench": "--seconds 0.1",
    "inmo serve": "--check",
}


def run(command, folder, environment):
    return subprocess.run(["bash", "-e", "-o", "pipefail", "-c", command], cwd=folder, env=environment, text=True,
                          stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=600)


def readme_commands(text):
    for block in re.findall(r"```\n(.*?)```", text, re.S):
        for line in block.splitlines():
            if line.startswith("inmo "):
                yield re.split(r"\s{2,}", line)[0]


def write_ratings(folder):
    """The user's own log, which the README speaks of: everybody rates three of four genres, mostly well."""
    with open(os.path.join(folder, "ratings.csv"), "w", encoding="utf-8") as stream:
        stream.write("user,item,rating\n")
        for user in range(120):
            for item in range(60):
                if item % 4 != user % 4 and (user * 7 + item * 5) % 11 < 8:
                    stream.write(f"u{user},i{item},{2 + (user + item) % 4}\n")


def check_readme(root, folder, environment):
    ran = wrong = 0
    unused = set(LIMITS)
    write_ratings(folder)
    for command in readme_commands((root / "README.md").read_text(encoding="utf-8")):
        limit = next((start for start in LIMITS if command.startswith(start)), None)
        unused.discard(limit)
        done = run(f"{command} {LIMITS.get(limit, '')}", folder, environment)
        ran += 1
        if done.returncode:
            wrong += 1
            print(f"error: README.md: {command}\nexit code {done.returncode}\n{done.stdout}")
    for start in sorted(unused):
        wrong += 1
        print(f"error: README.md has no \"{start}\" any more, which is on the list of limits")
    return ran, 0, wrong


def check_cookbook(root, folder, environment):
    ran = skipped = wrong = 0
    for block in re.findall(r"```sh\n(.*?)```", (root / "docs" / "cookbook.md").read_text(encoding="utf-8"), re.S):
        reason = None
        for command in block.splitlines():
            if command.startswith("# needs"):
                reason = command[2:]
            if not command or command.startswith("#"):
                continue
            if reason:
                print(f"skipped  docs/cookbook.md: {command}: {reason}")
                skipped += 1
                continue
            done = run(command, folder, environment)
            ran += 1
            if done.returncode:
                wrong += 1
                print(f"error: docs/cookbook.md: {command}\nexit code {done.returncode}\n{done.stdout}")
    return ran, skipped, wrong


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    root, program = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    failed = 0
    for name, check in (("README.md", check_readme), ("docs/cookbook.md", check_cookbook)):
        with tempfile.TemporaryDirectory(prefix="inmo-commands-") as folder:
            environment = dict(os.environ, LC_ALL="C", TERM="dumb", OMP_WAIT_POLICY="passive",
                               PATH=f"{program.parent}:{os.environ['PATH']}")
            ran, skipped, wrong = check(root, folder, environment)
        print(f"{name}: {ran} commands run, {skipped} skipped, {wrong} wrong")
        failed |= wrong > 0 or ran == 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
