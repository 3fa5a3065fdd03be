#!/usr/bin/env python3
"""check_readme.py - what README.md quotes is true.

    python3 tests/check_readme.py SOURCE-ROOT C-COMPILER                  the C snippet compiles
    python3 tests/check_readme.py SOURCE-ROOT --demo PROGRAM DIRECTORY    the demo prints the output quoted

The demo's numbers depend on the machine's BLAS kernels, as does which of two reasons that weigh about the same comes
first. So numbers may differ by 10 %, and the items of reasons may change places; all other text must match. Exit code 77
(skipped) if the machine was too slow for the demo's time limits, or has no bash.
"""
import pathlib
import re
import shutil
import subprocess
import sys

NUMBER = re.compile(r"\d+\.\d+|\d+(?= %)")
ITEM = re.compile(r"[a-z]+-\d{3}")
DECLARATIONS = """#include <inmo.h>
void snippet(void);
void snippet(void)
{
    struct inmo_error error;
    struct inmo_model *model = 0;
    struct inmo_view *view = 0;
    struct inmo_list *list = 0;
    struct inmo_query query;
"""


def block_after(readme, phrase, language=""):
    """The first fenced block of the language after a phrase."""
    start = readme.index("```" + language + "\n", readme.index(phrase)) + len("```" + language + "\n")
    return readme[start:readme.index("```", start)]


def check_snippet(root, readme, compiler):
    code = DECLARATIONS + block_after(readme, "## From C", "c") + "}\n"
    done = subprocess.run([compiler, "-x", "c", "-std=c11", "-Wall", "-Wextra", "-Werror", "-fsyntax-only",
                           f"-I{root / 'include'}", "-"], input=code, text=True, capture_output=True)
    if done.returncode:
        print(done.stderr)
        print("error: README.md: the snippet under \"From C\" does not compile")
    return done.returncode != 0


def without_reasons(line):
    """The items of reasons become @: those after "because of", and those at the end of a line with a share."""
    head, because, reasons = line.partition("because of")
    if not because and "%" in line:
        head, reasons = "", line
    return head + because + ITEM.sub("@", reasons)


def same(quoted, printed):
    """Equal text but for items of reasons, numbers within 10 %."""
    texts = [" ".join(NUMBER.sub("#", without_reasons(line)).split()) for line in (quoted, printed)]
    pairs = zip(NUMBER.findall(quoted), NUMBER.findall(printed))
    return texts[0] == texts[1] and all(abs(float(a) - float(b)) <= 0.1 * abs(float(a)) for a, b in pairs)


def check_demo(root, readme, program, directory):
    if not shutil.which("bash"):
        return 77
    shutil.rmtree(directory, ignore_errors=True)
    done = subprocess.run(["bash", str(root / "tools" / "demo.sh"), directory, program], text=True, capture_output=True)
    if done.returncode:
        print(done.stdout, done.stderr)
        print("error: tools/demo.sh failed")
        return 1
    if "stopped by max-seconds" in done.stdout:
        print("skipped: training reached its time limit on this machine")
        return 77
    lines, place, wrong = done.stdout.splitlines(), 0, 0
    quoted_items, printed_items = [], []
    for quoted in block_after(readme, "In `make demo`").splitlines():
        if quoted.strip() == "...":
            continue
        found = next((n for n in range(place, len(lines)) if same(quoted, lines[n])), None)
        if found is None:
            print(f"error: README.md: the demo does not print this line, or not in this place: {quoted}")
            wrong = 1
        else:
            place = found + 1
            quoted_items += ITEM.findall(quoted)
            printed_items += ITEM.findall(lines[found])
    if not wrong and sorted(quoted_items) != sorted(printed_items):
        print(f"error: README.md: the demo has other items in these lines: {sorted(printed_items)}")
        wrong = 1
    if wrong:
        print(done.stdout)
    return wrong


def main():
    if len(sys.argv) not in (3, 5):
        print(__doc__, file=sys.stderr)
        return 2
    root = pathlib.Path(sys.argv[1]).resolve()
    readme = (root / "README.md").read_text(encoding="utf-8")
    if len(sys.argv) == 3:
        return check_snippet(root, readme, sys.argv[2])
    return check_demo(root, readme, sys.argv[3], sys.argv[4])


if __name__ == "__main__":
    sys.exit(main())
