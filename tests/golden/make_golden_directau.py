#!/usr/bin/env python3
"""make_golden_directau.py - golden numbers of the loss directau (alignment and uniformity), from docs/math.md.

    /usr/bin/python3 tests/golden/make_golden_directau.py           write the files beside this script
    /usr/bin/python3 tests/golden/make_golden_directau.py --check   compare with the files that stand there

The small world, the random numbers, the sampler, provider and backbone as matrices come from make_golden.py, which
describes the layout of a file; here a file also has gamma, and of a step's triples the loss uses user and positive alone.
The gradient is that of the distances on the sphere, pair by pair, in float64; it is compared with central differences of a
forward computation that goes number by number. A disagreement stops the script.
"""
import math
import sys

from make_golden import (BATCH, EDGES, INIT, ITEMS, ITEMS_OF, SELF_BATCH, USERS, backbone, check, key, naive_layers,
                         naive_embeddings, normal, np, options, provider, sigmoid, text, triples)
import make_golden

GAMMA = 0.3


def loss_and_gradient(o, block, step, alpha, batch, self_batch):
    d, n_t, size = o["dim"], len(o["user_templates"]), o["batch"]
    table, w = block[: o["rows"] * d].reshape(o["rows"], d), block[o["rows"] * d :]
    P, G = provider(o, alpha, step), backbone(o["model"], o["layers"])
    e = P @ table
    r = G @ e
    de, dr = np.zeros_like(e), np.zeros_like(r)
    x, dx = (r, dr) if o["inmo"] else (e, de)
    sides = [[u for u, _, _ in batch], [USERS + p for _, p, _ in batch]]
    norm = np.linalg.norm(r, axis=1)
    unit = [np.array([r[v] / norm[v] if norm[v] > 0 else r[v] for v in side]) for side in sides]
    dunit = [np.zeros_like(side) for side in unit]
    difference = unit[0] - unit[1]
    total = float(np.sum(2 - 2 * np.sum(unit[0] * unit[1], axis=1))) / size
    dunit[0] += 2 * difference / size
    dunit[1] -= 2 * difference / size
    for side in range(2):
        apart = unit[side][:, None, :] - unit[side][None, :, :]  # (b, c, d)
        weight = np.exp(-2 * (2 - 2 * unit[side] @ unit[side].T))
        np.fill_diagonal(weight, 0.0)
        total += GAMMA / 2 * math.log(weight.sum() / (size * (size - 1)))
        # both b and c of a pair are moved: twice what the rows say
        dunit[side] += GAMMA / 2 / weight.sum() * 2 * -4 * np.einsum("bc,bcd->bd", weight, apart)
        for b, v in enumerate(sides[side]):
            g = dunit[side][b]
            if norm[v] > 0:
                dr[v] += (g - (g @ unit[side][b]) * unit[side][b]) / norm[v]
            total += o["l2"] / size * (x[v] @ x[v])
            dx[v] += 2 * o["l2"] / size * x[v]
    dtable, dw = P.T @ (G.T @ dr + de), np.zeros_like(w)
    for u, p, n in self_batch:
        t_u, t_p, t_n = table[u], table[n_t + p], table[n_t + n]
        argument = t_u @ (w * t_n) - t_u @ (w * t_p)
        total += o["self_weight"] / size * np.logaddexp(0.0, argument)
        slope = o["self_weight"] / size * sigmoid(argument)
        dw += slope * t_u * (t_n - t_p)
        dtable[u] += slope * w * (t_n - t_p)
        dtable[n_t + n] += slope * w * t_u
        dtable[n_t + p] -= slope * w * t_u
    return total, np.concatenate([dtable.ravel(), dw])


