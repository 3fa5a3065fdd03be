#!/usr/bin/env python3
"""make_golden_idcf.py - golden numbers of idcf-lightgcn, from docs/math.md.

    /usr/bin/python3 tests/golden/make_golden_idcf.py           write the files beside this script
    /usr/bin/python3 tests/golden/make_golden_idcf.py --check   compare with the files that stand there

The small world, the random numbers, the sampler and the propagation come from make_golden.py, which describes the layout of a
file; here the block is the keys, drawn as any starting parameters, and then the weights: Wq, Wk, Wv, Wout, bq, bv, bout of the
users and of the items, which are two copies of one set if attention is shared. The gradient of the keys is 0. The attention is computed head by head as IDCF is written down (queries and values
of every head), and its gradient is dense matrix algebra in reverse, in float64; a second computation goes node by node, and
central differences of it are compared. A disagreement stops the script. idcf-draws.json has samples of keys.
"""
import math
import sys

from make_golden import (BATCH, EDGES, INIT, ITEMS, ITEMS_OF, USERS, Y, backbone, below, check, error_sort, key, naive_layers,
                         normal, np, options, random, sigmoid, text, triples, unit)
import make_golden

PROVIDER_INIT, KEYS = 24, 25
HEADS, SAMPLE = 4, 50
WQ, WK, WV, WOUT = range(4)
BQ, BV, BOUT, BIASES = 0, HEADS, 2 * HEADS, 2 * HEADS + 1


def draw(k, count, repeats):
    if repeats:
        return [below(random(k, c), count) for c in range(SAMPLE)]
    if count <= SAMPLE:
        return list(range(count))
    drawn, c = [], 0
    while len(drawn) < SAMPLE:
        number = below(random(k, c), count)
        if number not in drawn:
            drawn.append(number)
        c += 1
    return drawn


def samples(o, seed, step, side):
    """Of each head: numbers of keys."""
    k = random(key(seed, KEYS), step)
    count = len(o["item_templates"]) if side else len(o["user_templates"])
    first = len(o["user_templates"]) if side else 0
    return [[first + n for n in draw(random(k, side * HEADS + h), count, o["attention"] == "shared")] for h in range(HEADS)]


def split(o, block):
    """Keys, weights [side][which][head] -> (d, d), and biases [side] -> (bq and bv of each head, bout; d)."""
    d = o["dim"]
    keys = block[: o["rows"] * d].reshape(o["rows"], d)
    sides = block[o["rows"] * d :].reshape(2, -1)
    return keys, sides[:, : 4 * HEADS * d * d].reshape(2, 4, HEADS, d, d), sides[:, 4 * HEADS * d * d :].reshape(2, BIASES, d)


def row_of(o):
    rows = {u: n for n, u in enumerate(o["user_templates"])}
    rows.update({USERS + i: len(o["user_templates"]) + n for n, i in enumerate(o["item_templates"])})
    return rows


# ---- As matrices, and in reverse ----------------------------------------------------------------------------------


def queries(o, keys):
    n_t = len(o["user_templates"])
    users = Y[:, o["item_templates"]] @ keys[n_t:]
    items = Y.T[:, o["user_templates"]] @ keys[:n_t]
    return [users, items]


def attention(o, block, seed, step):
    """e, and the function from de to the gradient of the weights."""
    keys, w, b = split(o, block)
    rows, kept = [], []
    for side, q in enumerate(queries(o, keys)):
        out, of_side = np.zeros_like(q) + b[side, BOUT], []
        for h, sample in enumerate(samples(o, seed, step, side)):
            k = keys[sample]
            query, match = q @ w[side, WQ, h].T + b[side, BQ + h], k @ w[side, WK, h].T
            value = k @ w[side, WV, h].T + b[side, BV + h]
            score = query @ match.T
            share = np.exp(score - score.max(1, keepdims=True))
            share /= share.sum(1, keepdims=True)
            answer = share @ value
            out += answer @ w[side, WOUT, h].T
            of_side.append((q, k, query, match, value, share, answer))
        rows.append(out)
        kept.append(of_side)

    def reverse(de):
        gradient, of_bias = np.zeros_like(w), np.zeros_like(b)
        for side, g in enumerate((de[:USERS], de[USERS:])):
            for h, (q, k, query, match, value, share, answer) in enumerate(kept[side]):
                danswer = g @ w[side, WOUT, h]
                dshare = danswer @ value.T
                dscore = share * (dshare - (share * dshare).sum(1, keepdims=True))
                gradient[side, WOUT, h] = g.T @ answer
                gradient[side, WV, h] = (share.T @ danswer).T @ k
                gradient[side, WQ, h] = (dscore @ match).T @ q
                gradient[side, WK, h] = (dscore.T @ query).T @ k
                of_bias[side, BQ + h] = (dscore @ match).sum(0)
                of_bias[side, BV + h] = danswer.sum(0)
            of_bias[side, BOUT] = g.sum(0)
        return gradient, of_bias

    return np.concatenate(rows), reverse


