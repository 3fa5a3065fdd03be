#!/usr/bin/env python3
"""check_page.py - the report's page is well-formed, and says what the report's JSON says.

    python3 tests/check_page.py [EMULATOR...] TEST-REPORT-PROGRAM

Lets test_report write a report from results made by hand, with labels that have every mark of HTML and Markdown in
them, and checks: every element is closed and in place; every picture is XML, and all it draws lies inside its view
box; links lead somewhere; tables, claims and figures have the JSON's numbers, in the page and in the Markdown.
"""
import html.parser
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

VOID = {"meta", "br"}
NUMBER = r"-?\d+(?:\.\d+)?(?:e[-+]?\d+)?"
errors = []


def expect(condition, what):
    if not condition:
        errors.append(what)


class Page(html.parser.HTMLParser):
    """Checks the nesting; keeps the tables by the section they stand in, the ids and the links."""

    def __init__(self):
        super().__init__()
        self.open, self.ids, self.links, self.tables, self.section = [], set(), [], {}, None
        self.cell, self.words = None, []

    def handle_starttag(self, tag, attributes):
        attributes = dict(attributes)
        if "id" in attributes:
            expect(attributes["id"] not in self.ids, f"the id {attributes['id']} stands twice")
            self.ids.add(attributes["id"])
        if tag == "a":
            self.links.append(attributes.get("href", ""))
        if tag == "h2":
            self.section = attributes.get("id")
        if tag == "tr":
            self.tables.setdefault(self.section, []).append([])
        if tag in ("td", "th"):
            self.cell = ["", attributes.get("class", "")]
        if tag == "br" and self.cell:
            self.cell[0] += " "
        if tag not in VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        pass

    def handle_endtag(self, tag):
        expect(self.open and self.open[-1] == tag, f"</{tag}> closes {self.open[-1:]}, line {self.getpos()[0]}")
        if self.open and self.open[-1] == tag:
            self.open.pop()
        if tag in ("td", "th") and self.cell:
            self.tables[self.section][-1].append((self.cell[0].strip(), self.cell[1]))
            self.cell = None

    def handle_data(self, data):
        if self.cell:
            self.cell[0] += data


def cell_text(cell):
    """What a cell must begin with."""
    if "count" in cell:
        return f"{cell['count']:,.0f}"
    if "density" in cell:
        return f"{cell['density']:.5f}"
    if cell["mean"] is None:
        return "\\"
    text = f"{cell['mean']:.2f}"
    return text + (f" ± {cell['deviation']:.2f}" if cell["deviation"] is not None else "")


def check_tables(report, page):
    for experiment in report["experiments"]:
        rows = page.tables.get(experiment["name"], [])
        for number, row in enumerate(experiment.get("rows", [])):
            found = rows[number + 1] if number + 1 < len(rows) else []
            expected = [row["label"]] + [cell_text(cell) for cell in row["cells"]]
            if "trained" in row:
                how = row["trained"]
                expected.append(f"d {how['dim']}, {how['loss']} loss, {how['recipe']}, {how['epochs']:g} epochs" if how.get("loss")
                                else f"closed form, {how['recipe']}")
            expect(len(found) == len(expected) and all(a[0].startswith(b) for a, b in zip(found, expected)),
                   f"{experiment['name']}: the page has {[a[0] for a in found]}, the JSON {expected}")
    for claim, found in zip(report["claims"], page.tables.get("claims", [[]])[1:]):
        word = "undecided" if claim["p"] > 0.05 else "yes" if claim["mean"] > 0 else "no"
        expected = [claim["claim"], word, f"{claim['mean']:+.2f} {claim['low']:+.2f} … {claim['high']:+.2f}",
                    f"{claim['users']:,}", f"{claim['p']:.4f}"]
        expect(found[0][0].startswith(expected[0]) and [a[0] for a in found[1:]] == expected[1:],
               f"claim: the page has {found}, the JSON {expected}")
        expect(found[1][1] == word[0], f"claim: the class of {word} is {found[1][1]}")
    words = {row[1][0] for row in page.tables.get("claims", [[]])[1:]}
    expect(words == {"yes", "no", "undecided"}, f"the verdicts are {words}, expected each of the three")
    expect(len(page.tables.get("runs", [])) == len(report["runs"]) + 1, "a line for each run")


def path_points(description):
    """The places a path goes to: M L absolute, H V absolute in one direction, l h v relative, z."""
    x = y = 0.0
    for command, rest in re.findall(r"([MLHVlhvz])([^MLHVlhvz]*)", description):
        values = [float(value) for value in re.findall(NUMBER, rest)]
        if command in "ML":
            x, y = values
        elif command == "l":
            x, y = x + values[0], y + values[1]
        elif command in "Hh":
            x = values[0] + (x if command == "h" else 0)
        elif command in "Vv":
            y = values[0] + (y if command == "v" else 0)
        yield x, y


