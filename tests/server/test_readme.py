"""README.md, "As a service": `make serve` and its commands print what is quoted. Numbers may differ by 5 %: their last digits depend
on the machine's BLAS kernels."""

import json
import pathlib
import re
import signal
import subprocess
import time

import pytest
from conftest import PROGRAM, SLOW

ROOT = pathlib.Path(__file__).resolve().parents[2]


def near(found, expected):
    if isinstance(expected, dict):
        return isinstance(found, dict) and found.keys() == expected.keys() and all(near(found[k], expected[k]) for k in expected)
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) == len(expected) and all(map(near, found, expected))
    if isinstance(expected, float):
        return abs(found - expected) <= 0.05 * abs(expected)
    return found == expected


@pytest.mark.skipif(SLOW > 1, reason="trains a model, which takes too long with sanitizers")
def test_the_quick_start_prints_what_the_readme_says(tmp_path):
    readme = (ROOT / "README.md").read_text(encoding="utf-8")
    text = readme[readme.index("## As a service"):]
    block = text[text.index("```\n") + 4:]
    block = block[:block.index("```")]
    steps = re.findall(r"^\$ (.*)\n(.*)$", block, re.M)
    assert len(steps) == 5
    port = "18388"
    with open(tmp_path / "log", "wb") as log:
        server = subprocess.Popen([ROOT / "tools" / "serve.sh", port, tmp_path / "out", PROGRAM], stdout=log, stderr=log)
    try:
        ready = f"curl -s localhost:{port}/api/model"
        for _ in range(600):
            done = subprocess.run(ready, shell=True, capture_output=True, text=True, check=False)
            if '"model":{"number":1,' in done.stdout:
                break
            assert server.poll() is None, (tmp_path / "log").read_text()
            time.sleep(0.5)
        for command, expected in steps:
            done = subprocess.run(command.replace("8088", port), shell=True, capture_output=True, text=True, check=True)
            assert near(json.loads(done.stdout), json.loads(expected)), (command, done.stdout, expected)
    finally:
        server.send_signal(signal.SIGTERM)
        assert server.wait(timeout=60) == 0, (tmp_path / "log").read_text()