def loss_and_gradient(o, block, step, batch):
    size, G, rows = o["batch"], backbone(o["model"], o["layers"]), row_of(o)
    keys, w, _ = split(o, block)
    shared = o["attention"] == "shared"
    e, reverse = attention(o, block, o["seed"], step)
    last = [keys[samples(o, o["seed"], step, side)[-1]] for side in range(2)]
    r = G @ e
    dr, de = np.zeros_like(r), np.zeros_like(e)
    total = o["l2"] * (w[:, WQ] ** 2 + w[:, WK] ** 2).sum() / (2 if shared else 1)  # two copies of one set
    for u, p, n in batch:
        p, n = USERS + p, USERS + n
        difference = r[u] @ r[n] - r[u] @ r[p]
        total += np.logaddexp(0.0, difference) / size
        slope = sigmoid(difference) / size
        dr[u] += slope * (r[n] - r[p])
        dr[n] += slope * r[u]
        dr[p] -= slope * r[u]
        for v in (u, p, n):
            total += o["l2"] / size * (r[v] @ r[v])
            dr[v] += 2.0 * o["l2"] / size * r[v]
            if v in rows:
                others = last[0 if v < USERS else 1]
                similar = others @ e[v]
                share = np.exp(similar - similar.max())
                total += o["contrast"] / size * (similar.max() + math.log(share.sum()) - e[v] @ keys[rows[v]])
                de[v] += o["contrast"] / size * (share / share.sum() @ others - keys[rows[v]])
    gradient, of_bias = reverse(G.T @ dr + de)
    if shared:
        gradient[:], of_bias[:] = gradient.sum(0), of_bias.sum(0)
    else:
        of_bias[:] = 0.0
    gradient[:, [WQ, WK]] += 2.0 * o["l2"] * w[:, [WQ, WK]]
    sides = np.concatenate([gradient.reshape(2, -1), of_bias.reshape(2, -1)], axis=1)
    return total, np.concatenate([np.zeros(keys.size), sides.ravel()])


# ---- The naive twin: node by node --------------------------------------------------------------------------------


def naive_embedding(o, block, seed, step, side, history):
    """Of one node, whose neighbours are of the other side."""
    keys, w, b = split(o, block)
    rows, d = row_of(o), o["dim"]
    q = np.zeros(d)
    for n in history:
        q = q + (keys[rows[n]] if n in rows else 0.0)
    outputs = []
    for h, sample in enumerate(samples(o, seed, step, side)):
        weight = [math.exp(float((w[side, WQ, h] @ q + b[side, BQ + h]) @ (w[side, WK, h] @ keys[j]))) for j in sample]
        outputs.append(w[side, WV, h] @ (sum(a * keys[j] for a, j in zip(weight, sample)) / sum(weight)) + b[side, BV + h])
    whole = np.concatenate([w[side, WOUT, h] for h in range(HEADS)], axis=1)  # (d, HEADS d)
    return whole @ np.concatenate(outputs) + b[side, BOUT]


def naive_embeddings(o, block, seed, step):
    e = [naive_embedding(o, block, seed, step, 0, [USERS + i for i in ITEMS_OF[u]]) for u in range(USERS)]
    return e + [naive_embedding(o, block, seed, step, 1, [u for u in range(USERS) if Y[u, i]]) for i in range(ITEMS)]


def mean_of(layers):
    return [sum(layer[v] for layer in layers) / len(layers) for v in range(USERS + ITEMS)]


def naive_loss(o, block, step, batch):
    keys, w, _ = split(o, block)
    e, rows = naive_embeddings(o, block, o["seed"], step), row_of(o)
    r = mean_of(naive_layers(o, e))
    total = 0.0
    for u, p, n in batch:
        argument = float(r[u] @ r[USERS + n] - r[u] @ r[USERS + p])
        total += max(argument, 0.0) + math.log1p(math.exp(-abs(argument)))
        for v in (u, USERS + p, USERS + n):
            total += o["l2"] * float(r[v] @ r[v])
            if v in rows:
                sample = samples(o, o["seed"], step, 0 if v < USERS else 1)[HEADS - 1]
                similar = math.log(sum(math.exp(float(e[v] @ keys[j])) for j in sample))
                total += o["contrast"] * (similar - float(e[v] @ keys[rows[v]]))
    squares = sum(float(x) ** 2 for which in (WQ, WK) for x in (w[0, which] if o["attention"] == "shared" else w[:, which]).ravel())
    return total / o["batch"] + o["l2"] * squares


