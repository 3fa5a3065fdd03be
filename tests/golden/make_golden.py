#!/usr/bin/python3
"""make_golden.py - computes the golden numbers of tests/golden/*.json again, from docs/math.md alone.

    /usr/bin/python3 tests/golden/make_golden.py           write the files beside this script
    /usr/bin/python3 tests/golden/make_golden.py --check   compare with the files that stand there

Needs Python 3 and numpy (Debian: apt-get install python3-numpy); takes some seconds. It shares no code with the
library: the graph is dense matrices, all numbers are float64, and the gradient is matrix algebra

    r = G P T         P: the provider as a matrix over the parameter rows T (dropped and scaled), or the identity
    dL/dT = P' G' R   G: the backbone as a matrix over the nodes, R: dL/dr

which is compared here with central differences of a second, deliberately naive forward computation that follows
the sums of docs/math.md term by term. A disagreement stops the script.

One file is one model with one embedding size: two training steps of B = 16 triples on 7 users (number 3 has no
interaction) and 9 items (number 5 has none), 16 interactions, so that an epoch is one step and step 1 has the alpha
of epoch 1. Layout of a file:

    model, users, items, dim, layers, seed, batch, learning_rate, l2, dropout, self_weight, annealing, init_scale
    user_share, item_share                  the template options of inmo models
    edges                                   [[user, item], ...] ascending
    user_templates, item_templates          numbers, ascending (empty for lookup models)
    start                                   the parameter block: lookup, (users + items, dim); inmo, (n_t + m_t + 2,
                                            dim) and then w (dim)
    steps[]: step, epoch, alpha
      triples, self_triples                 [[u, p, n], ...]; self triples hold positions in the template lists
      kept_user, kept_item                  0/1 for each edge: kept in the sum of e_u, of e_i (inmo)
      kept_t_user, kept_t_item              0/1 for each user, each item: its general term kept (inmo)
      loss                                  bpr, self (times self_weight), l2 (times l2), total
      gradient                              of the block before the step
    after                                   the block after both steps
    representations                         of `after`, outside training with alpha 1, (users + items, dim)
    unseen                                  history and representation of a person outside the graph (inmo)

random.json has single values of the random numbers; 64-bit ones are hexadecimal strings.
"""
import json
import math
import os
import sys

try:
    import numpy as np
except ImportError:
    print("make_golden: skipped, numpy is not installed (Debian: apt-get install python3-numpy)")
    sys.exit(77)

M64 = (1 << 64) - 1
M32 = (1 << 32) - 1
INIT, BATCH, SELF_BATCH, DROP_USER, DROP_ITEM = 1, 2, 3, 4, 5
GENERAL = 0xFFFFFFFF

# ---- Random numbers (docs/math.md, "Random numbers") ---------------------------------------------------------


def mix(x):
    x = (x + 0x9E3779B97F4A7C15) & M64
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & M64
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & M64
    return x ^ (x >> 31)


def key(seed, stream):
    return mix(mix(seed) ^ ((stream * 0xD1342543DE82EF95) & M64))


def random(k, counter):
    return mix(k ^ ((counter * 0xA0761D6478BD642F + 0x2545F4914F6CDD1D) & M64))


def below(bits, n):
    return (bits * n) >> 64


def unit(bits):
    return (bits >> 11) * 2.0**-53


def normal(k, c):
    radius = math.sqrt(-2.0 * math.log(1.0 - unit(random(k, 2 * c))))
    return radius * math.cos(2.0 * math.pi * unit(random(k, 2 * c + 1)))


def fmix32(h):
    h ^= h >> 16
    h = (h * 0x85EBCA6B) & M32
    h ^= h >> 13
    h = (h * 0xC2B2AE35) & M32
    return h ^ (h >> 16)


def kept(seed, stream, step, u, i, p):
    if p == 0:
        return True
    drop_key = random(key(seed, stream), step) & M32
    return fmix32((u * 0x9E3779B1 + i * 0x85EBCA77 + drop_key) & M32) >= math.floor(p * 2.0**32)


# ---- The small world ---------------------------------------------------------------------------------------

USERS, ITEMS = 7, 9
ITEMS_OF = {0: [0, 1, 2, 4, 7], 1: [2], 2: [1, 2, 8], 3: [], 4: [0, 2, 3, 4, 6], 5: [2], 6: [7]}
EDGES = [(u, i) for u in range(USERS) for i in ITEMS_OF[u]]
Y = np.zeros((USERS, ITEMS))
for u_, i_ in EDGES:
    Y[u_, i_] = 1.0


