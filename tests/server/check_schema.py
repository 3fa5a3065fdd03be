#!/usr/bin/env python3
"""check_schema.py - schemathesis: requests made from the server's own description (/openapi.json), valid and not, one after
the other and in chains; each answer must be as the description says, and none may be a fault of the server.

    python3 tests/server/check_schema.py PROGRAM FOLDER [EXAMPLES]

FOLDER keeps the environment with schemathesis from PyPI (requirements-schema.txt; made once). Skipped (77) where PyPI
cannot be reached.
"""
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile

from check_page import run

HERE = pathlib.Path(__file__).resolve().parent
EXAMPLES = "8"  # of each route and phase: about a minute
SKIPPED = 77


def environment(folder):
    """The schemathesis of requirements-schema.txt; None where PyPI cannot be reached."""
    wanted, place = HERE / "requirements-schema.txt", folder / "venv"
    stamp = place / "installed.txt"
    if stamp.is_file() and stamp.read_bytes() == wanted.read_bytes():
        return place / "bin" / "schemathesis"
    shutil.rmtree(place, ignore_errors=True)
    run(sys.executable, "-m", "venv", str(place))
    made = subprocess.run([str(place / "bin" / "python"), "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--retries", "1",
                           "--timeout", "20", "--requirement", str(wanted)], capture_output=True, text=True, check=False)
    if made.returncode:
        print(made.stderr[-1000:])
        return None
    shutil.copy(wanted, stamp)
    return place / "bin" / "schemathesis"


def main():
    if len(sys.argv) not in (3, 4):
        print(__doc__, file=sys.stderr)
        return 2
    program, folder = str(pathlib.Path(sys.argv[1]).resolve()), pathlib.Path(sys.argv[2]).resolve()
    folder.mkdir(parents=True, exist_ok=True)
    schemathesis = environment(folder)
    if not schemathesis:
        print("check_schema: skipped: schemathesis cannot be had from PyPI")
        return SKIPPED

    failed = 0
    with tempfile.TemporaryDirectory(prefix="inmo-schema-") as name:
        work = pathlib.Path(name)
        run(program, "synth", "--interactions", "6000", "--seed", "3", "-o", str(work / "log.tsv"), "--quiet")
        run(program, "prepare", str(work / "log.tsv"), "-o", str(work / "data"), "--quiet")
        run(program, "train", str(work / "data"), "--dim", "16", "--epochs", "2", "--quiet", "-o", str(work / "model.inmo"))
        # With a model, and with nothing at all.
        for turn, words in (("model", [str(work / "model.inmo")]), ("empty", [])):
            log = work / f"{turn}.log"
            with open(log, "wb") as stream:
                server = subprocess.Popen([program, "serve", *words, "--store", str(work / f"{turn}.db"), "--port", "0",
                                           "--train=--dim 8 --epochs 1", "--first-events", "0"],
                                          stdout=subprocess.PIPE, stderr=stream, text=True,
                                          env={**os.environ, "OMP_WAIT_POLICY": "passive"})
            address = server.stdout.readline().strip()
            # All checks but those that the configuration turns off.
            done = subprocess.run([str(schemathesis), "--config-file", str(HERE / "schemathesis.toml"), "run", f"{address}/openapi.json", "--seed", "14", "--max-examples",
                                   sys.argv[3] if len(sys.argv) > 3 else EXAMPLES, "--generation-database", "none", "--no-color",
                                   "--request-timeout", "60"], cwd=work, check=False, capture_output=True, text=True)
            server.send_signal(signal.SIGTERM)
            ended = server.wait(60)
            server.stdout.close()
            said = done.stdout[done.stdout.find("== FAILURES"):] if done.returncode else done.stdout[-900:]
            said = "\n".join(line[:300] for line in said.splitlines() if line.strip())
            print(f"check_schema: {turn}:\n{said[:20000]}\n{done.stderr[-2000:]}")
            if ended:
                print(f"check_schema: the server ended with {ended}: {log.read_text()[-2000:]}")
            failed |= bool(done.returncode or ended)
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
