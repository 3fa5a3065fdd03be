#!/usr/bin/env python3
"""check_layers.py - the rules of the house that a compiler does not check.

    python3 tests/check_layers.py SOURCE-ROOT [STATIC-LIBRARY SHARED-LIBRARY]

  - A folder of src/ includes only inmo.h and folders at or before its place on the data's way.
  - lab/ and limit/, parts of the program, include inmo.h, folders of src/ and themselves, but not each other.
  - cli/ includes only inmo.h, base/file.h, data/input.h and data/output.h (there is one way to read and write a file), ranks/ranks.h, its own headers and the
    entrances lab/reproduce.h, lab/compare.h, limit/bench.h, server/serve.h, server/store.h and server/feed.h; examples/ only inmo.h.
  - server/ includes inmo.h, its own headers and src/base/; like the program, it uses the library from outside.
  - Every symbol the static library defines for others starts with inmo_.
  - The shared library exports exactly what inmo.h marks INMO_API, and nothing of lab/ or limit/.
  - Sentences of the library name options as `learning-rate`, not by flags of the program.
  - Real numbers are written and read by src/base/number.c only: printf and strtod follow the program's locale.
  - OpenBLAS's number of threads, which belongs to the process, is set in src/base/threads.c only.
  - A file of src/, lab/, limit/, server/ or cli/ has at most 400 lines (a warning above, an error above 500).
"""
import pathlib
import re
import subprocess
import sys

ORDER = ["base", "ranks", "data", "graph", "kernel", "model", "score", "eval", "loss", "train", "tune", "view"]
PROGRAM_PARTS = {"lab": ("lab/reproduce.h", "lab/compare.h"), "limit": ("limit/bench.h",)}  # and what cli/ may include of each
SERVER_ENTRANCES = {"server/serve.h", "server/store.h", "server/feed.h"}
ROOMS = {"model": ["provider", "backbone", "head", "system"]}  # folders inside a folder
WARN_LINES, FAIL_LINES = 400, 500
# Bookkeeping of the compiler: sanitizers, and the locks of "omp critical".
COMPILER_MADE = re.compile(r"^_*(odr_)?(asan|ubsan|tsan)|^_GLOBAL__|^\.LASAN|^\.gomp_critical_")
SANITIZER_MADE = re.compile(r"^_*(odr_)?(asan|ubsan|tsan)|^_GLOBAL__|^\.LASAN")


def sources(folder):
    return sorted(path for path in folder.rglob("*") if path.suffix in (".c", ".h", ".inc"))


def includes(path):
    """(line, name, quoted) of each include."""
    pattern = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        match = pattern.match(line)
        if match:
            yield number, match.group(2), match.group(1) == '"'


def check_src(root, errors):
    for path in sources(root / "src"):
        here = path.relative_to(root)
        folder = here.parts[1]
        rooms = here.parts[2:-1]
        if folder not in ORDER or (rooms and (len(rooms) > 1 or rooms[0] not in ROOMS.get(folder, []))):
            errors.append(f"{here}: not in one of the folders {', '.join(ORDER)}, or in a room that none of them has")
            continue
        for line, name, quoted in includes(path):
            first = name.split("/")[0]
            if not quoted:
                if first in ORDER or name == "inmo.h":
                    errors.append(f'{here}:{line}: write our own headers as "{name}"')
            elif name == "inmo.h":
                pass
            elif "/" not in name or first not in ORDER:
                errors.append(f'{here}:{line}: "{name}" does not name its folder')
            elif ORDER.index(first) > ORDER.index(folder):
                errors.append(f'{here}:{line}: {folder}/ may not include "{name}", {first}/ comes after it')


def check_parts(root, errors):
    for part in PROGRAM_PARTS:
        for path in sources(root / part):
            here = path.relative_to(root)
            for line, name, quoted in includes(path):
                first = name.split("/")[0]
                if quoted and name != "inmo.h" and first != part and first not in ORDER:
                    errors.append(f'{here}:{line}: {part}/ includes inmo.h, folders of src/ and itself, not "{name}"')


def check_server(root, errors):
    for path in sources(root / "server"):
        here = path.relative_to(root)
        for line, name, quoted in includes(path):
            if quoted and name != "inmo.h" and name.split("/")[0] not in ("base", "server"):
                errors.append(f'{here}:{line}: server/ includes inmo.h, base/ and its own headers, not "{name}"')


def check_outside(root, folder, own_headers, errors):
    base = root / folder
    for path in sources(base) if base.is_dir() else []:
        here = path.relative_to(root)
        for line, name, quoted in includes(path):
            places = [(start / name).resolve() for start in (path.parent, base)]
            own = own_headers and quoted and any(p.is_file() and base in p.parents for p in places)
            entrance = own_headers and (any(name in part for part in PROGRAM_PARTS.values()) or name in SERVER_ENTRANCES
                                         or name in ("base/file.h", "data/input.h", "data/output.h", "ranks/ranks.h"))
            if name != "inmo.h" and not own and not entrance and (quoted or name.split("/")[0] in ORDER):
                what = "inmo.h, its own headers and the entrances of the parts" if own_headers else "inmo.h"
                errors.append(f'{here}:{line}: {folder}/ includes only {what}, not "{name}"')