def naive_loss(o, block, step, alpha, batch, self_batch):
    e = naive_embeddings(o, block, step, alpha)
    layers = naive_layers(o, e)
    r = [sum(layer[v] for layer in layers) / len(layers) for v in range(USERS + ITEMS)]
    x = r if o["inmo"] else e
    unit = [row / math.sqrt(sum(k * k for k in row)) if any(row) else row for row in r]

    def distance(v, w):
        if not any(r[v]) or not any(r[w]):
            return 2.0  # a zero vector counts as orthogonal to all
        return sum((a - b) ** 2 for a, b in zip(unit[v], unit[w]))

    total = sum(distance(u, USERS + p) for u, p, _ in batch) / len(batch)
    for side in ([u for u, _, _ in batch], [USERS + p for _, p, _ in batch]):
        pairs = [math.exp(-2 * distance(side[b], side[c])) for b in range(len(side)) for c in range(b)]
        total += GAMMA / 2 * math.log(sum(pairs) / len(pairs))
        total += o["l2"] / len(batch) * sum(k * k for v in side for k in x[v])
    d, n_t, w = o["dim"], len(o["user_templates"]), block[o["rows"] * o["dim"] :]
    for u, p, n in self_batch:
        t_u, t_p, t_n = (block[v * d : (v + 1) * d] for v in (u, n_t + p, n_t + n))
        argument = sum(t_u[k] * w[k] * (t_n[k] - t_p[k]) for k in range(d))
        total += o["self_weight"] / len(batch) * (max(argument, 0.0) + math.log1p(math.exp(-abs(argument))))
    return total


def train(o):
    d, seed = o["dim"], o["seed"]
    start = np.array([o["init_scale"] * normal(key(seed, INIT), n) for n in range(o["rows"] * d)])
    if o["inmo"]:
        start = np.concatenate([start, np.ones(d)])
    positives = [ITEMS_OF[u] for u in range(USERS)]
    self_positives = [[o["item_templates"].index(i) for i in ITEMS_OF[u] if i in o["item_templates"]]
                      for u in o["user_templates"]]
    block, m, v, steps = start.copy(), np.zeros_like(start), np.zeros_like(start), []
    for step in range(2):
        alpha = 1.0 - 0.5 * o["annealing"] ** step
        batch = triples(seed, BATCH, step, o["batch"], positives, ITEMS)
        self_batch = []
        if o["inmo"]:
            self_batch = triples(seed, SELF_BATCH, step, o["batch"], self_positives, len(o["item_templates"]))
        arguments = (step, alpha, batch, self_batch)
        loss, gradient = loss_and_gradient(o, block, *arguments)
        check("loss", naive_loss(o, block, *arguments), loss, 1e-12)
        numeric, h = np.zeros_like(block), 1e-5
        for n in range(len(block)):
            low, high = block.copy(), block.copy()
            low[n] -= h
            high[n] += h
            numeric[n] = (naive_loss(o, high, *arguments) - naive_loss(o, low, *arguments)) / (2.0 * h)
        check(f"gradient of {o['model']}", numeric, gradient, 1e-7)
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        t = step + 1
        block = block - o["learning_rate"] * (m / (1 - 0.9**t)) / (np.sqrt(v) / math.sqrt(1 - 0.999**t) + 1e-8)
        steps.append({"step": step, "epoch": step, "alpha": alpha, "triples": batch, "self_triples": self_batch,
                      "loss": {"total": loss}, "gradient": gradient})
    return {"start": start, "steps": steps, "after": block}


CASES = (("mf", 5, 1.0), ("lightgcn", 32, 1.0), ("inmo-mf", 5, 1.0), ("inmo-lightgcn", 5, 0.5))


def main():
    files = {}
    for model, dim, share in CASES:
        o = options(model, dim, share)
        public = {k: x for k, x in o.items() if k not in ("inmo", "rows")}
        name = "-".join([model, "directau"] + ["half"] * (share < 1) + [f"d{dim}"])
        files[name] = text({**public, "gamma": GAMMA, "edges": EDGES, **train(o)})
    return make_golden.write_or_check(files)


if __name__ == "__main__":
    sys.exit(main())
