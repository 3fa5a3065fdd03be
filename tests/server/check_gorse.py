#!/usr/bin/env python3
"""check_gorse.py - gorse's own client for JavaScript, unchanged, with `inmo serve` at the other end: gorse.cjs.

    python3 tests/server/check_gorse.py PROGRAM FOLDER

FOLDER keeps the packages (from npm, by gorse/package-lock.json; installed once). Needs node 18 or later and npm; without
them, or where npm cannot reach its packages, the test is skipped (77) and says what is missing.
"""
import os
import pathlib
import signal
import subprocess
import sys
import tempfile

from check_page import Missing, SKIPPED, modules, run, tool

HERE = pathlib.Path(__file__).resolve().parent
KEY = "a-key-for-the-client-of-gorse"


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    program, folder = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    try:
        node = tool("node", "nodejs")
        packages = modules(folder, HERE / "gorse")
    except (Missing, subprocess.TimeoutExpired) as problem:
        print(f"check_gorse: skipped: {problem}")
        return SKIPPED

    os.environ["OMP_WAIT_POLICY"] = "passive"
    with tempfile.TemporaryDirectory(prefix="inmo-gorse-") as name:
        work = pathlib.Path(name)
        run(program, "synth", "--interactions", "6000", "--seed", "3", "-o", str(work / "log.tsv"), "--quiet")
        run(program, "prepare", str(work / "log.tsv"), "-o", str(work / "data"), "--quiet")
        run(program, "train", str(work / "data"), "--dim", "16", "--epochs", "3", "--quiet", "-o", str(work / "model.inmo"))
        server = subprocess.Popen([program, "serve", str(work / "model.inmo"), "--store", str(work / "store.db"), "--port", "0"],
                                  stdout=subprocess.PIPE, text=True, env={**os.environ, "INMO_API_KEY": KEY})
        try:
            address = server.stdout.readline().strip()
            code = subprocess.run([node, str(HERE / "gorse.cjs"), str(packages), address, KEY], check=False,
                                  timeout=240).returncode
        finally:
            server.send_signal(signal.SIGTERM)
            ended = server.wait(60)
            server.stdout.close()
    if ended:
        print(f"check_gorse: the server ended with {ended}")
    return 1 if code or ended else 0


if __name__ == "__main__":
    sys.exit(main())
