#!/usr/bin/python3
"""Real logs that every Debian machine has, none of them a shop's: numbers of user and item, tab-separated, .tsv.zst.

    bench/package_logs.py OUT

depends   packages, and the packages that each depends on or recommends (from apt's lists)
tags      packages, and what their debtags say of them: some six hundred items, a few very frequent
manual    installed manual pages of sections 1 and 8, and the words of each: dense, fifty words a page

Users have five items or more. What comes out depends on the machine: another release, other packages. docs/choices.md
says what they were used for."""
import argparse
import collections
import gzip
import pathlib
import re
import subprocess

LEAST, MANY = 5, 0.2                        # items of a user; share of the pages beyond which a word says nothing


def packages():
    """Each package of apt's lists once, as its fields."""
    run = subprocess.run(["apt-cache", "dumpavail"], check=True, capture_output=True, text=True, errors="replace")
    found = {}
    for paragraph in run.stdout.split("\n\n"):
        fields = dict(re.findall(r"^([A-Za-z-]+): *((?:.*)(?:\n .*)*)", paragraph, re.M))
        if "Package" in fields:
            found[fields["Package"]] = fields
    return found


def listed(text):
    """Names in "a (>= 1), b | c"."""
    return {name.split("(")[0].split(":")[0].strip() for some in text.split(",") for name in some.split("|")} - {""}


def depends():
    return {name: listed(fields.get("Depends", "") + "," + fields.get("Recommends", ""))
            for name, fields in packages().items()}


def tags():
    return {name: {tag.strip() for tag in fields.get("Tag", "").replace("\n", " ").split(",")} - {""}
            for name, fields in packages().items()}


def manual():
    pages = {}
    for file in sorted(pathlib.Path("/usr/share/man").glob("man[18]/*.gz")):
        if not file.is_symlink():
            text = gzip.decompress(file.read_bytes()).decode(errors="replace")
            lines = [line for line in text.splitlines() if not line.startswith((".\\\"", "'"))]
            pages[file.name] = set(re.findall(r"\b[a-z]{4,}\b", " ".join(lines)))
    count = collections.Counter(word for words in pages.values() for word in words)
    return {page: {word for word in words if count[word] <= MANY * len(pages)} for page, words in pages.items()}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=pathlib.Path)
    out = parser.parse_args().out
    out.mkdir(parents=True, exist_ok=True)
    for make in (depends, tags, manual):
        log = {user: items for user, items in make().items() if len(items) >= LEAST}
        number = {item: n for n, item in enumerate(sorted(set().union(*log.values())))}
        lines = [f"{n}\t{number[item]}\n" for n, user in enumerate(sorted(log)) for item in sorted(log[user])]
        subprocess.run(["zstd", "-qf", "-o", out / f"{make.__name__}.tsv.zst"], check=True, input="".join(lines).encode())
        print(f"{make.__name__}: {len(log)} users, {len(number)} items, {len(lines)} interactions")


if __name__ == "__main__":
    main()
