"""Pickling by the library's own files: what is pickled is what save would have written."""

from __future__ import annotations

import os
import tempfile
from typing import Any, Callable, Dict


def bytes_of_model(model: Any) -> bytes:
    with tempfile.TemporaryDirectory(prefix="inmo-") as folder:
        path = os.path.join(folder, "model.inmo")
        model.save(path)
        with open(path, "rb") as file:
            return file.read()


def bytes_of_dataset(data: Any) -> Dict[str, bytes]:
    with tempfile.TemporaryDirectory(prefix="inmo-") as folder:
        data.save(folder)
        found = {}
        for name in os.listdir(folder):
            with open(os.path.join(folder, name), "rb") as file:
                found[name] = file.read()
        return found


def in_folder(files: Dict[str, bytes], opening: Callable[[str], Any]) -> Any:
    """Writes the files into a new folder and opens it. What is opened maps its file, which may be removed then."""
    with tempfile.TemporaryDirectory(prefix="inmo-") as folder:
        for name, content in files.items():
            with open(os.path.join(folder, os.path.basename(name)), "wb") as file:
                file.write(content)
        return opening(folder)