def error_sort(ratio):
    """The two template lists: the floor(r n) highest of sum 1/d, at least one, of the n with an interaction."""
    user_degree, item_degree = Y.sum(1), Y.sum(0)
    user_score = [sum(1.0 / item_degree[i] for i in range(ITEMS) if Y[u, i]) for u in range(USERS)]
    item_score = [sum(1.0 / user_degree[u] for u in range(USERS) if Y[u, i]) for i in range(ITEMS)]

    def top(score, degree):
        ranked = sorted((n for n in range(len(score)) if degree[n] > 0), key=lambda n: (-score[n], n))
        return sorted(ranked[: max(1, math.floor(ratio * len(ranked) + 1e-9))])

    return top(user_score, user_degree), top(item_score, item_degree)


# ---- The sampler -----------------------------------------------------------------------------------------


def triples(seed, stream, step, batch, positives, candidates):
    """positives: list of ascending lists; row numbers with none or all of the candidates are never drawn."""
    rows = [u for u, have in enumerate(positives) if 0 < len(have) < candidates]
    out = []
    for b in range(batch):
        base = random(key(seed, stream), step * batch + b)
        u = rows[below(random(base, 0), len(rows))]
        p = positives[u][below(random(base, 1), len(positives[u]))]
        draw = 2
        n = below(random(base, draw), candidates)
        while n in positives[u]:
            draw += 1
            n = below(random(base, draw), candidates)
        out.append((u, p, n))
    return out


# ---- Backbone and provider as matrices -------------------------------------------------------------------


def backbone(model, layers):
    nodes = USERS + ITEMS
    if model.endswith("mf"):
        return np.eye(nodes)
    adjacency = np.zeros((nodes, nodes))
    adjacency[:USERS, USERS:] = Y
    adjacency[USERS:, :USERS] = Y.T
    scale = np.diag(np.maximum(adjacency.sum(1), 1.0) ** -0.5)
    operator = scale @ adjacency @ scale
    return sum(np.linalg.matrix_power(operator, l) for l in range(layers + 1)) / (layers + 1)


def provider(o, alpha, step):
    """P, (users + items, rows of the parameter block without w). step None: outside training, nothing dropped."""
    if not o["inmo"]:
        return np.eye(USERS + ITEMS)
    tu, ti = o["user_templates"], o["item_templates"]
    p = 0.0 if step is None else o["dropout"]
    matrix = np.zeros((USERS + ITEMS, len(tu) + len(ti) + 2))
    for u in range(USERS):
        mine = [i for i in ITEMS_OF[u] if i in ti]
        weight = 1.0 / (1.0 - p) / (len(mine) + 1.0) ** alpha
        for i in mine:
            if kept(o["seed"], DROP_USER, step, u, i, p):
                matrix[u, len(tu) + ti.index(i)] = weight
        if kept(o["seed"], DROP_USER, step, u, GENERAL, p):
            matrix[u, len(tu) + len(ti)] = weight
    for i in range(ITEMS):
        mine = [u for u in tu if Y[u, i]]
        weight = 1.0 / (1.0 - p) / (len(mine) + 1.0) ** alpha
        for u in mine:
            if kept(o["seed"], DROP_ITEM, step, u, i, p):
                matrix[USERS + i, tu.index(u)] = weight
        if kept(o["seed"], DROP_ITEM, step, GENERAL, i, p):
            matrix[USERS + i, len(tu) + len(ti) + 1] = weight
    return matrix


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


