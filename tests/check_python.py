#!/usr/bin/env python3
"""Builds the Python package, installs it into a fresh virtual environment and runs its tests from there.

    tests/check_python.py ROOT BUILD     BUILD has libinmo.so and the program

What the tests use comes from PyPI, once, into BUILD/python/packages-*; each run makes a new environment on top of it. The wheel
has the libinmo.so of BUILD, which CMake has just made; `make python` builds one from the source distribution alone. Where PyPI
cannot be reached, the tests run with Debian's numpy, scipy and pytest on the source folder, and those that need more are
skipped, with a line that says so.
"""

import hashlib
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile

PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


def run(*command, **keywords):
    return subprocess.run([str(word) for word in command], **keywords)


def pip(python, *arguments):
    done = run(python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check", "--no-warn-script-location",
               *arguments, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        print(done.stdout[-2000:])
    return done.returncode == 0


def packages(build, requirements):
    """A folder with what the requirements name; None where PyPI cannot be reached."""
    text = requirements.read_text(encoding="utf-8")
    name = hashlib.sha256((text + PYTHON).encode()).hexdigest()[:12]
    folder = build / "python" / f"packages-{name}"
    if folder.exists():
        return folder
    fresh = build / "python" / f"packages-{name}.new"
    shutil.rmtree(fresh, ignore_errors=True)
    if not pip(PYTHON, "--retries", "1", "--timeout", "20", "--target", fresh, "--requirement", requirements):
        shutil.rmtree(fresh, ignore_errors=True)
        return None
    fresh.rename(folder)
    return folder


def make_wheel(root, build, folder):
    """The wheel with the libinmo.so of this build; None where the tools cannot be had."""
    tools = packages(build, root / "python" / "requirements-build.txt")
    if not tools:
        return None
    done = run(PYTHON, "-m", "pip", "wheel", "--quiet", "--disable-pip-version-check", "--no-deps", "--no-build-isolation",
               "--wheel-dir", folder, f"--config-settings=cmake.define.INMO_PREBUILT={build / 'libinmo.so'}",
               f"--config-settings=build-dir={folder / 'cmake'}", root,
               env={**os.environ, "PYTHONPATH": str(tools)}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        sys.exit(f"check_python: the wheel cannot be built\n{done.stdout[-4000:]}")
    return next(folder.glob("inmo-*.whl"))


def environment(folder, wheel, *site):
    """A fresh virtual environment with the wheel, on top of the folders of packages."""
    if run(PYTHON, "-m", "venv", folder).returncode:
        sys.exit("check_python: python3-venv is missing")
    python = folder / "bin" / "python"
    inside = next(folder.glob("lib/python*/site-packages"))
    (inside / "packages.pth").write_text("".join(f"{one}\n" for one in site), encoding="utf-8")
    if not pip(python, "--no-index", "--no-deps", wheel):
        sys.exit("check_python: the wheel cannot be installed")
    return python


def test(python, root, build, work, *arguments, **variables):
    variables = {"INMO_PROGRAM": build / "inmo", "INMO_ROOT": root, "OMP_WAIT_POLICY": "passive",
                 "PYTHONDONTWRITEBYTECODE": "1", **variables}
    return run(python, "-m", "pytest", "-q", "-rs", "-p", "no:cacheprovider", "--import-mode=importlib", *arguments,
               cwd=work, env={**os.environ, **{name: str(value) for name, value in variables.items()}}).returncode


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    root, build = (pathlib.Path(word).resolve() for word in sys.argv[1:])
    tests = root / "python" / "tests"
    os.environ.pop("INMO_LIBRARY", None)
    with tempfile.TemporaryDirectory(prefix="inmo-python-") as name:
        work = pathlib.Path(name)
        site = packages(build, root / "python" / "requirements-test.txt")
        wheel = make_wheel(root, build, work) if site else None
        if not wheel:
            print("check_python: PyPI cannot be reached: only what Debian's numpy, scipy and pytest are enough for is run, "
                  "on the source folder; the wheel and the comparison with implicit are SKIPPED", flush=True)
            for module in ("numpy", "scipy", "pytest"):
                if run(PYTHON, "-c", f"import {module}", stderr=subprocess.DEVNULL).returncode:
                    print(f"check_python: SKIPPED altogether: {PYTHON} has no {module}")
                    return 77
            return test(PYTHON, root, build, work, tests, "--ignore", tests / "beside_implicit", INMO_LIBRARY=build / "libinmo.so",
                        PYTHONPATH=root / "python")
        failed = test(environment(work / "venv", wheel, site), root, build, work, tests, "--ignore", tests / "beside_implicit")
        beside = packages(build, root / "python" / "requirements-implicit.txt")
        if not beside:
            print("check_python: the comparison with implicit is SKIPPED: it cannot be had from PyPI", flush=True)
            return failed
        return failed or test(environment(work / "beside", wheel, beside), root, build, work, tests / "beside_implicit")


if __name__ == "__main__":
    sys.exit(main())
