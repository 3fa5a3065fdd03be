#!/usr/bin/env python3
"""Writes docs/python-api.md from the docstrings of the package; with --check says whether it is up to date.

    tools/api_page.py [--check]
"""

import inspect
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "python-api.md"

import inmo  # noqa: E402
import inmo.implicit  # noqa: E402

HEAD = """# The Python interface

Made from the docstrings by `tools/api_page.py`; the examples in them are run by the tests. [python.md](python.md) is the way in.
"""

def text_of(thing):
    """A docstring as Markdown: roles of other documentation tools become code."""
    text = inspect.getdoc(thing) or ""
    text = re.sub(r":\w+:`([^`]+)`", r"`\1`", text).replace("``", "`")
    lines, code = [], False
    for line in text.split("\n"):
        if line.startswith(">>>") and not code:
            lines.append("```python")
            code = True
        if code and not line.strip():
            lines.append("```")
            code = False
        lines.append(line)
    return "\n".join(lines + (["```"] if code else []))


def signature_of(thing):
    try:
        found = str(inspect.signature(thing))
    except (TypeError, ValueError):
        return "()"
    found = re.sub(r"inmo\.\w+\.|typing\.|numpy\.|np\.", "", found)
    found = re.sub(r"(: |-> )'([^']+)'", r"\1\2", found)  # annotations are texts
    return re.sub(r"<class '([\w.]+)'>", r"\1", found.replace('"', ""))


def names_of(kind):
    """What the class has itself, or from bases that no page shows: those are how it is written, not what it is."""
    shown = set(inmo.__all__) | set(inmo.implicit.__all__)
    names = set(vars(kind))
    for base in kind.__mro__[1:]:
        if base.__name__ in shown or base.__module__.split(".")[0] != "inmo":
            break
        names |= set(vars(base))
    return names


def members_of(kind):
    names = names_of(kind)
    for name, member in inspect.getmembers(kind):
        if name.startswith("_") or name not in names:
            continue
        if isinstance(member, property):
            yield name, member, f"`{name}`"
        elif inspect.isfunction(member) or inspect.ismethod(member):
            yield name, member, f"`{name}{signature_of(member)}`"


def describe(name, thing, inherited=False):
    out = []
    if inspect.isclass(thing) and issubclass(thing, BaseException):
        bases = ", ".join(base.__name__ for base in thing.__mro__[1:] if base.__module__ == "builtins" and base not in (object, BaseException))
        return [f"- `{name}` ({bases}): {text_of(thing)}"]
    if inspect.isclass(thing):
        out.append(f"\n### `{name}{signature_of(thing) if inherited is not None else ''}`\n\n{text_of(thing)}")
        for _, member, shown in sorted(members_of(thing)):
            if text_of(member):
                out.append(f"\n- {shown}  \n  " + text_of(member).replace("\n", "\n  "))
        return out
    return [f"\n### `{name}{signature_of(thing)}`\n\n{text_of(thing)}"]


def page():
    out = [HEAD, "\n## The program's way: `inmo`"]
    things = [(name, getattr(inmo, name)) for name in inmo.__all__]
    for name, thing in things:
        if inspect.isfunction(thing):
            out += describe(f"inmo.{name}", thing)
    for name, thing in things:
        if inspect.isclass(thing) and not issubclass(thing, BaseException):
            out += describe(f"inmo.{name}", thing, None)
    out.append("\n### Exceptions\n")
    for name, thing in things:
        if inspect.isclass(thing) and issubclass(thing, BaseException):
            out += describe(f"inmo.{name}", thing)
    out.append("\n## As implicit has it: `inmo.implicit`\n")
    out += describe("inmo.implicit.RecommenderBase", inmo.implicit.RecommenderBase, None)
    for name in inmo.implicit.__all__:
        thing = getattr(inmo.implicit, name)
        if inspect.isclass(thing) and thing is not inmo.implicit.RecommenderBase and thing.__name__ == name:
            out += describe(f"inmo.implicit.{name}", thing)
    out.append("\n## Options\n\nThe options of `read`, `prepare`, `synth`, `train`, `tune` and `evaluate` are those of the program, with underscores: "
               "[cli.md](cli.md) lists them, and `inmo.options(\"train\", model=\"mf\")` has them with a model's defaults.")
    return "\n".join(out).rstrip() + "\n"


def main():
    made = page()
    if "--check" in sys.argv[1:]:
        if PAGE.read_text(encoding="utf-8") == made:
            return 0
        print(f"{PAGE.name} is not up to date: run tools/api_page.py")
        return 1
    PAGE.write_text(made, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