def loss_and_gradient(o, block, step, alpha, batch, self_batch):
    d, n_t, size = o["dim"], len(o["user_templates"]), o["batch"]
    table = block[: o["rows"] * d].reshape(o["rows"], d)
    w = block[o["rows"] * d :]
    P, G = provider(o, alpha, step), backbone(o["model"], o["layers"])
    e = P @ table
    r = G @ e
    de, dr = np.zeros_like(e), np.zeros_like(r)
    x, dx = (r, dr) if o["inmo"] else (e, de)
    bpr = self_loss = l2 = 0.0
    for u, p, n in batch:
        p, n = USERS + p, USERS + n
        difference = r[u] @ r[n] - r[u] @ r[p]
        bpr += np.logaddexp(0.0, difference) / size
        slope = sigmoid(difference) / size
        dr[u] += slope * (r[n] - r[p])
        dr[n] += slope * r[u]
        dr[p] -= slope * r[u]
        for v in (u, p, n):
            l2 += o["l2"] / size * (x[v] @ x[v])
            dx[v] += 2.0 * o["l2"] / size * x[v]
    dtable = P.T @ (G.T @ dr + de)
    dw = np.zeros_like(w)
    for u, p, n in self_batch:
        t_u, t_p, t_n = table[u], table[n_t + p], table[n_t + n]
        difference = t_u @ (w * t_n) - t_u @ (w * t_p)
        self_loss += o["self_weight"] / size * np.logaddexp(0.0, difference)
        slope = o["self_weight"] / size * sigmoid(difference)
        dw += slope * t_u * (t_n - t_p)
        dtable[u] += slope * w * (t_n - t_p)
        dtable[n_t + n] += slope * w * t_u
        dtable[n_t + p] -= slope * w * t_u
    loss = {"bpr": bpr, "self": self_loss, "l2": l2, "total": bpr + self_loss + l2}
    return loss, np.concatenate([dtable.ravel(), dw])


# ---- The naive twin: the sums of docs/math.md, term by term ------------------------------------------------


def naive_embeddings(o, block, step, alpha):
    d, tu, ti = o["dim"], o["user_templates"], o["item_templates"]
    row = [block[n * d : (n + 1) * d] for n in range(o["rows"])]
    if not o["inmo"]:
        return row
    p = 0.0 if step is None else o["dropout"]
    scale = 1.0 / (1.0 - p)
    e = []
    for u in range(USERS):
        total, count = np.zeros(d), 0
        for place, i in enumerate(ti):
            if (u, i) in EDGES:
                count += 1
                if kept(o["seed"], DROP_USER, step, u, i, p):
                    total = total + scale * row[len(tu) + place]
        if kept(o["seed"], DROP_USER, step, u, GENERAL, p):
            total = total + scale * row[len(tu) + len(ti)]
        e.append(total / (count + 1) ** alpha)
    for i in range(ITEMS):
        total, count = np.zeros(d), 0
        for place, u in enumerate(tu):
            if (u, i) in EDGES:
                count += 1
                if kept(o["seed"], DROP_ITEM, step, u, i, p):
                    total = total + scale * row[place]
        if kept(o["seed"], DROP_ITEM, step, GENERAL, i, p):
            total = total + scale * row[len(tu) + len(ti) + 1]
        e.append(total / (count + 1) ** alpha)
    return e


def naive_layers(o, e):
    """[r^0, ..., r^K] (mf: r^0 alone)."""
    out = [e]
    if o["model"].endswith("mf"):
        return out
    neighbours = [[USERS + i for u, i in EDGES if u == v] for v in range(USERS)]
    neighbours += [[u for u, i in EDGES if i == v] for v in range(ITEMS)]
    for _ in range(o["layers"]):
        last, fresh = out[-1], []
        for v, around in enumerate(neighbours):
            total = np.zeros(o["dim"])
            for other in around:
                total = total + last[other] / math.sqrt(len(around) * len(neighbours[other]))
            fresh.append(total)
        out.append(fresh)
    return out


def naive_representations(o, block, step, alpha):
    layers = naive_layers(o, naive_embeddings(o, block, step, alpha))
    return [sum(layer[v] for layer in layers) / len(layers) for v in range(USERS + ITEMS)]


def naive_loss(o, block, step, alpha, batch, self_batch):
    e = naive_embeddings(o, block, step, alpha)
    layers = naive_layers(o, e)
    r = [sum(layer[v] for layer in layers) / len(layers) for v in range(USERS + ITEMS)]
    x = r if o["inmo"] else e
    total = 0.0
    for u, p, n in batch:
        argument = float(r[u] @ r[USERS + n] - r[u] @ r[USERS + p])
        total += max(argument, 0.0) + math.log1p(math.exp(-abs(argument)))
        total += o["l2"] * sum(float(x[v] @ x[v]) for v in (u, USERS + p, USERS + n))
    d, n_t = o["dim"], len(o["user_templates"])
    w = block[o["rows"] * d :]
    for u, p, n in self_batch:
        t_u, t_p, t_n = (block[v * d : (v + 1) * d] for v in (u, n_t + p, n_t + n))
        argument = sum(t_u[k] * w[k] * (t_n[k] - t_p[k]) for k in range(d))
        total += o["self_weight"] * (max(argument, 0.0) + math.log1p(math.exp(-abs(argument))))
    return total / o["batch"]


