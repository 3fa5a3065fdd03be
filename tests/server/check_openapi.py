#!/usr/bin/env python3
"""check_openapi.py - server/openapi.json describes the routes there are, and is a sound OpenAPI 3.0 document.

    python3 tests/server/check_openapi.py PROGRAM OPENAPI.json

  - Its operations and their x-right are the lines of `PROGRAM serve --routes`.
  - Every reference leads somewhere, and everything in components is used.
  - Parameters of a path are those in its braces, required; operation ids are unique; every operation has a success and,
    unless it is open to everybody, 401, 403 and 429.
  - Examples and defaults fit their schemas; the pattern of times takes what Python's calendar has and nothing else.
  - The version is the program's.
"""
import datetime
import json
import random
import re
import subprocess
import sys

METHODS = ("get", "put", "post", "delete", "patch")


def walk(value, path=()):
    yield path, value
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from walk(inner, path + (key,))


def resolve(document, reference):
    at = document
    for part in reference.removeprefix("#/").split("/"):
        at = at[part.replace("~1", "/").replace("~0", "~")]
    return at


def check_routes(document, program):
    lines = subprocess.run([program, "serve", "--routes"], check=True, capture_output=True, text=True).stdout.splitlines()
    served = {tuple(line.split(" ")) for line in lines}
    described = {(method.upper(), path, operation["x-right"]) for path, methods in document["paths"].items()
                 for method, operation in methods.items()}
    if len(served) < 50:
        yield f"only {len(served)} routes; is the check broken?"
    for route in sorted(served - described):
        yield f"{' '.join(route)}: served, not described"
    for route in sorted(described - served):
        yield f"{' '.join(route)}: described, not served"


def check_references(document):
    used = set()
    for path, value in walk(document):
        if isinstance(value, dict) and "$ref" in value:
            used.add(value["$ref"])
            if len(value) > 1:
                yield f"{'/'.join(map(str, path))}: what stands beside a $ref is ignored"
            try:
                resolve(document, value["$ref"])
            except KeyError:
                yield f"{value['$ref']} leads nowhere"
    for kind in ("parameters", "responses", "schemas"):
        for name in document["components"][kind]:
            if f"#/components/{kind}/{name}" not in used:
                yield f"components/{kind}/{name} is not used"


def check_operations(document):
    ids = []
    tags = {tag["name"] for tag in document["tags"]}
    for path, methods in document["paths"].items():
        for method, operation in methods.items():
            where = f"{method.upper()} {path}"
            ids.append(operation["operationId"])
            found = [resolve(document, p["$ref"]) if "$ref" in p else p for p in operation.get("parameters", [])]
            inside = [p["name"] for p in found if p["in"] == "path"]
            if method not in METHODS or not set(operation["tags"]) <= tags:
                yield f"{where}: strange method or tag"
            if inside != re.findall(r"{(\w+)}", path) or not all(p.get("required") for p in found if p["in"] == "path"):
                yield f"{where}: its parameters in the path are {inside}"
            if len({(p["in"], p["name"]) for p in found}) != len(found):
                yield f"{where}: a parameter twice"
            codes = set(operation["responses"])
            if not codes & {"200", "202"}:
                yield f"{where}: no success"
            if operation["x-right"] != "none" and not {"401", "403", "429"} <= codes:
                yield f"{where}: needs a right and has no 401, 403 or 429"
            if bool(operation["security"]) != (operation["x-right"] != "none"):
                yield f"{where}: security and x-right differ"
            if method in ("get", "delete") and "requestBody" in operation:
                yield f"{where}: a body"
    for name in {name for name in ids if ids.count(name) > 1}:
        yield f"operationId {name} twice"


def check_values(document):
    """Defaults and examples, by the few keywords that have both."""
    for path, value in walk({key: document[key] for key in ("paths", "components")}):
        if "securitySchemes" in path:
            continue
        if isinstance(value, dict) and "type" in value and isinstance(value["type"], str):
            for given in (value[key] for key in ("default", "example") if key in value):
                fine = {"integer": int, "number": (int, float), "string": str, "boolean": bool}[value["type"]]
                if not isinstance(given, fine) or not value.get("minimum", given) <= given <= value.get("maximum", given) \
                        or ("pattern" in value and not re.search(value["pattern"], given)):
                    yield f"{'/'.join(map(str, path))}: {given!r} does not fit"
            unknown = set(value) - {"type", "format", "description", "properties", "required", "items", "enum", "minimum", "maximum",
                                    "minLength", "maxLength", "maxItems", "pattern", "nullable", "default", "example"}
            if path[-1] != "properties" and unknown:
                yield f"{'/'.join(map(str, path))}: keywords that are not checked: {sorted(unknown)}"


def check_times(document):
    pattern = re.compile(next(s["pattern"] for s in document["components"]["schemas"]["TimeIn"]["anyOf"] if "pattern" in s))
    draw = random.Random(3)
    for n in range(200000):
        text = f"{draw.randint(0, 9999) if n % 2 else draw.choice((0, 1, 4, 100, 400, 1900, 2000, 2024)):04}-" \
               f"{draw.randint(0, 13):02}-{draw.randint(0, 32):02}"
        try:
            datetime.date.fromisoformat(text)
            good = True
        except ValueError:
            good = False
        if bool(pattern.search(text)) != good or bool(pattern.search(text + "T23:59:59.5Z")) != good:
            yield f"TimeIn: {text} is {'a date' if good else 'none'}, and the pattern says otherwise"
    for text in ("2022-08-07T00:26:46+02:00", "1999-12-31 23:59", "1659832006", "-1.5", "1659832006123", ""):
        if not pattern.search(text):
            yield f"TimeIn: the pattern refuses {text}"
    for text in ("yesterday", "2022-08-07T24:00:00Z", "2022-08-07T00:60:00Z", "1e9", "0001-01-01T00:00:00+01:00", " 2022-08-07"):
        if pattern.search(text):
            yield f"TimeIn: the pattern takes {text}"


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    program, path = sys.argv[1:]
    with open(path, encoding="utf-8") as file:
        document = json.load(file)
    errors = [*check_routes(document, program), *check_references(document), *check_operations(document),
              *check_values(document), *list(check_times(document))[:10]]
    version = subprocess.run([program, "--version"], check=True, capture_output=True, text=True).stdout
    if document["openapi"] != "3.0.3" or document["info"]["version"] not in version.split():
        errors.append(f"version {document['info']['version']} of OpenAPI {document['openapi']}; the program says {version.strip()}")
    for error in errors:
        print("error:", error)
    print(f"check_openapi: {sum(map(len, document['paths'].values()))} operations, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
