#!/usr/bin/env python3
"""check_frictions.py - the table of docs/frictions.md is true.

    python3 tests/check_frictions.py SOURCE-ROOT PROGRAM

Runs the files' commands, then each command of the table, and looks for the lines of its column "now" in the output, in their
order: "..." stands for any text, "exit code N" for another than 0. Every test that a row names must be there: a case or a
transcript of tests/cli, or a program of tests/.
"""
import os
import pathlib
import re
import subprocess
import sys
import tempfile


def tests_of(root):
    names = {path.name for path in (root / "tests" / "cli" / "transcripts").iterdir()}
    names |= {path.stem for path in (root / "tests").glob("test_*.c")}
    for path in (root / "tests" / "cli").glob("cases_*.py"):
        names |= {name.replace("_", "-") for name in re.findall(r"^def case_(\w+)", path.read_text(encoding="utf-8"), re.M)}
    return names


def rows_of(text):
    """Command, what it prints now, tests."""
    for line in text.splitlines():
        cells = [cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]]
        if len(cells) == 4 and cells[0].startswith("`"):
            yield cells[0].strip("`"), cells[2].replace("\\|", "|"), cells[3]


def wrong_with(command, now, folder, environment):
    done = subprocess.run(["bash", "-c", command], cwd=folder, env=environment, text=True, stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT, timeout=300)
    code = re.search(r", exit code (\d+)$", now)
    if done.returncode != (int(code.group(1)) if code else 0):
        return f"exit code {done.returncode}\n{done.stdout}"
    expected, place = re.findall(r"`([^`]+)`", now), 0
    lines = done.stdout.splitlines()
    for wanted in expected:
        pattern = re.compile(".*".join(re.escape(piece) for piece in wanted.split("...")))
        found = next((n for n in range(place, len(lines)) if pattern.fullmatch(lines[n])
                      or (wanted[0] != " " and pattern.fullmatch(lines[n].strip()))), None)
        if found is None:
            return f"no line is, or not in this place: {wanted}\n{done.stdout}"
        place = found + 1
    return None if expected else "the row says nothing of what is printed now"


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    root, program = pathlib.Path(sys.argv[1]).resolve(), pathlib.Path(sys.argv[2]).resolve()
    text, known, rows, wrong = (root / "docs" / "frictions.md").read_text(encoding="utf-8"), tests_of(root), 0, 0
    environment = dict(os.environ, LC_ALL="C", TERM="dumb", OMP_WAIT_POLICY="passive",
                       PATH=f"{program.parent}:{os.environ['PATH']}")
    with tempfile.TemporaryDirectory(prefix="inmo-frictions-") as folder:
        script = re.search(r"```sh\n(.*?)```", text, re.S).group(1)
        subprocess.run(["bash", "-e", "-c", script], cwd=folder, env=environment, check=True, stdout=subprocess.DEVNULL, timeout=300)
        for command, now, tests in rows_of(text):
            rows += 1
            problem = wrong_with(command, now, folder, environment)
            for name in re.findall(r"`([^`]+)`", tests):
                problem = problem or (None if name in known else f"there is no test {name}")
            problem = problem or (None if tests else "no test is named")
            if problem:
                wrong += 1
                print(f"error: docs/frictions.md: {command}\n{problem}")
    print(f"docs/frictions.md: {rows} rows, {wrong} wrong")
    return int(wrong > 0 or rows < 15)


if __name__ == "__main__":
    sys.exit(main())