def unseen(o, block, history):
    """"Cold-start users" of docs/math.md, alpha 1, naive."""
    d, tu, ti = o["dim"], o["user_templates"], o["item_templates"]
    row = [block[n * d : (n + 1) * d] for n in range(o["rows"])]
    mine = [i for i in history if i in ti]
    e = (sum((row[len(tu) + ti.index(i)] for i in mine), np.zeros(d)) + row[len(tu) + len(ti)]) / (len(mine) + 1)
    if o["model"].endswith("mf"):
        return e
    layers = naive_layers(o, naive_embeddings(o, block, None, 1.0))
    degree = np.maximum(Y.sum(0), 1.0)
    r = e
    for i in history:
        below_top = sum(layers[l][USERS + i] for l in range(o["layers"]))
        r = r + below_top / math.sqrt(len(history) * degree[i])
    return r / (o["layers"] + 1)


def check(what, found, expected, tolerance):
    worst = float(np.max(np.abs(np.asarray(found) - np.asarray(expected))))
    if not worst <= tolerance:
        sys.exit(f"make_golden: {what}: the two computations differ by {worst:g}")


# ---- Two steps of training --------------------------------------------------------------------------------


def train(o):
    d, seed = o["dim"], o["seed"]
    start = np.array([o["init_scale"] * normal(key(seed, INIT), n) for n in range(o["rows"] * d)])
    if o["inmo"]:
        start = np.concatenate([start, np.ones(d)])
    positives = [ITEMS_OF[u] for u in range(USERS)]
    self_positives = [[o["item_templates"].index(i) for i in ITEMS_OF[u] if i in o["item_templates"]]
                      for u in o["user_templates"]]
    block, m, v = start.copy(), np.zeros_like(start), np.zeros_like(start)
    steps = []
    for step in range(2):
        epoch = step // math.ceil(len(EDGES) / o["batch"])
        alpha = 1.0 - 0.5 * o["annealing"] ** epoch
        batch = triples(seed, BATCH, step, o["batch"], positives, ITEMS)
        self_batch = []
        if o["inmo"]:
            self_batch = triples(seed, SELF_BATCH, step, o["batch"], self_positives, len(o["item_templates"]))
        loss, gradient = loss_and_gradient(o, block, step, alpha, batch, self_batch)

        arguments = (step, alpha, batch, self_batch)
        check("loss", naive_loss(o, block, *arguments), loss["total"], 1e-12)
        numeric, h = np.zeros_like(block), 1e-4
        for n in range(len(block)):
            low, high = block.copy(), block.copy()
            low[n] -= h
            high[n] += h
            numeric[n] = (naive_loss(o, high, *arguments) - naive_loss(o, low, *arguments)) / (2.0 * h)
        check("gradient", numeric, gradient, 1e-9)

        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        t = step + 1
        block = block - o["learning_rate"] * (m / (1 - 0.9**t)) / (np.sqrt(v) / math.sqrt(1 - 0.999**t) + 1e-8)

        record = {"step": step, "epoch": epoch, "alpha": alpha, "triples": batch, "self_triples": self_batch}
        if o["inmo"]:
            p = o["dropout"]
            record["kept_user"] = [int(kept(seed, DROP_USER, step, u, i, p)) for u, i in EDGES]
            record["kept_item"] = [int(kept(seed, DROP_ITEM, step, u, i, p)) for u, i in EDGES]
            record["kept_t_user"] = [int(kept(seed, DROP_USER, step, u, GENERAL, p)) for u in range(USERS)]
            record["kept_t_item"] = [int(kept(seed, DROP_ITEM, step, GENERAL, i, p)) for i in range(ITEMS)]
        record["loss"] = loss
        record["gradient"] = gradient
        steps.append(record)

    table = block[: o["rows"] * d].reshape(o["rows"], d)
    r = backbone(o["model"], o["layers"]) @ provider(o, 1.0, None) @ table
    check("representations", naive_representations(o, block, None, 1.0), r, 1e-12)
    result = {"start": start, "steps": steps, "after": block, "representations": r.ravel()}
    if o["inmo"]:
        # A user of the graph, asked for as if unseen, has the same representation.
        check("unseen", unseen(o, block, ITEMS_OF[4]), r[4], 1e-12)
        result["unseen"] = {"history": [1, 3, 5, 7], "representation": unseen(o, block, [1, 3, 5, 7])}
    return result


