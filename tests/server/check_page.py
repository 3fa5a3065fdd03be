#!/usr/bin/env python3
"""check_page.py - the page of `inmo serve` in a browser: page.mjs, with servers on a small log of its own.

    python3 tests/server/check_page.py PROGRAM FOLDER [PART...]

FOLDER keeps the packages that drive the browser (from npm, by tests/server/package-lock.json; installed once) and the
screenshots. Needs node 18 or later, npm and Chromium (`tools/setup.sh page`); without them, or where npm cannot reach its
packages, the test is skipped (77) and says what is missing.
"""
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile

HERE = pathlib.Path(__file__).resolve().parent
MARKUP = '<img src=x onerror="alert(1)"><script>window.hacked = 1</script>'
KEY = "a-key-for-the-test-of-the-page"
SKIPPED = 77


class Missing(Exception):
    """What the test needs and this machine does not have."""


def tool(*names):
    for name in names:
        path = shutil.which(name)
        if path:
            return path
    raise Missing(f"{names[0]} is missing; tools/setup.sh page installs it")


def modules(folder, source=HERE):
    """Installs the packages of the source's lock file, unless they are there."""
    lock, place = source / "package-lock.json", folder / "modules"
    stamp = place / "installed.json"
    if stamp.is_file() and stamp.read_bytes() == lock.read_bytes():
        return place
    place.mkdir(parents=True, exist_ok=True)
    for name in ("package.json", "package-lock.json"):
        shutil.copy(source / name, place / name)
    made = subprocess.run([tool("npm"), "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=place,
                          capture_output=True, text=True, timeout=300, check=False)
    if made.returncode:
        wanted = ", ".join(json.loads((source / "package.json").read_text(encoding="utf-8"))["dependencies"])
        raise Missing(f"npm cannot install {wanted}: {made.stderr.strip()[-600:]}")
    shutil.copy(lock, stamp)
    return place


def run(*command):
    """A command that must succeed."""
    made = subprocess.run(command, capture_output=True, text=True, check=False)
    if made.returncode:
        sys.exit(f"check_page: {' '.join(command)} ended with {made.returncode}: {made.stderr}")


def make_log(program, folder):
    """A log of taste in music, in which one item's id is markup that many have chosen."""
    log = folder / "log.tsv"
    run(program, "synth", "--interactions", "60000", "--seed", "1", "-o", str(log))
    rows = log.read_text(encoding="utf-8").splitlines()
    users = sorted({row.split("\t")[0] for row in rows})
    rows += [f"{user}\t{MARKUP}" for user in random.Random(1).sample(users, len(users) // 3)]
    log.write_text("\n".join(rows) + "\n", encoding="utf-8")
    return log


def main():
    if len(sys.argv) < 3:
        print(__doc__, file=sys.stderr)
        return 2
    program, folder = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    try:
        node, chromium = tool("node", "nodejs"), tool("chromium", "chromium-browser", "google-chrome")
        version = subprocess.run([node, "--version"], capture_output=True, text=True, check=True).stdout.strip()
        if int(re.match(r"v(\d+)", version).group(1)) < 18:
            raise Missing(f"node 18 or later is needed, this is {version}")
        packages = modules(folder)
    except (Missing, subprocess.TimeoutExpired) as problem:
        print(f"check_page: skipped: {problem}")
        return SKIPPED

    os.environ["OMP_WAIT_POLICY"] = "passive"
    with tempfile.TemporaryDirectory(prefix="inmo-page-") as name:
        work = pathlib.Path(name)
        log, training = make_log(program, work), ["--dim", "16", "--epochs", "30", "--eval-every", "3"]
        run(program, "prepare", str(log), "-o", str(work / "data"))
        run(program, "train", str(work / "data"), *training, "--quiet", "-o", str(work / "model.inmo"))
        run(program, "serve", "--store", str(work / "demo.db"), "--import", str(log))

        def serve(store, *more, **environment):
            command = [program, "serve", *more, "--store", str(work / store), "--port", "{port}"]
            return {"command": command, "environment": environment}

        world = {
            "program": {
                "demo": serve("demo.db", str(work / "model.inmo"), "--refresh", "0"),
                "keyed": serve("keyed.db", "--log", str(log), "--train=" + " ".join(training), INMO_API_KEY=KEY),
                "empty": serve("empty.db"),
            },
            "modules": str(packages), "chromium": chromium, "shots": str(folder / "shots"), "markup": MARKUP, "key": KEY, "type": "like",
        }
        (work / "world.json").write_text(json.dumps(world), encoding="utf-8")
        code = subprocess.run([node, str(HERE / "page.mjs"), str(work / "world.json"), *sys.argv[3:]], check=False).returncode
    print(f"check_page: screenshots are in {folder / 'shots'}")
    return 1 if code else 0


if __name__ == "__main__":
    sys.exit(main())
