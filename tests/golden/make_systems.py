#!/usr/bin/python3
"""make_systems.py - golden scores of the systems of their own shape (item-knn, ease, ials, gf-cf, mult-vae), from
docs/math.md.

    /usr/bin/python3 tests/golden/make_systems.py           write systems.json beside this script
    /usr/bin/python3 tests/golden/make_systems.py --check   compare with the file that stands there

Needs numpy. Dense matrices, float64, the textbook's formulas: explicit inverses, numpy's SVD, a loop for every
neighbour. 13 users (number 4 has no interaction) and 10 items (number 6 has none). Layout of the file:

    users, items, edges, history             history: items of somebody who is not in the graph
    cases[]: model, and the options that are not the library's own
      scores       (users, items) on the graph of training; null for an item that is not on offer
      unseen       (items) the scores of history
      objective    ials: of every iteration, for an observed pair; mult-vae: mean loss of every epoch's steps
"""
import json
import os
import sys

try:
    import numpy as np
except ImportError:
    print("make_systems: skipped, numpy is not installed (Debian: apt-get install python3-numpy)")
    sys.exit(77)

import make_golden as golden

USERS, ITEMS, LONELY_USER, LONELY_ITEM, SEED = 13, 10, 4, 6, 5
HISTORY = [1, 3, 8]
LATENT = 17


def interactions():
    y = np.zeros((USERS, ITEMS))
    for u in range(USERS):
        for i in range(ITEMS):
            y[u, i] = golden.unit(golden.random(golden.key(9, 99), u * ITEMS + i)) < 0.35 + 0.3 * (i % 3 == 0)
    y[LONELY_USER] = 0
    y[:, LONELY_ITEM] = 0
    return y


Y = interactions()
KNOWN_USERS = [u for u in range(USERS) if Y[u].any()]
KNOWN = [i for i in range(ITEMS) if Y[:, i].any()]
DEGREE = Y.sum(axis=0)


def item_knn(o):
    rarity = np.log(len(KNOWN) / (1 + Y.sum(axis=1)))
    user = rarity**2 if o["similarity"] in ("tf-idf", "bm25") else np.ones(USERS)
    mean = DEGREE[KNOWN].mean()

    def length(i):
        if o["similarity"] == "bm25":
            k1, b = o["bm25-k1"], o["bm25-b"]
            return (k1 * (1 - b + b * DEGREE[i] / mean) + 1) / (k1 + 1)
        return np.sqrt(user @ Y[:, i])

    weight = np.zeros((ITEMS, ITEMS))  # [j, i]: what j gives to i
    for i in KNOWN:
        near = []
        for j in KNOWN:
            common = float((user * Y[:, i]) @ Y[:, j])
            size = DEGREE[i] + DEGREE[j] - common if o["similarity"] == "jaccard" else length(i) * length(j)
            if j != i and common > 0:
                near.append((-common / (size + o["shrinkage"]), j))
        for minus, j in sorted(near)[:o["neighbours"]]:
            weight[j, i] = -minus
    return lambda h: h @ weight


def ease(o):
    kept = sorted(sorted(KNOWN, key=lambda i: (-DEGREE[i], i))[:o["most-items"] or ITEMS])
    x = Y[:, kept]
    p = np.linalg.inv(x.T @ x + o["l2"] * np.eye(len(kept)))
    b = -p / np.diag(p)[None, :]
    np.fill_diagonal(b, 0)
    weight = np.zeros((ITEMS, ITEMS))
    weight[np.ix_(kept, kept)] = b
    closed = [i for i in range(ITEMS) if i not in kept]

    def score(h):
        s = h @ weight
        s[..., closed] = np.nan
        return s

    return score


def gf_cf(o):
    root = np.sqrt(np.maximum(DEGREE, 1))
    r = Y / np.sqrt(np.maximum(Y.sum(axis=1), 1))[:, None] / root[None, :]
    v = np.linalg.svd(r)[2][:o["dim"]].T
    weight = r.T @ r + o["low-pass"] * (v / root[:, None]) @ (v * root[:, None]).T
    return lambda h: h @ weight


