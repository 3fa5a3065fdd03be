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


def case_nobody_of_a_shop_vanishes(world):
    world.inmo("synth", "-o", "shop.tsv", "--interactions", "2000", "--users", "1850", "--items", "120", "-q")
    for model in ("ease", "inmo-mf", "mf"):
        world.inmo("train", "shop.tsv", "-o", "m", "--model", model, "--dim", "8", "--epochs", "1", "--force", "-q")
        info = json.loads(world.inmo("info", "m", "--json")[0])
        world.check(info["users"] == 1850, "%s has %d of 1850 users" % (model, info["users"]))
        out = world.inmo("recommend", "m", "--all-users", "-o", "-", "--k", "1")[0]
        world.check(len(out.splitlines()) == 1850, "%s has lists for %d" % (model, len(out.splitlines())))


def case_what_was_rated_low_is_never_listed(world):
    with open(world.path("rated.csv"), "w", encoding="utf-8") as stream:
        stream.write("user,item,rating\n")
        for user in range(40):
            for n in range(1 if user < 5 else 12):
                item = (user % 4 * 10 + n * 7 + user) % 40
                stream.write("u%d,i%d,%d\n" % (user, item, 2 if user < 5 else 1 + (user * n) % 5))
    with open(world.path("rated.csv"), encoding="utf-8") as stream:
        rated = [line.strip().split(",") for line in stream][1:]
    out = json.loads(world.inmo("prepare", "rated.csv", "-o", "d", "--min-rating", "4", "--json")[0])
    low = [row for row in rated if int(row[2]) < 4]
    world.check(out["kept"]["of"] == len(rated), "not all are counted")
    world.check(out["kept"]["left_out"] == {"low_rating_lines": len(low)}, "left out: %s" % out["kept"])
    world.check(out["kept"]["interactions"] == len(rated) - len(low), "--min-rating 4 is at least 4")
    told = world.inmo("train", "d", "-o", "m", "--model", "ease")[1]
    world.check("kept %d of %d interactions: %d rated below 4" % (len(rated) - len(low), len(rated), len(low)) in told,
                "train does not say what was left out: " + told)
    out = world.inmo("recommend", "m", "--all-users", "-o", "-", "--k", "40")[0]
    lists = {tuple(line.split("\t")[:2]) for line in out.splitlines()}
    world.check({user for user, item in lists} == {row[0] for row in rated}, "somebody has no list")
    world.check(not lists & {(row[0], row[1]) for row in low}, "something seen is recommended")
    one = json.loads(world.inmo("recommend", "m", "--user", "u0", "--json")[0])
    world.check(one["fallback"] and one["items"], "u0 is known by name and gets a list that says what it is")


def case_nothing_leaks_by_accident(world):
    world.inmo("synth", "-o", "l.tsv", "--interactions", "3000", "--users", "150", "--items", "80", "-q")
    world.inmo("train", "l.tsv", "-o", "all", "--model", "ease", "-q")
    world.inmo("train", "l.tsv", "-o", "part", "--model", "ease", "--split", "70/10/20", "--seed", "5", "-q")
    world.inmo("prepare", "l.tsv", "-o", "d", "-q")
    for model, data, part in (("all", "l.tsv", "valid"), ("part", "l.tsv", "test")):
        found = json.loads(world.inmo("evaluate", model, data, "--json")[0])
        world.check(found["part"] == part, "%s is evaluated on the part %s" % (model, found["part"]))
    for model, data, more in (("all", "d", ()), ("part", "d", ()), ("all", "l.tsv", ("--split", "70/10/20"))):
        said = world.inmo("evaluate", model, data, *more, code=3)[1]
        world.check("the model was trained on" in said, said)
    said = world.inmo("evaluate", "all", "d", "--allow-leaks")[1]
    world.check("warning: of the" in said, said)
