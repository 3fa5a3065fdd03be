"""Cases about what a shop does with lists: titles, files for other teams, many histories, rules. run.py runs every function called case_..."""
import csv
import gzip
import io
import json
import os
import subprocess

from cases_support import read, first

GENRES = ("jazz", "rock", "opera", "techno")


def items_of(world):
    with open(os.path.join(world.small, "log.tsv"), encoding="utf-8") as stream:
        return sorted({line.split()[1] for line in stream})


def write_titles(world, name="titles.csv"):
    """Ids, titles with commas and quotes, genres (some have two) and a price."""
    with open(world.path(name), "w", encoding="utf-8", newline="") as stream:
        table = csv.writer(stream)
        table.writerow(["itemId", "title", "genres", "price"])
        for n, item in enumerate(items_of(world)):
            genres = item.split("-")[0] + ("|live" if n % 3 == 0 else "")
            table.writerow([item, f'The "{item}", vol. {n}', genres, n])
    return name


def titles_of(world):
    return {item: f'The "{item}", vol. {n}' for n, item in enumerate(items_of(world))}


def genres_of(world):
    return {item: {item.split("-")[0]} | ({"live"} if n % 3 == 0 else set()) for n, item in enumerate(items_of(world))}


def lists(world, *more, model="inmo-lightgcn", k=10):
    out = world.inmo("recommend", os.path.join(world.small, model), "--k", str(k), "--json", *more)[0]
    return [json.loads(line) for line in out.splitlines()]


def ids(found):
    return [entry["item"] for entry in found["items"]]


def case_titles_are_shown_wherever_items_are(world):
    model, user = os.path.join(world.small, "inmo-lightgcn"), first(world, 0)
    titles, known = write_titles(world), titles_of(world)
    text = world.inmo("recommend", model, "--user", user, "--titles", titles, "--k", "5", "--explain", "2")[0]
    found = lists(world, "--user", user, "--titles", titles, "--explain", "2", k=5)[0]
    for entry in found["items"]:
        world.check(entry["title"] == known[entry["item"]] and entry["title"] in text, f"{entry} in {text}")
        world.check(all(known.get(part["item"]) == part.get("title") for part in entry["because"]), str(entry))
    item = found["items"][0]["item"]
    text = world.inmo("similar", model, "--item", item, "--titles", titles)[0]
    near = json.loads(world.inmo("similar", model, "--item", item, "--titles", titles, "--json")[0])
    world.check(near["title"] == known[item] and near["measure"] == "cosine" and len(near["similar"]) == 10, str(near))
    for rank, entry in enumerate(near["similar"], 1):
        world.check(entry["rank"] == rank and entry["title"] == known[entry["item"]] and entry["title"] in text and
                    -1.001 < entry["score"] < 1.001, str(entry))
    why = json.loads(world.inmo("explain", model, "--user", user, "--item", item, "--titles", titles, "--json")[0])
    world.check(why["title"] == known[item], str(why))


