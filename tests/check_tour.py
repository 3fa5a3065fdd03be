#!/usr/bin/env python3
"""check_tour.py - docs/tour.md names functions that exist and calls that happen.

    python3 tests/check_tour.py SOURCE-ROOT

A walk is a nested list of lines "- `file:function` text".
  - The file must define the function.
  - An indented line is called by the line above it with less indentation: the body of that function must contain
    the name, comments left out.
  - A call through a table of callbacks is written "- `file:function` as `member`, text": the caller's body must
    contain the member, and the file must put the function into that member (".member = function").
"""
import pathlib
import re
import sys

LINE = re.compile(r"^( *)- `([\w./]+\.[ch]):(\w+)`(?: as `(\w+)`)?")
NAMED = re.compile(r"`([\w./]+\.[ch]):(\w+)`")


def without_comments(text):
    return re.sub(r"/\*.*?\*/|//[^\n]*", " ", text, flags=re.S)


def body_of(text, function):
    """The text of a function's body, from its brace to the brace at the start of a line; None if not defined."""
    found = re.search(r"^\w[^;{}#]*?\b" + function + r"\s*\([^;{}]*\)\s*\{", text, flags=re.M)
    if not found:
        return None
    end = text.find("\n}", found.end())
    return text[found.end():end if end >= 0 else len(text)]


def mentions(body, name):
    return re.search(r"\b" + name + r"\b", body) is not None


class Sources:
    def __init__(self, root):
        self.root, self.texts = root, {}

    def text(self, name):
        if name not in self.texts:
            path = self.root / name
            self.texts[name] = without_comments(path.read_text(encoding="utf-8")) if path.is_file() else None
        return self.texts[name]


def check(root):
    sources, errors, callers, walks = Sources(root), [], [], 0
    for number, line in enumerate((root / "docs" / "tour.md").read_text(encoding="utf-8").splitlines(), 1):
        where = f"docs/tour.md:{number}"
        for name, function in NAMED.findall(line):
            if sources.text(name) is None:
                errors.append(f"{where}: there is no file {name}")
            elif body_of(sources.text(name), function) is None:
                errors.append(f"{where}: {name} does not define {function}")
        found = LINE.match(line)
        if not found:
            if not line.startswith(" "):
                callers = []
            continue
        indent, name, function, member = len(found.group(1)), found.group(2), found.group(3), found.group(4)
        walks += 1
        callers = [caller for caller in callers if caller[0] < indent]
        body = body_of(sources.text(name) or "", function)
        if callers and body is not None:
            _, caller, caller_body = callers[-1]
            if not mentions(caller_body, member or function):
                errors.append(f"{where}: {caller} does not call {member or function}")
            if member and not re.search(r"\." + member + r"\s*=\s*" + function + r"\b", sources.text(name)):
                errors.append(f"{where}: {name} does not set .{member} = {function}")
        callers.append((indent, function, body or ""))
    if walks < 20:
        errors.append(f"docs/tour.md: only {walks} functions in its walks; is the check broken?")
    return errors


def main():
    if len(sys.argv) != 2:
        print(__doc__, file=sys.stderr)
        return 2
    errors = check(pathlib.Path(sys.argv[1]).resolve())
    for line in errors:
        print("error:", line)
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