def unseen(o, block, history):
    e = naive_embedding(o, block, 0, 0, 0, [USERS + i for i in history])
    layers = naive_layers(o, naive_embeddings(o, block, 0, 0))
    degree = np.maximum(Y.sum(0), 1.0)
    for i in history:
        e = e + sum(layers[l][USERS + i] for l in range(o["layers"])) / math.sqrt(len(history) * degree[i])
    return e / (o["layers"] + 1)


# ---- Two steps of training ---------------------------------------------------------------------------------------


def start_block(o):
    d, size = o["dim"], HEADS * o["dim"] ** 2
    keys = [o["init_scale"] * normal(key(o["seed"], INIT), n) for n in range(o["rows"] * d)]
    k = key(o["seed"], PROVIDER_INIT)
    bound = [math.sqrt(6.0 / (HEADS * d if n // size % 4 == WOUT else d)) for n in range(8 * size)]
    drawn = [bound[n] * (2.0 * unit(random(k, n)) - 1.0) for n in range(8 * size)]
    users, items, biases = drawn[: 4 * size], drawn[4 * size :], [0.0] * (BIASES * d)
    return np.array(keys + users + biases + (users if o["attention"] == "shared" else items) + biases)


def train(o):
    positives = [ITEMS_OF[u] for u in range(USERS)]
    start = start_block(o)
    block, m, v, steps = start.copy(), np.zeros_like(start), np.zeros_like(start), []
    for step in range(2):
        batch = triples(o["seed"], BATCH, step, o["batch"], positives, ITEMS)
        loss, gradient = loss_and_gradient(o, block, step, batch)
        check("loss", naive_loss(o, block, step, batch), loss, 1e-11)
        numeric, h = gradient.copy(), 1e-5
        first, of_side = o["rows"] * o["dim"], (len(block) - o["rows"] * o["dim"]) // 2
        shared = o["attention"] == "shared"
        for n in range(first + step, first + of_side if shared else len(block), 5):  # of the weights every fifth
            low, high = block.copy(), block.copy()
            if not shared and (n - first) % of_side >= 4 * HEADS * o["dim"] ** 2:
                continue  # biases that are not learned
            for m_th in (n, n + of_side) if shared else (n,):  # both copies
                low[m_th] -= h
                high[m_th] += h
            numeric[n] = (naive_loss(o, high, step, batch) - naive_loss(o, low, step, batch)) / (2.0 * h)
        check("gradient", numeric, gradient, 1e-8)
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        t = step + 1
        block = block - o["learning_rate"] * (m / (1 - 0.9**t)) / (np.sqrt(v) / math.sqrt(1 - 0.999**t) + 1e-8)
        steps.append({"step": step, "epoch": step, "alpha": 1.0 - 0.5 * o["annealing"] ** step, "triples": batch,
                      "loss": {"total": loss}, "gradient": gradient})
    r = backbone(o["model"], o["layers"]) @ attention(o, block, 0, 0)[0]
    check("representations", mean_of(naive_layers(o, naive_embeddings(o, block, 0, 0))), r, 1e-12)
    check("unseen", unseen(o, block, ITEMS_OF[4]), r[4], 1e-12)
    return {"start": start, "steps": steps, "after": block, "representations": r.ravel(),
            "unseen": {"history": [1, 3, 5, 7], "representation": unseen(o, block, [1, 3, 5, 7])}}


def main():
    files = {"idcf-draws": text({"draws": [{"seed": seed, "step": step, "side": side, "head": h, "count": count, "repeats": repeats,
                                            "is": draw(random(random(key(seed, KEYS), step), side * HEADS + h), count, repeats)}
                                           for seed, step, side, h, count, repeats in
                                           ((0, 0, 0, 0, 3, False), (7, 1, 0, 3, 50, False), (7, 1, 1, 0, 51, False),
                                            (1, 9, 1, 3, 40981, False), (0, 0, 0, 0, 3, True), (1, 9, 1, 3, 40981, True))]})}
    for share, attention_is, name in ((1.0, "own", "idcf-lightgcn-d5"), (0.5, "own", "idcf-lightgcn-half-d5"),
                                      (1.0, "shared", "idcf-lightgcn-shared-d5"),
                                      (0.5, "shared", "idcf-lightgcn-shared-half-d5")):
        o = options("idcf-lightgcn", 5, share)
        users, items = error_sort(share)
        o.update({"user_templates": users, "item_templates": items, "rows": len(users) + len(items), "contrast": 0.5,
                  "init_scale": 0.5, "attention": attention_is})
        public = {k: x for k, x in o.items() if k not in ("inmo", "rows")}
        files[name] = text({**public, "edges": EDGES, **train(o)})
    return make_golden.write_or_check(files)


if __name__ == "__main__":
    sys.exit(main())