def case_titles_of_many_shapes(world):
    """Separators, headers in any order, no header, Latin-1, packed, a byte order mark, quotes over lines."""
    model, item = os.path.join(world.small, "inmo-lightgcn"), items_of(world)[0]
    others = items_of(world)[1:]

    def shown(data, name="t"):
        with open(world.path(name), "wb") as stream:
            stream.write(data)
        return json.loads(world.inmo("similar", model, "--item", item, "--titles", name, "--json")[0]).get("title")

    rest = lambda separator: "".join(f"{other}{separator}Another one\n" for other in others)
    world.check(shown(f"{item}\tÉtude\n{rest(chr(9))}".encode()) == "Étude", "tabs, no header")
    world.check(shown(f"{item}::Étude (1995)::Drama|War\n".encode("latin-1") +
                      "".join(f"{o}::x::y\n" for o in others).encode()) == "Étude (1995)", "::, Latin-1")
    world.check(shown(f"{item}|Toy, Story|01-Jan-1995||http://x|0|1\n".encode() +
                      "".join(f"{o}|x|y||z|0|1\n" for o in others).encode()) == "Toy, Story", "|, as in u.item")
    world.check(shown(f"price;name;item_id\n3;Blue;{item}\n".encode()) == "Blue", "columns in another order")
    world.check(shown(b"\xef\xbb\xbfid,title\r\n" + f'{item},"A ""quoted"", one"\r\n'.encode()) == 'A "quoted", one', "RFC")
    world.check(shown(f'id,title\n{item},"two\nlines"\n{others[0]},x\n'.encode()) == "two\nlines", "a quote over two lines")
    world.check(shown(gzip.compress(f"id,title\n{item},Packed\n".encode()), "t.gz") == "Packed", "gzip")
    world.check(shown(f"id,title\n{item},First\n{item},Second\n".encode()) == "First", "an item that is there twice")
    for data, words in ((b"", "is empty"), (b"one\ntwo\n", "expected ids and titles"), (b"id,title\n", "found no items"),
                        (b"id,title\n,nameless\n", "t:2: found")):
        with open(world.path("t"), "wb") as stream:
            stream.write(data)
        err = world.inmo("similar", model, "--item", item, "--titles", "t", code=3)[1]
        world.check(words in err, f"{data}: {err}")


def case_a_model_keeps_titles(world):
    data, titles = os.path.join(world.small, "data"), write_titles(world)
    run = ("train", data, "--model", "ease", "-q")
    world.inmo(*run, "-o", "with", "--titles", titles)
    world.inmo(*run, "-o", "without")
    os.remove(world.path(titles))
    user, known = first(world, 0), titles_of(world)
    found = json.loads(world.inmo("recommend", "with", "--user", user, "--json", "--where", "genre=jazz")[0])
    bare = json.loads(world.inmo("recommend", "without", "--user", user, "--json")[0])
    world.check(found["items"] and all(e["title"] == known[e["item"]] and e["item"].startswith("jazz") for e in found["items"]),
                str(found))
    world.check(bare["items"] and not any("title" in e for e in bare["items"]), str(bare))
    damaged = bytearray(read(world.path("with")))
    at = damaged.index(b"itemId")
    damaged[at] ^= 1
    with open(world.path("damaged"), "wb") as stream:
        stream.write(damaged)
    world.inmo("recommend", "damaged", "--user", user, code=5)


def case_explain_speaks_to_people(world):
    model, user, titles = os.path.join(world.small, "inmo-lightgcn"), first(world, 0), write_titles(world)
    owned = first(world, 1)
    run = ("explain", model, "--user", user, "--titles", titles)
    best = ids(lists(world, "--user", user)[0])[0]
    text = world.inmo(*run, "--item", best, "--top", "2")[0]
    why = json.loads(world.inmo(*run, "--item", best, "--json")[0])
    short = json.loads(world.inmo(*run, "--item", best, "--json", "--top", "2")[0])
    reasons = [part for part in why["because"] if "title" in part][:3]
    for part in reasons:
        world.check(f"{part['title']} ({100 * part['share']:.0f} %)" in text.splitlines()[-1], f"{part} in {text}")
    world.check("others)" in text and not why["owned"], text)
    world.check(abs(sum(p["contribution"] for p in short["because"]) + short["others"]["contribution"] - why["score"]) <
                1e-4 * abs(why["score"]) and short["others"]["count"] == len(why["because"]) - 2, str(short))
    world.check(abs(sum(p["share"] for p in why["because"]) - 1) < 1e-3, "shares do not sum to 1")
    history = [line.split()[1] for line in open(os.path.join(world.small, "log.tsv"), encoding="utf-8")
               if line.split()[0] == user]
    parts = {part["item"] for part in why["because"]}
    inside = next(i for i in history if i in parts)
    text = world.inmo(*run, "--item", inside)[0]
    world.check(f"{user} has {titles_of(world)[inside]} already" in text, text)
    world.check(json.loads(world.inmo(*run, "--item", inside, "--json")[0])["owned"], "owned")
    world.check("already" not in world.inmo(*run, "--item", best)[0], "not owned")
    world.check("this person has" in world.inmo("explain", model, "--items", owned, "--item", owned)[0], "of somebody unseen")


