#!/usr/bin/env python3
"""Executes examples/inmo.ipynb and writes it with its outputs as a page.

    tools/notebook.py [OUTPUT.html]     default: docs/notebook.html

Needs inmo, nbclient, nbconvert, ipykernel, matplotlib and pandas. The notebook itself is kept without outputs; the tests execute it.
"""

import pathlib
import re
import sys

import nbformat
from nbclient import NotebookClient
from nbconvert import HTMLExporter

ROOT = pathlib.Path(__file__).resolve().parent.parent


def main():
    output = pathlib.Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT / "docs" / "notebook.html"
    notebook = nbformat.read(ROOT / "examples" / "inmo.ipynb", as_version=4)
    NotebookClient(notebook, timeout=600, kernel_name="python3").execute()
    for cell in (cell for cell in notebook.cells if cell.cell_type == "code"):  # a page has no use for progress bars
        cell["outputs"] = [out for out in cell.get("outputs", []) if out.get("name") != "stderr"]
    exporter = HTMLExporter(template_name="basic")
    exporter.exclude_input_prompt = exporter.exclude_output_prompt = True
    body, _ = exporter.from_notebook_node(notebook)
    body = re.sub(r"<a class=\"anchor-link\"[^>]*>.*?</a>", "", body)
    # A page of its own, without the megabytes of a style sheet that the basic template leaves out.
    style = ("body{font:16px/1.5 sans-serif;max-width:56rem;margin:2rem auto;padding:0 1rem;color:#222;background:#fff}"
             "pre{background:#f6f6f6;padding:.6rem;overflow-x:auto;font-size:13px}img{max-width:100%}"
             "table{border-collapse:collapse;font-size:14px}td,th{padding:.2rem .7rem;text-align:left;border-bottom:1px solid #ddd}"
             "caption{text-align:left;font-weight:bold}.jp-RenderedText pre{background:none}")
    output.write_text(f"<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>inmo in a notebook</title>\n"
                      f"<style>{style}</style></head><body>\n{body}\n</body></html>\n", encoding="utf-8")
    print(f"{output}: {output.stat().st_size // 1024} KB")


if __name__ == "__main__":
    main()
