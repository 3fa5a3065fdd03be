"""What the documentation says: the code in README.md and docs/python.md runs, the API page is that of the docstrings, and the notebook
executes from its first cell to its last and is kept without outputs."""

import importlib
import json
import os
import pathlib
import re
import subprocess
import sys

import pytest


@pytest.fixture
def sources(root):
    if root is None:
        pytest.skip("the documents are with the sources")
    return root


@pytest.mark.parametrize("name", ["README.md", "docs/python.md"])
def test_code(sources, tmp_path, name):
    pytest.importorskip("pandas")
    text = (sources / name).read_text(encoding="utf-8")
    blocks = re.findall(r"```python\n(.*?)```", text, re.S)
    assert blocks
    for block in blocks:
        done = subprocess.run([sys.executable, "-c", block], cwd=tmp_path, capture_output=True, text=True)
        assert done.returncode == 0, done.stderr
    if name == "README.md":
        assert len([line for line in blocks[0].splitlines() if line.strip()]) <= 10
        assert (tmp_path / "model.inmo").exists()


def test_api_page(sources):
    done = subprocess.run([sys.executable, sources / "tools" / "api_page.py", "--check"], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_notebook(sources, tmp_path):
    """Executed from a clean kernel; kept without outputs, which docs/notebook.html has."""
    path = sources / "examples" / "inmo.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    assert all(not cell.get("outputs") and not cell.get("execution_count") for cell in cells)
    assert (sources / "docs" / "notebook.html").stat().st_size > 50000
    for name in ("nbclient", "nbconvert", "ipykernel", "matplotlib", "pandas"):
        pytest.importorskip(name)
    kernel = {
        "argv": [sys.executable, "-m", "ipykernel_launcher", "-f", "{connection_file}"],
        "display_name": "Python 3",
        "language": "python",
    }
    # nbconvert's templates are beside it, also where it was not installed into the environment itself.
    beside = pathlib.Path(importlib.import_module("nbconvert").__file__).parents[1] / "share" / "jupyter"
    (tmp_path / "kernels" / "python3").mkdir(parents=True)
    (tmp_path / "kernels" / "python3" / "kernel.json").write_text(json.dumps(kernel))
    done = subprocess.run(
        [sys.executable, sources / "tools" / "notebook.py", tmp_path / "notebook.html"],
        env={**os.environ, "JUPYTER_PATH": f"{tmp_path}{os.pathsep}{beside}"}, capture_output=True, text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    page = (tmp_path / "notebook.html").read_text(encoding="utf-8")
    assert page.count("<img") >= 3 and "because of" in page and "jazz-" in page