def case_files_by_their_names(world):
    model, titles = os.path.join(world.small, "inmo-lightgcn"), write_titles(world)
    known = titles_of(world)

    def text_of(name):
        data = read(world.path(name))
        if name.endswith(".gz"):
            return gzip.decompress(data).decode()
        if name.endswith(".zst"):
            return subprocess.run(["zstd", "-dcq", world.path(name)], capture_output=True, check=True).stdout.decode()
        return data.decode()

    run = ("recommend", model, "--all-users", "--k", "3", "--titles", titles)
    plain = [line.split("\t") for line in world.inmo(*run, "-o", "-")[0].splitlines()]
    expected = [(user, item, float(score), known[item]) for user, item, score, _ in plain]
    for pack in ("", ".gz", ".zst"):
        for form, separator in (("csv", ","), ("tsv", "\t")):
            name = f"x.{form}{pack}"
            world.inmo(*run, "-o", name)
            rows = list(csv.DictReader(io.StringIO(text_of(name)), delimiter=separator) if form == "csv" else
                        (dict(zip(("user", "rank", "item", "score", "title"), line.split("\t")))
                         for line in text_of(name).splitlines()[1:]))
            world.check(text_of(name).splitlines()[0] == separator.join(("user", "rank", "item", "score", "title")), name)
            world.check([(r["user"], r["item"], float(r["score"]), r["title"]) for r in rows] == expected, name)
            world.check([int(r["rank"]) for r in rows] == [1, 2, 3] * (len(rows) // 3), name)
        for form in ("json", "jsonl"):
            name = f"x.{form}{pack}"
            world.inmo(*run, "-o", name)
            objects = json.loads(text_of(name)) if form == "json" else [json.loads(l) for l in text_of(name).splitlines()]
            world.check([(o["user"], e["item"], e["title"]) for o in objects for e in o["items"]] ==
                        [(u, i, t) for u, i, _, t in expected] and
                        all(e["rank"] == n for o in objects for n, e in enumerate(o["items"], 1)), name)
    world.inmo("recommend", model, "--user", plain[0][0], "--k", "2", "--explain", "2", "-o", "why.csv")
    rows = list(csv.DictReader(io.StringIO(text_of("why.csv"))))
    world.check(list(rows[0]) == ["user", "rank", "item", "score", "because_1", "contribution_1", "because_2", "contribution_2"],
                str(rows[0]))
    world.inmo(*run, "-o", "x.csv.gz", code=8)


def case_full_disk_leaves_a_packed_file_as_it_was(world):
    model = os.path.join(world.small, "inmo-lightgcn")
    with open(world.path("x.csv.gz"), "w", encoding="utf-8") as stream:
        stream.write("old")
    done = world.shell(f"ulimit -f 4; trap '' XFSZ; inmo recommend {model} --all-users --k 50 -o x.csv.gz --force")
    world.check(done.returncode == 4 and read(world.path("x.csv.gz")) == b"old", f"{done}")
    world.check(os.listdir(world.folder) == ["x.csv.gz"], str(os.listdir(world.folder)))


def case_one_unknown_user_does_not_lose_the_others(world):
    model, user = os.path.join(world.small, "inmo-lightgcn"), first(world, 0)
    run = ("recommend", model, "--user", user, "--user", "nobody", "--user", user, "--k", "2")
    out, err = world.inmo(*run, code=6)
    world.check(out.count(f"for {user}") == 2 and err.startswith("inmo: user 'nobody' is in neither"), out + err)
    out, err = world.inmo(*run, "--json", code=6)
    found = [json.loads(line) for line in out.splitlines()]
    world.check([o["user"] for o in found] == [user, "nobody", user] and found[1]["error"]["code"] == 6 and
                found[1]["error"]["name"] == "UNKNOWN" and found[0]["items"] == found[2]["items"], out)
    world.check(json.loads(err)["error"] == found[1]["error"], err)
    world.inmo(*run, "-o", "lists.csv", code=6)
    world.check(read(world.path("lists.csv")).count(b"\n") == 5, "the file of the others")


def case_errors_are_json_on_standard_error_with_json(world):
    for arguments, code, name in ((("info", "nowhere", "--json"), 4, "IO"), (("train", "--json"), 2, "USAGE"),
                                  (("recommend", os.path.join(world.small, "popular"), "--user", "x", "--json"), 6, "UNKNOWN")):
        out, err = world.inmo(*arguments, code=code)
        error = json.loads(err.splitlines()[-1])["error"]
        world.check(error["code"] == code and error["name"] == name and error["message"] and not out, err)


def case_histories_of_many(world):
    """Both shapes of a file, several models: the lists are those of one person at a time."""
    log = [line.split() for line in open(os.path.join(world.small, "log.tsv"), encoding="utf-8")]
    people = {}
    for user, item in log:
        people.setdefault(user, [])
        if item not in people[user]:
            people[user].append(item)
    people = {f"guest {n}": items[:5] + ["unheard-of"] for n, items in enumerate(list(people.values())[:60])}
    with open(world.path("pairs.csv"), "w", encoding="utf-8") as stream:
        stream.write("user,item\n" + "".join(f"{name},{item}\n" for name, items in people.items() for item in items))
    with open(world.path("lines.txt"), "w", encoding="utf-8") as stream:
        stream.write("".join("{} {}\n".format(name.replace(" ", "-"), " ".join(items)) for name, items in people.items()))
    for model in ("inmo-lightgcn", "inmo-mf"):
        for deny in ([], items_of(world)[:10]):
            with open(world.path("deny"), "w", encoding="utf-8") as stream:
                stream.write("\n".join(deny or ["nothing"]) + "\n")
            found = lists(world, "--histories", "pairs.csv", "--deny", "deny", model=model, k=5)
            world.check([o["user"] for o in found] == list(people), "names, in the order of the file")
            for one in found[::12]:
                alone = lists(world, "--items", ",".join(people[one["user"]]), "--deny", "deny", model=model, k=5)[0]
                world.check(ids(one) == ids(alone), f"{model}: {one} is not {alone}")
                world.check(all(abs(a["score"] - b["score"]) < 1e-4 for a, b in zip(one["items"], alone["items"])), "scores")
    by_line = lists(world, "--histories", "lines.txt", "--deny", "deny", model="inmo-mf", k=5)
    world.check([ids(o) for o in by_line] == [ids(o) for o in found] and by_line[0]["user"] == "guest-0", "a line for each")
    reasons = lists(world, "--histories", "pairs.csv", "--explain", "1", "--deny", "deny", model="inmo-mf", k=5)
    world.check([ids(o) for o in reasons] == [ids(o) for o in found] and reasons[0]["items"][0]["because"], "with reasons")
    one = world.inmo("recommend", os.path.join(world.small, "inmo-mf"), "--histories", "pairs.csv", "-o", "-", "--threads", "1")
    world.check(one[0] == world.inmo("recommend", os.path.join(world.small, "inmo-mf"), "--histories", "pairs.csv", "-o", "-",
                                     "--threads", "3")[0], "threads")
    world.check("cannot recommend for somebody unseen" in
                world.inmo("recommend", os.path.join(world.small, "mf"), "--histories", "pairs.csv", code=7)[1], "a lookup model")


def case_histories_with_what_was_only_seen(world):
    """A low rating is in no list of that person, and who has nothing else gets a list by popularity."""
    has = items_of(world)[0]
    plain = lists(world, "--items", has, k=5)[0]
    low = ids(plain)[:3]
    with open(world.path("rated.csv"), "w", encoding="utf-8") as stream:
        stream.write("user,item,rating\n" + f"ann,{has},5\n" + "".join(f"ann,{item},1\n" for item in low) + f"bob,{low[0]},2\n"
                     + f"cleo,{has},4\n")
    longer = [item for item in ids(lists(world, "--items", has, k=8)[0]) if item not in low]
    popular = ids(lists(world, "--items", "unheard-of", k=5)[0])
    for more in ([], ["--explain", "1"], ["--include-seen"]):
        found = {one["user"]: ids(one) for one in lists(world, "--histories", "rated.csv", *more, k=5)}
        world.check(list(found) == ["ann", "cleo", "bob"], f"everybody gets a list: {found}")
        world.check(not set(low) & set(found["ann"]) and low[0] not in found["bob"], f"{more}: {found} has what was rated low")
        world.check(len(found["ann"]) == len(found["bob"]) == len(found["cleo"]) == 5, f"{more}: lists are as long as asked for")
        if "--include-seen" not in more:
            world.check(found["ann"] == longer[:5] and found["cleo"] == ids(plain), f"{more}: {found}")
            world.check([item for item in popular if item != low[0]] == found["bob"][:len(popular) - (low[0] in popular)], str(found))


def case_rules_for_one_and_for_everybody(world):
    user, titles, genres = first(world, 0), write_titles(world), genres_of(world)
    model = os.path.join(world.small, "inmo-lightgcn")
    best = lists(world, "--user", user, k=100)[0]

    found = lists(world, "--user", user, "--titles", titles, "--where", "genre=JAZZ|rock", "--where", "genres!=live")[0]
    expected = [i for i in ids(best) if genres[i] & {"jazz", "rock"} and "live" not in genres[i]][:10]
    world.check(ids(found) == expected, f"--where: {ids(found)} is not {expected}")

    found = lists(world, "--user", user, "--titles", titles, "--at-most", "2:genre")[0]
    expected, taken = [], {}
    for i in ids(best):
        if all(taken.get(g, 0) < 2 for g in genres[i]):
            expected.append(i)
            for g in genres[i]:
                taken[g] = taken.get(g, 0) + 1
    world.check(ids(found) == expected[:10] and len(expected) < 10, f"--at-most: {ids(found)} is not {expected}")

    found = lists(world, "--user", user, "--titles", titles, "--boost", "genre=live:1.5", "--boost", "genre=rock:0")[0]
    score = {e["item"]: e["score"] for e in best["items"]}
    for i in score:
        score[i] += ((1.5 if "live" in genres[i] else 1) * (0 if "rock" in genres[i] else 1) - 1) * abs(score[i])
    expected = sorted(score, key=lambda i: -score[i])[:10]
    world.check(ids(found) == expected, f"--boost: {ids(found)} is not {expected}")

    rules = ("--titles", titles, "--where", "genre!=opera", "--at-most", "4:genre", "--boost", "genre=live:1.2", "--diversity", "0.4")
    everybody = {o["user"]: ids(o) for o in lists(world, "--all-users", "-o", "-", *rules)}
    names = list(everybody)
    for name in names[::40]:
        world.check(everybody[name] == ids(lists(world, "--user", name, *rules)[0]), f"everybody's list of {name} is another")
    world.check(world.inmo("recommend", model, "--all-users", "-o", "-", *rules, "--threads", "1")[0] ==
                world.inmo("recommend", model, "--all-users", "-o", "-", *rules, "--threads", "3")[0], "threads")
    plain, diverse = (lists(world, "--user", user, "--diversity", d)[0] for d in ("0", "0.9"))
    world.check(ids(plain) == ids(best)[:10] and ids(diverse)[0] == ids(plain)[0] and ids(diverse) != ids(plain), "--diversity")

    for rule, words in ((("--where", "colour=red"), "found no column colour, expected one of itemId, title, genres, price"),
                        (("--where", "genre"), "expected COLUMN=VALUE"), (("--boost", "genre=jazz"), "COLUMN=VALUE:FACTOR"),
                        (("--at-most", "genre"), "expected N:COLUMN"), (("--diversity", "2"), "from 0 to 1")):
        world.check(words in world.inmo("recommend", model, "--user", user, "--titles", titles, *rule, code=2)[1], str(rule))
    world.check("found no titles" in world.inmo("recommend", model, "--user", user, "--where", "genre=jazz", code=2)[1], "titles")
    world.check("has no vectors" in world.inmo("recommend", os.path.join(world.small, "popular"), "--user", user, "--diversity",
                                               "0.5", code=7)[1], "diversity without vectors")


def case_shop_of_single_purchases(world):
    """As on Amazon: most customers bought once. Everybody has a list, nothing rated low or only viewed is in it, and no score
    comes from what a model was trained on."""
    world.inmo("synth", "-o", "bought.tsv", "--interactions", "4000", "--users", "3400", "--items", "150", "--times", "-q")
    rows = [line.split("\t") for line in read(world.path("bought.tsv")).decode().splitlines()]
    count = {}
    for user, *_ in rows:
        count[user] = count.get(user, 0) + 1
    world.check(sum(n == 1 for n in count.values()) > 0.8 * len(count), "not mostly single purchases: this proves nothing")
    with open(world.path("ratings.csv"), "w", encoding="utf-8") as stars, open(world.path("events.csv"), "w", encoding="utf-8") as events:
        stars.write("reviewerID,asin,overall,unixReviewTime\n")
        events.write("user,item,event\n")
        for n, (user, item, when) in enumerate(rows):
            stars.write(f"{user},{item},{(5, 4, 2, 5, 3, 1, 5)[n % 7]},{when}\n")
            events.write(f"{user},{item},{'buy' if n % 3 else 'view'}\n")
    seen = {"ratings.csv": {(row[0], row[1]) for n, row in enumerate(rows) if n % 7 in (2, 4, 5)},
            "events.csv": {(row[0], row[1]) for n, row in enumerate(rows) if n % 3 == 0}}
    for log, options in (("ratings.csv", ()), ("events.csv", ("--positive", "buy", "--seen", "view"))):
        _, told = world.inmo("prepare", log, "-o", "data", "--by", "random", *options, "--force")
        world.check("the test part is empty: nobody has enough interactions for 20 % of them to be one; --split 50/0/50" in told, told)
        _, told = world.inmo("prepare", log, "-o", "data", "--by", "random", "--split", "50/0/50", *options, "--force")
        world.check("the test part is empty" not in told, told)
        for model in ("ease", "item-knn", "inmo-mf", "popular"):
            world.inmo("train", log, "-o", "m", *options, "--model", model, "--dim", "8", "--epochs", "1", "--force", "-q")
            found = {tuple(line.split("\t")[:2])
                     for line in world.inmo("recommend", "m", "--all-users", "-o", "-", "--k", "150")[0].splitlines()}
            world.check({user for user, _ in found} == set(count), f"{log}, {model}: somebody has no list")
            world.check(seen[log] and not found & seen[log], f"{log}, {model}: something seen is listed")
            told = world.inmo("evaluate", "m", log, code=3)[1]
            world.check("nothing is left to evaluate on" in told, told)
            told = world.inmo("evaluate", "m", "data", code=3)[1]
            world.check("the model was trained on" in told, told)


def case_lists_have_the_same_keys_everywhere(world):
    """Whoever a list is for, and however it was asked for: coverage, unknown items and fallback as for one person."""
    with open(world.path("rated.csv"), "w", encoding="utf-8") as stream:
        stream.write("user,item,rating\n")
        stream.writelines(f"u{user},i{(user * n) % 40},{1 + (user + n) % 5}\n" for user in range(60) for n in range(user % 9))
        stream.write("low,i1,1\n")
    with open(world.path("deny"), "w", encoding="utf-8") as stream:
        stream.write("i3\nnothing\n")
    with open(world.path("carts.csv"), "w", encoding="utf-8") as stream:
        stream.write("user,item\nc1,i1\nc1,i2\nc1,gone\nc2,nowhere\n" + "".join(f"d{n},i{n}\n" for n in range(30)))
    for model in ("ease", "inmo-lightgcn", "mf"):
        world.inmo("train", "rated.csv", "-o", "m", "--model", model, "--dim", "8", "--epochs", "1", "--user-templates", "0.5",
                   "--item-templates", "0.5", "--force", "-q")

        def asked(*words):
            return [json.loads(line) for line in world.inmo("recommend", "m", "--json", "--deny", "deny", *words)[0].splitlines()]

        everybody = asked("--all-users", "-o", "-")
        world.check(len({tuple(sorted(one)) for one in everybody}) == 1 and any(one["fallback"] for one in everybody), str(everybody[0]))
        for one in everybody[::6] + [one for one in everybody if one["fallback"]][:2]:
            alone = asked("--user", one["user"])[0]
            world.check({**one, "items": ids(one)} == {**alone, "items": ids(alone)}, f"{model}: {one} is not {alone}")
        if model == "mf":
            continue
        for one in asked("--histories", "carts.csv"):
            history = ["i1", "i2", "gone"] if one["user"] == "c1" else ["nowhere"] if one["user"] == "c2" else ["i" + one["user"][1:]]
            alone = asked("--items", ",".join(history))[0]
            world.check({**one, "items": 0} == {**alone, "user": one["user"], "items": 0}, f"{model}: {one} is not {alone}")
        text = world.inmo("recommend", "m", "--histories", "carts.csv")[0]
        world.check("for c1: 2 of 3 items of the history are known" in text, text)


def case_pairs_that_are_denied(world):
    log = [line.split()[:2] for line in open(os.path.join(world.small, "log.tsv"), encoding="utf-8")]
    users = sorted({user for user, _ in log})
    for model in ("inmo-lightgcn", "mf", "popular"):
        best = {o["user"]: ids(o) for o in lists(world, "--all-users", "-o", "-", model=model)}
        denied = {(user, item) for n, user in enumerate(users) for item in best[user][n % 3:n % 7]}
        with open(world.path("pairs.csv"), "w", encoding="utf-8") as stream:
            stream.write("user,item\nnobody,nothing\n" + "".join(f"{user},{item}\n" for user, item in sorted(denied)))
        run = ("--deny-pairs", "pairs.csv")
        found = {o["user"]: ids(o) for o in lists(world, "--all-users", "-o", "-", *run, model=model)}
        world.check(list(found) == list(best), f"{model}: other users")
        for user in users:
            kept = [item for item in best[user] if (user, item) not in denied]
            world.check(found[user][:len(kept)] == kept and not {(user, i) for i in found[user]} & denied and len(found[user]) == len(best[user]),
                        f"{model}: {user} has {found[user]}, {best[user]} without {denied}")
        for user in users[::50]:
            world.check(ids(lists(world, "--user", user, *run, model=model)[0]) == found[user], f"{model}: {user} alone")
    path = os.path.join(world.small, "mf")
    _, err = world.inmo("recommend", path, "--user", users[0], "--deny-pairs", "pairs.csv")
    world.check(f"1 of {len(denied) + 1:,} pairs of pairs.csv have a user or an item" in err, err)
    for words, said in ((("--items", log[0][1]), "is for --user and --all-users"), (("--user", users[0], "--include-seen"), "exclude each other")):
        world.check(said in world.inmo("recommend", path, "--deny-pairs", "pairs.csv", *words, code=2)[1], said)
    world.inmo("recommend", path, "--user", users[0], "--deny-pairs", "absent.csv", code=4)
