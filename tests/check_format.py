#!/usr/bin/env python3
"""check_format.py - every C file is as clang-format 14 writes it, and no line has more than 116 columns.

    python3 tests/check_format.py SOURCE-ROOT          check
    python3 tests/check_format.py SOURCE-ROOT --fix    break comments that are too long, and run clang-format -i

Other versions of clang-format lay some lines out differently: without version 14 the first half is skipped, and the
exit code is 77 if the second half has nothing to say. Columns are characters, not bytes.
"""
import os
import pathlib
import re
import shutil
import subprocess
import sys

VERSION, COLUMNS, SKIPPED = "14", 116, 77


def c_files(root):
    for folder, folders, names in os.walk(root):
        folders[:] = sorted(name for name in folders if not name.startswith((".", "build")) and name != "demo-out")
        for name in sorted(names):
            if name.endswith((".c", ".h", ".inc")):
                yield pathlib.Path(folder, name)


def formatter():
    """The binary of version 14 and None, or None and what there is instead."""
    found = []
    for name in (f"clang-format-{VERSION}", "clang-format"):
        path = shutil.which(name, path="/usr/bin:/usr/local/bin:" + os.environ.get("PATH", ""))
        if path is None:
            continue
        text = subprocess.run([path, "--version"], capture_output=True, text=True, check=True).stdout
        match = re.search(r"version (\d+)", text)
        if match and match.group(1) == VERSION:
            return path, None
        found.append(text.strip())
    return None, found[0] if found else "no clang-format"


def broken(lines):
    """The lines of a file with comments broken where they are too long: their last words begin the next line."""
    lines, n = list(lines), 0
    while n < len(lines):
        line = lines[n]
        inside = re.match(r"^(\s*)(/\*|\*)(\s+)\S", line)
        beside = re.match(r"^(\s*)(\S.*?)\s+(/\*.*\*/|//.*)$", line)
        cut = line.rfind(" ", 0, COLUMNS + 1)
        if line[cut + 1:] == "*/":
            cut = line.rfind(" ", 0, cut)
        if len(line) <= COLUMNS or not (inside or beside):
            n += 1
        elif inside and re.search(r"-{8,} \*/$", line):  # a rule
            lines[n] = re.sub("-{%d} \\*/$" % (len(line) - COLUMNS), " */", line)
        elif inside and cut > inside.end() - 1:
            star = inside.group(1) + ("*" if inside.group(2) == "*" else " *")
            gap = inside.group(3) if inside.group(2) == "*" else " "
            rest, following = line[cut + 1:], lines[n + 1] if n + 1 < len(lines) else ""
            lines[n] = line[:cut].rstrip()
            if gap == " " and following.startswith(star + " ") and following[len(star) + 1:][:1].strip() \
                    and not rest.endswith("*/"):
                lines[n + 1] = star + " " + rest + " " + following[len(star) + 1:]
            else:
                lines.insert(n + 1, star + gap + rest)
        elif beside and not inside:
            lines[n:n + 1] = [beside.group(1) + beside.group(3), beside.group(1) + beside.group(2)]
        else:
            n += 1
    return lines


def fix(files):
    for path in files:
        lines = path.read_text(encoding="utf-8").split("\n")
        if broken(lines) != lines:
            path.write_text("\n".join(broken(lines)), encoding="utf-8")
    binary, _ = formatter()
    if binary:
        subprocess.run([binary, "-i", *map(str, files)], check=True)


def main():
    if len(sys.argv) not in (2, 3) or sys.argv[2:] not in ([], ["--fix"]):
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(sys.argv[1]).resolve()
    files = list(c_files(root))
    wrong = 0
    if sys.argv[2:]:
        fix(files)
    for path in files:
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
            if len(line) > COLUMNS:
                print(f"{path.relative_to(root)}:{number}: {len(line)} columns, at most {COLUMNS} are allowed")
                wrong += 1
    binary, instead = formatter()
    if binary:
        run = subprocess.run([binary, "--dry-run", "-Werror", *[str(path.relative_to(root)) for path in files]],
                             capture_output=True, text=True, cwd=root)
        first = {}
        for name, line in re.findall(r"^([^\s:]+):(\d+):\d+: error", run.stderr, flags=re.M):
            first.setdefault(name, line)
        for name, line in first.items():
            print(f"{name}:{line}: not as clang-format {VERSION} writes it; run clang-format -i on the file")
        if run.returncode != 0 and not first:
            print(run.stderr)
        wrong += len(first) or run.returncode
    print(f"check_format: {len(files)} files, {wrong} errors")
    if not files:
        print("check_format: no C file found; is the check broken?")
        return 1
    if not binary and not wrong:
        print(f"check_format: layout skipped, it needs clang-format {VERSION} and there is {instead}")
        return SKIPPED
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