def points(element):
    get = {key: element.get(key) for key in element.keys()}
    tag = element.tag
    if tag == "line":
        yield float(get["x1"]), float(get["y1"])
        yield float(get["x2"]), float(get["y2"])
    elif tag == "circle":
        for sign in (-1, 1):
            yield float(get["cx"]) + sign * float(get["r"]), float(get["cy"]) + sign * float(get["r"])
    elif tag == "rect":
        expect(float(get["width"]) >= 0 and float(get["height"]) >= 0, f"a rectangle of a negative size: {get}")
        yield float(get["x"]), float(get["y"])
        yield float(get["x"]) + float(get["width"]), float(get["y"]) + float(get["height"])
    elif tag == "path":
        yield from path_points(get["d"])
    elif tag == "text" and "x" in get:
        yield float(get["x"]), float(get["y"])


def check_pictures(text, report):
    pictures = re.findall(r"<svg.*?</svg>", text, flags=re.S)
    for picture in pictures:
        expect(not re.search(r'="(?:[^"]*\s)?[A-Za-z]?-?(?:nan|inf)[\s"]', picture), "a number that is none")
        try:
            root = xml.etree.ElementTree.fromstring(picture)
        except xml.etree.ElementTree.ParseError as error:
            errors.append(f"a picture that is not XML: {error}: {picture[:200]}")
            continue
        left, top, width, height = (float(value) for value in root.get("viewBox").split())
        drawn = 0
        for element in root.iter():
            for x, y in points(element):
                drawn += 1
                expect(left - 0.1 <= x <= left + width + 0.1 and top - 0.1 <= y <= top + height + 0.1,
                       f"{root.get('aria-label')}: {element.tag} at {x} {y} lies outside {root.get('viewBox')}")
        expect(drawn > 5, f"{root.get('aria-label')}: nothing is drawn")
    panels = sum(len(experiment.get("panels", [])) for experiment in report["experiments"])
    bars = sum("bars" in experiment for experiment in report["experiments"])
    expect(len(pictures) >= panels + bars > 4, f"{len(pictures)} pictures for {panels} panels and {bars} of bars")
    for experiment in report["experiments"]:
        for panel in experiment.get("panels", []):
            picture = [found for found in pictures if f">{panel['title']}</text>" in found]
            marks = sum(len([y for y in series["y"] if y is not None]) for series in panel["series"]
                        if len(series["x"]) <= 40)
            expect(any(len(re.findall(r"<(?:circle|rect) |l4\.5 8h-9z", found)) >= marks for found in picture),
                   f"{panel['title']}: fewer than {marks} marks")


def check_markdown(text, report):
    for experiment in report["experiments"]:
        for row in experiment.get("rows", []):
            for cell in row["cells"]:
                number = cell_text(cell).split(" ")[0]
                expect(number in text or number == "\\", f"report.md lacks {number} of {row['label']}")
        for panel in [] if "rows" in experiment else experiment.get("panels", []):  # curves beside a table are in the page alone
            for series in panel["series"]:
                for x, y in zip(series["x"], series["y"]):
                    expect(y is None or f"{x:g}: {y:.4g}" in text, f"report.md lacks {x:g}: {y} of {panel['title']}")
    for line in text.splitlines():
        if line.startswith("|"):
            expect(line.rstrip().endswith("|"), f"report.md: a line of a table without an end: {line}")


def main():
    if len(sys.argv) < 2:
        print(__doc__, file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([*sys.argv[1:], "--write", folder], check=True)
        read = {name: pathlib.Path(folder, "report." + name).read_text(encoding="utf-8")
                for name in ("json", "html", "md")}
    report = json.loads(read["json"])
    page = Page()
    page.feed(read["html"])
    page.close()
    expect(not page.open, f"never closed: {page.open}")
    for link in page.links:
        expect(link.startswith("#") and link[1:] in page.ids, f"the link {link} leads nowhere")
    expect("a&lt;b&gt; &amp;" in read["html"], "the data's name is not escaped")
    expect("http" not in read["html"], "the page asks for something from elsewhere")
    check_tables(report, page)
    check_pictures(read["html"], report)
    check_markdown(read["md"], report)
    for error in errors[:40]:
        print("error:", error)
    print(f"check_page: {len(report['experiments'])} experiments, {len(report['claims'])} claims, "
          f"{len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