def options(model, dim, share):
    inmo = model.startswith("inmo-")
    user_templates, item_templates = error_sort(share) if inmo else ([], [])
    return {
        "model": model, "inmo": inmo, "users": USERS, "items": ITEMS, "dim": dim, "layers": 3, "seed": 7, "batch": 16,
        "learning_rate": 0.01, "l2": 0.01, "dropout": 0.3 if inmo else 0.0, "self_weight": 0.5 if inmo else 0.0,
        "annealing": 0.8, "init_scale": 0.1, "user_share": share, "item_share": share,
        "user_templates": user_templates, "item_templates": item_templates,
        "rows": len(user_templates) + len(item_templates) + 2 if inmo else USERS + ITEMS,
    }


# ---- Files -----------------------------------------------------------------------------------------------


def text(value):
    """JSON with one key a line down to the lists, which stay on theirs; floats with 9 digits."""
    if isinstance(value, dict):
        return "{" + ",\n".join(f"{json.dumps(k)}: {text(x)}" for k, x in value.items()) + "}"
    if isinstance(value, (list, tuple, np.ndarray)):
        inner = [text(x) for x in value]
        joint = ",\n" if inner and inner[0].startswith("{") else ","
        return "[" + joint.join(inner) + "]"
    if isinstance(value, float):
        return f"{value:.9g}" if value != int(value) else f"{value:.1f}"
    return json.dumps(value)


def random_values():
    def hexadecimal(x):
        return f"{x:016x}"

    out = {"key": [], "random": [], "below": [], "normal": [], "fmix32": [], "kept": []}
    for seed in (0, 1, 7, 0x123456789ABCDEF):
        for stream in (1, 4, 10):
            out["key"].append({"seed": hexadecimal(seed), "stream": stream, "is": hexadecimal(key(seed, stream))})
    for c in (0, 1, 2, 1000003, 1 << 40):
        bits = random(key(7, 2), c)
        out["random"].append({"seed": 7, "stream": 2, "counter": c, "is": hexadecimal(bits)})
        out["below"].append({"bits": hexadecimal(bits), "n": 40981, "is": below(bits, 40981)})
        out["normal"].append({"seed": 7, "stream": 1, "counter": c, "is": normal(key(7, 1), c)})
    for h in (0, 1, 0xDEADBEEF, M32):
        out["fmix32"].append({"of": h, "is": fmix32(h)})
    for step in (0, 1, 12345):
        for u, i in ((0, 0), (29857, 40980), (17, GENERAL), (GENERAL, 17)):
            for stream in (DROP_USER, DROP_ITEM):
                out["kept"].append({"seed": 7, "stream": stream, "step": step, "u": u, "i": i, "p": 0.3,
                                    "is": int(kept(7, stream, step, u, i, 0.3))})
    return out


def same(a, b):
    if isinstance(a, dict):
        return isinstance(b, dict) and a.keys() == b.keys() and all(same(a[k], b[k]) for k in a)
    if isinstance(a, list):
        return isinstance(b, list) and len(a) == len(b) and all(map(same, a, b))
    if isinstance(a, float) or isinstance(b, float):
        return math.isclose(a, b, rel_tol=1e-7, abs_tol=1e-12)
    return a == b


def main():
    files = {"random": text(random_values())}
    for dim in (5, 32):
        for model, share in (("mf", 1.0), ("lightgcn", 1.0), ("inmo-mf", 1.0), ("inmo-lightgcn", 1.0),
                             ("inmo-mf", 0.5), ("inmo-lightgcn", 0.5)):
            o = options(model, dim, share)
            result = train(o)
            public = {k: x for k, x in o.items() if k not in ("inmo", "rows")}
            name = f"{model}-d{dim}" if share == 1.0 else f"{model}-half-d{dim}"
            files[name] = text({**public, "edges": EDGES, **result})
    return write_or_check(files)


def write_or_check(files):
    folder = os.path.dirname(os.path.abspath(__file__))
    wrong = 0
    for name, content in files.items():
        path = os.path.join(folder, name + ".json")
        if sys.argv[1:] == ["--check"]:
            with open(path, encoding="utf-8") as file:
                if not same(json.load(file), json.loads(content)):
                    print(f"make_golden: {path} is not what docs/math.md gives", file=sys.stderr)
                    wrong = 1
        else:
            with open(path, "w", encoding="utf-8") as file:
                file.write(content + "\n")
    print(f"make_golden: {len(files)} files, {sum(map(len, files.values())) / 1024:.0f} KB")
    return wrong


if __name__ == "__main__":
    sys.exit(main())