def ials(o):
    """Items with training interactions only, in order: their numbers are those of the model."""
    x, d = Y[np.ix_(KNOWN_USERS, KNOWN)], o["dim"]
    a0, l2, nu = (float(np.float32(o[k])) for k in ("unobserved", "l2", "l2-exponent"))
    start = golden.key(o["seed"], golden.INIT)
    item = np.array([0.1 / np.sqrt(d) * golden.normal(start, n) for n in range(len(KNOWN) * d)]).reshape(-1, d)

    def solve(rows, other):
        out = np.zeros((len(rows), d))
        for n, row in enumerate(rows):
            near = other[row > 0]
            weight = l2 * (row.sum() + a0 * len(other)) ** nu
            if len(near):
                out[n] = np.linalg.solve(near.T @ near + a0 * other.T @ other + weight * np.eye(d), near.sum(axis=0))
        return out

    losses = []
    for _ in range(o["epochs"]):
        user = solve(x, item)
        item = solve(x.T, user)
        s = user @ item.T
        norms = l2 * (((x.sum(axis=1) + a0 * len(item)) ** nu * (user ** 2).sum(axis=1)).sum() +
                      ((x.sum(axis=0) + a0 * len(user)) ** nu * (item ** 2).sum(axis=1)).sum())
        losses.append(float((((s - 1) ** 2)[x > 0].sum() + a0 * (s ** 2).sum() + norms) / x.sum()))

    def score(h):
        rows = np.atleast_2d(h)
        s = np.full(rows.shape, np.nan)
        s[:, KNOWN] = solve(rows[:, KNOWN], item) @ item.T
        return s.reshape(np.shape(h))

    score.losses = losses
    return score


class Network:
    """mult-vae's layers: forward, and the gradient by the chain rule on whole matrices."""

    def __init__(self, items, d, seed):
        z = (d + 1) // 2
        shapes = {"in": (items, d), "in_bias": (d,), "code": (2 * z, d), "code_bias": (2 * z,), "back": (d, z),
                  "back_bias": (d,), "out": (items, d), "out_bias": (items,)}
        inputs = {"in": items, "code": d, "back": z, "out": d}
        start, n = golden.key(seed, golden.INIT), 0
        self.z, self.w = z, {}
        for name, shape in shapes.items():
            size, bound = int(np.prod(shape)), np.sqrt(6 / inputs[name]) if name in inputs else 0
            self.w[name] = np.array([bound * (2 * golden.unit(golden.random(start, n + k)) - 1) for k in range(size)])
            self.w[name] = self.w[name].reshape(shape)
            n += size
        self.m = {name: np.zeros_like(x) for name, x in self.w.items()}
        self.v = {name: np.zeros_like(x) for name, x in self.w.items()}

    def code(self, x):
        first = np.tanh(x @ self.w["in"] + self.w["in_bias"])
        return first, first @ self.w["code"].T + self.w["code_bias"]

    def decode(self, sample):
        last = np.tanh(sample @ self.w["back"].T + self.w["back_bias"])
        return last, last @ self.w["out"].T + self.w["out_bias"]

    def step(self, x, taken, noise, kl, l2, rate, t):
        w, z, count = self.w, self.z, len(x)
        first, code = self.code(x)
        mean, log_variance = code[:, :z], code[:, z:]
        sample = mean + noise * np.exp(log_variance / 2)
        last, s = self.decode(sample)
        softmax = np.exp(s) / np.exp(s).sum(axis=1, keepdims=True)
        loss = (-(taken * np.log(softmax)).sum() +
                kl * 0.5 * (np.exp(log_variance) + mean ** 2 - 1 - log_variance).sum()) / count
        loss += l2 * sum((w[name] ** 2).sum() for name in ("in", "code", "back", "out"))
        ds = (taken.sum(axis=1, keepdims=True) * softmax - taken) / count
        dlast = (ds @ w["out"]) * (1 - last ** 2)
        dsample = dlast @ w["back"]
        dcode = np.hstack([dsample + kl * mean / count,
                           dsample * noise * np.exp(log_variance / 2) / 2 + kl * (np.exp(log_variance) - 1) / 2 / count])
        dfirst = (dcode @ w["code"]) * (1 - first ** 2)
        gradient = {"in": x.T @ dfirst + 2 * l2 * w["in"], "in_bias": dfirst.sum(axis=0),
                    "code": dcode.T @ first + 2 * l2 * w["code"], "code_bias": dcode.sum(axis=0),
                    "back": dlast.T @ sample + 2 * l2 * w["back"], "back_bias": dlast.sum(axis=0),
                    "out": ds.T @ last + 2 * l2 * w["out"], "out_bias": ds.sum(axis=0)}
        for name, g in gradient.items():
            self.m[name] = 0.9 * self.m[name] + 0.1 * g
            self.v[name] = 0.999 * self.v[name] + 0.001 * g * g
            w[name] -= rate * self.m[name] / (1 - 0.9 ** t) / (np.sqrt(self.v[name] / (1 - 0.999 ** t)) + 1e-8)
        return loss


