"""Cases about lists, explanations and exported numbers. run.py runs every function called case_..."""
import json
import os
import struct

from cases_support import read, first

MODELS = ("mf", "lightgcn", "inmo-mf", "inmo-lightgcn")


def case_lists_of_all_users(world):
    model = os.path.join(world.small, "inmo-lightgcn")
    world.inmo("recommend", model, "--all-users", "-o", "a.txt", "--k", "5")
    with open(world.path("a.txt"), encoding="utf-8") as stream:
        rows = [line.rstrip("\n").split("\t") for line in stream]
    world.check(all(len(row) == 3 for row in rows), "not user, item, score")
    users = list(dict.fromkeys(row[0] for row in rows))
    world.check(users == list(dict.fromkeys(users)) and len(rows) == 5 * len(users), "not 5 items a user")
    out = world.inmo("recommend", model, "--all-users", "-o", "-", "--k", "5")[0]
    world.check(out.encode() == read(world.path("a.txt")), "standard output and file differ")
    lines = world.inmo("recommend", model, "--all-users", "-o", "-", "--k", "5", "--json")[0].splitlines()
    world.check([json.loads(line)["user"] for line in lines] == users, "JSON lines have other users")
    one = json.loads(world.inmo("recommend", model, "--user", users[3], "--k", "5", "--json")[0])
    world.check([i["item"] for i in one["items"]] == [row[1] for row in rows if row[0] == users[3]],
                "one user's list is not the list among all users")


def case_allow_deny_and_seen(world):
    model, user = os.path.join(world.small, "inmo-mf"), first(world, 0)

    def items(*more):
        found = json.loads(world.inmo("recommend", model, "--user", user, "--k", "10", "--json", *more)[0])
        return [entry["item"] for entry in found["items"]]

    best = items()
    for name, ids in (("allow", best[4:7]), ("deny", best[:2])):
        with open(world.path(name), "w", encoding="utf-8") as stream:
            stream.write("".join(i + "\n" for i in ids))
    world.check(items("--allow", "allow") == best[4:7], "--allow")
    world.check(items("--deny", "deny")[:8] == best[2:], "--deny")
    world.check(items("--exclude-seen") == best, "--exclude-seen is not the default")
    world.check(items("--include-seen") == items("--no-exclude-seen"), "--include-seen")
    out = world.inmo("recommend", model, "--all-users", "-o", "-", "--k", "10", "--deny", "deny")[0]
    mine = [line.split("\t")[1] for line in out.splitlines() if line.split("\t")[0] == user]
    world.check(mine == items("--deny", "deny"), "--deny with --all-users")


def case_explanations_sum_to_the_score(world):
    for model in MODELS:
        path = os.path.join(world.small, model)
        best = json.loads(world.inmo("recommend", path, "--user", first(world, 0), "--k", "3", "--json")[0])
        for entry in best["items"]:
            why = json.loads(world.inmo("explain", path, "--user", first(world, 0), "--item", entry["item"],
                                        "--json")[0])
            total = sum(part["contribution"] for part in why["because"])
            for name, value in (("score", why["score"]), ("recommended score", entry["score"])):
                world.check(abs(total - value) < 1e-5 + 1e-4 * abs(value), f"{model}: sum {total}, {name} {value}")


def case_export_npy(world):
    model = os.path.join(world.small, "inmo-lightgcn")
    for what in ("users", "items"):
        world.inmo("export", model, "-o", what, "--what", what)
        data = read(world.path(what + ".npy"))
        world.check(data[:8] == b"\x93NUMPY\x01\x00", "not .npy")
        length = struct.unpack("<H", data[8:10])[0]
        header = eval(data[10:10 + length].decode())
        rows, columns = header["shape"]
        world.check((10 + length) % 64 == 0 and header["descr"] == "<f4" and not header["fortran_order"],
                    str(header))
        world.check(len(data) == 10 + length + 4 * rows * columns and columns == 8, str(header))
        ids = read(world.path(what + ".ids")).decode().splitlines()
        world.check(len(ids) == rows, "ids are not one a row")
        out = world.inmo("export", model, "-o", "-", "--what", what, "--format", "tsv")[0].splitlines()
        world.check([line.split("\t")[0] for line in out] == ids, "ids of .tsv and .npy differ")
        numbers = [float(x) for x in out[1].split("\t")[1:]]
        begin = 10 + length + 4 * columns
        world.check(struct.pack(f"<{columns}f", *numbers) == data[begin:begin + 4 * columns],
                    "the text does not give the same floats back")