def check_blas(root, errors):
    for path in [path for folder in ("src", "lab", "limit", "cli") for path in sources(root / folder)]:
        here = path.relative_to(root)
        if "openblas_set_num_threads" in path.read_text(encoding="utf-8") and str(here) != "src/base/threads.c":
            errors.append(f"{here}: sets OpenBLAS's number of threads; inmo_blas_hold of base/threads.h does")


def check_sentences(root, errors):
    comment, literal = re.compile(r"/\*.*?\*/|//[^\n]*", re.S), re.compile(r'"(?:[^"\\\n]|\\.)*"')
    for path in sources(root / "src"):
        if path == root / "src" / "base" / "plot.c":  # a style sheet's variables look like flags
            continue
        text = comment.sub(lambda match: "\n" * match.group(0).count("\n"), path.read_text(encoding="utf-8"))
        for number, line in enumerate(text.splitlines(), 1):
            for word in literal.findall(line):
                if re.search(r"(?<![-\w])--[a-z%]", word):
                    errors.append(f"{path.relative_to(root)}:{number}: {word} names a flag of the program, not an option")


def check_numbers(root, errors):
    literal, real = re.compile(r'"(?:[^"\\]|\\.)*"'), re.compile(r"%[-+ #0-9.*]*l?[aAeEfFgG]")
    for path in [path for folder in ("src", "lab") for path in sources(root / folder)]:
        here, text = path.relative_to(root), path.read_text(encoding="utf-8")
        if here.stem == "number":
            continue
        for match in re.finditer(r"\b(strto(?:d|f|ld)|atof|v[sf]n?printf|s?n?printf|fprintf|s?scanf|fscanf)\(", text):
            call = text[match.end():text.index(";", match.end())]
            formats_real = any(real.search(word) for word in literal.findall(call))
            if match.group(1).startswith(("strto", "atof", "v")) or formats_real:
                line = text.count("\n", 0, match.start()) + 1
                errors.append(f"{here}:{line}: {match.group(1)} follows the locale; base/number.h does not")


def check_length(root, errors, warnings):
    for path in [path for folder in ("src", "lab", "limit", "server", "cli") for path in sources(root / folder)]:
        lines = len(path.read_text(encoding="utf-8").splitlines())
        if lines > FAIL_LINES:
            errors.append(f"{path.relative_to(root)}: {lines} lines, more than {FAIL_LINES}")
        elif lines > WARN_LINES:
            warnings.append(f"{path.relative_to(root)}: {lines} lines, more than {WARN_LINES}")


def symbols(library, *options):
    """Names the library defines for others, those the compiler made left out."""
    out = subprocess.run(["nm", "--defined-only", "-P", *options, library], check=True, capture_output=True, text=True)
    names = set()
    made = SANITIZER_MADE if "-D" in options else COMPILER_MADE  # exports.map hides OpenMP's locks
    for line in out.stdout.splitlines():
        fields = line.split()
        if len(fields) >= 2 and len(fields[1]) == 1 and not made.match(fields[0]):
            names.add(fields[0].split("@")[0])
    return names


def public_calls(root):
    header = (root / "include" / "inmo.h").read_text(encoding="utf-8")
    header = re.sub(r"/\*.*?\*/", " ", header, flags=re.S)
    header = re.sub(r"^\s*#\s*define.*(?:\\\n.*)*$", "", header, flags=re.M)
    return set(re.findall(r"\bINMO_API\b[^;(]*?\b(\w+)\s*\(", header))


def check_symbols(root, static, shared, errors):
    for name in sorted(symbols(static, "-g")):
        if not name.startswith("inmo_"):
            errors.append(f"{static}: the symbol {name} does not start with inmo_ and is not static")
    declared, exported = public_calls(root), symbols(shared, "-D")
    if not declared:
        errors.append("include/inmo.h: no INMO_API call found; is the check broken?")
    for name in sorted(exported - declared):
        errors.append(f"{shared}: exports {name}, which inmo.h does not mark INMO_API")
    for name in sorted(declared - exported):
        errors.append(f"{shared}: does not export {name}, which inmo.h marks INMO_API")
    of_parts = re.compile(r"inmo_(lab|reproduce|compare|bench|trials?|machine)(_|$)")
    for name in sorted(name for name in symbols(shared) if of_parts.match(name)):
        errors.append(f"{shared}: has {name}, which belongs to the program's lab/ or limit/")


def main():
    if len(sys.argv) not in (2, 4):
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(sys.argv[1]).resolve()
    errors, warnings = [], []
    check_src(root, errors)
    check_parts(root, errors)
    check_outside(root, "cli", True, errors)
    check_outside(root, "examples", False, errors)
    check_server(root, errors)
    check_blas(root, errors)
    check_numbers(root, errors)
    check_sentences(root, errors)
    check_length(root, errors, warnings)
    if len(sys.argv) == 4:
        check_symbols(root, sys.argv[2], sys.argv[3], errors)
    for line in warnings:
        print("warning:", line)
    for line in errors:
        print("error:", line)
    print(f"check_layers: {len(errors)} errors, {len(warnings)} warnings")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