def mult_vae(o):
    x, net = Y[np.ix_(KNOWN_USERS, KNOWN)], Network(len(KNOWN), o["dim"], o["seed"])
    seed, step, losses = o["seed"], 0, []
    for epoch in range(o["epochs"]):
        base, order = golden.random(golden.key(seed, golden.BATCH), epoch), list(range(len(x)))
        for j in range(len(x) - 1, 0, -1):
            other = golden.below(golden.random(base, j), j + 1)
            order[j], order[other] = order[other], order[j]
        parts, kl = [], o.get("temperature", 1) * min(0.2, epoch / 1000)
        for first in range(0, len(x), o["batch"]):
            who = order[first:first + o["batch"]]
            kept = np.array([[golden.kept(seed, golden.DROP_USER, step, u, i, o["dropout"]) for i in range(x.shape[1])]
                             for u in who])
            row = x[who] / np.sqrt(x[who].sum(axis=1, keepdims=True)) * kept / (1 - o["dropout"])
            latent = golden.random(golden.key(seed, LATENT), step)
            noise = np.array([[golden.normal(latent, u * net.z + j) for j in range(net.z)] for u in who])
            step += 1
            parts.append(net.step(row, x[who], noise, kl, o["l2"], o["learning-rate"], step))
        losses.append(float(np.mean(parts)))

    def score(h):
        rows = np.atleast_2d(h)
        s, known = np.full(rows.shape, np.nan), rows[:, KNOWN]
        code = net.code(known / np.sqrt(np.maximum(known.sum(axis=1, keepdims=True), 1)))[1]
        s[:, KNOWN] = net.decode(code[:, :net.z])[1]
        return s.reshape(np.shape(h))

    score.losses = losses
    return score


SYSTEMS = {"item-knn": item_knn, "ease": ease, "gf-cf": gf_cf, "ials": ials, "mult-vae": mult_vae}
CASES = [
    {"model": "item-knn", "similarity": "cosine", "shrinkage": 0.0, "neighbours": 3},
    {"model": "item-knn", "similarity": "jaccard", "shrinkage": 2.5, "neighbours": 2},
    {"model": "item-knn", "similarity": "cosine", "shrinkage": 10.0, "neighbours": 100},
    {"model": "item-knn", "similarity": "tf-idf", "shrinkage": 1.5, "neighbours": 4},
    {"model": "item-knn", "similarity": "bm25", "shrinkage": 0.0, "neighbours": 4, "bm25-k1": 1.2, "bm25-b": 0.75},
    {"model": "item-knn", "similarity": "bm25", "shrinkage": 0.5, "neighbours": 3, "bm25-k1": 20.0, "bm25-b": 0.3},
    {"model": "ease", "l2": 2.0, "most-items": 0},
    {"model": "ease", "l2": 0.5, "most-items": 5},
    {"model": "gf-cf", "dim": 3, "low-pass": 0.3},
    {"model": "gf-cf", "dim": 4, "low-pass": 2.0},
    {"model": "ials", "dim": 3, "unobserved": 0.2, "l2": 0.05, "l2-exponent": 1.0, "epochs": 3, "seed": SEED},
    {"model": "ials", "dim": 8, "unobserved": 0.05, "l2": 0.3, "l2-exponent": 0.5, "epochs": 2, "seed": SEED},
    {"model": "mult-vae", "dim": 4, "learning-rate": 0.01, "l2": 0.01, "dropout": 0.0, "batch": 5, "epochs": 3,
     "schedule": "constant", "seed": SEED},
    {"model": "mult-vae", "dim": 7, "learning-rate": 0.02, "l2": 0.001, "dropout": 0.4, "batch": 512, "epochs": 4,
     "schedule": "constant", "seed": SEED},
    {"model": "mult-vae", "dim": 4, "learning-rate": 0.02, "l2": 0.001, "dropout": 0.0, "batch": 512, "epochs": 4,
     "temperature": 100.0, "schedule": "constant", "seed": SEED},
]


def numbers(array):
    return [None if np.isnan(x) else float(x) for x in array]


def main():
    h = np.zeros(ITEMS)
    h[HISTORY] = 1
    cases = []
    for o in CASES:
        score = SYSTEMS[o["model"]](o)
        scores, unseen = score(Y), score(h)
        if o["model"] == "item-knn":  # an item without interactions is not on offer
            scores[:, LONELY_ITEM] = unseen[LONELY_ITEM] = np.nan
        cases.append({**o, "scores": [numbers(row) for row in scores], "unseen": numbers(unseen),
                      "objective": getattr(score, "losses", [])})
    edges = [[int(u), int(i)] for u, i in zip(*np.nonzero(Y))]
    content = golden.text({"users": USERS, "items": ITEMS, "edges": edges, "history": HISTORY, "cases": cases})
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), "systems.json")
    if sys.argv[1:] == ["--check"]:
        with open(path, encoding="utf-8") as file:
            if not golden.same(json.load(file), json.loads(content)):
                print(f"make_systems: {path} is not what docs/math.md gives", file=sys.stderr)
                return 1
    else:
        with open(path, "w", encoding="utf-8") as file:
            file.write(content + "\n")
    print(f"make_systems: {len(cases)} cases, {len(content) / 1024:.0f} KB")
    return 0


if __name__ == "__main__":
    sys.exit(main())
