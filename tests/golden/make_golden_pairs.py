#!/usr/bin/env python3
"""make_golden_pairs.py - golden numbers of the cross entropy over pairs and of neumf's head, from docs/math.md.

    /usr/bin/python3 tests/golden/make_golden_pairs.py           write the files beside this script
    /usr/bin/python3 tests/golden/make_golden_pairs.py --check   compare with the files that stand there

The small world, the random numbers, the sampler and the provider's matrix come from make_golden.py, which describes the
layout of a file; here the block goes on after w with the head's own parameters, a file also has init, bce_negatives, l2_on
and pretrain, a step its negatives, and in the end there are the scores of all users and items. With pretrain 1 steps 0 and 1 train
the halves and the others the whole. The gradient goes back pair by pair through vectors, in float64; it is compared with
central differences of a forward computation that goes number by number. A disagreement stops the script.
"""
import math
import sys

from make_golden import (BATCH, EDGES, INIT, ITEMS, ITEMS_OF, SELF_BATCH, USERS, below, check, key, naive_embeddings, normal,
                         np, options, provider, random, sigmoid, text, triples, unit)
import make_golden

NEGATIVE, HEAD_INIT = 11, 23
SLOPE = 0.01
NEGATIVES = 3
GMF, MLP, WHOLE = 0, 1, 2


def negatives(seed, step, batch, users):
    """(batch, NEGATIVES)"""
    out = []
    for b, u in enumerate(users):
        out.append([])
        for j in range(NEGATIVES):
            base, draw = random(key(seed, NEGATIVE), (step * batch + b) * NEGATIVES + j), 0
            n = below(random(base, draw), ITEMS)
            while n in ITEMS_OF[u]:
                draw += 1
                n = below(random(base, draw), ITEMS)
            out[-1].append(n)
    return out


# ---- The head -----------------------------------------------------------------------------------------------------


def shapes(o):
    d, h = o["d"], o["h"]
    return [(d, 2 * h), (d,), (d, d), (d,), (d,), (d,)]


def split_head(o, own):
    parts, at = [], 0
    for shape in shapes(o):
        size = math.prod(shape)
        parts.append(own[at : at + size].reshape(shape))
        at += size
    return parts


def leaky(x):
    return np.where(x > 0, x, SLOPE * x)


def pair(o, own, stage, user, item):
    """The weighted vector whose sum is the score, and the function from its gradient to (d user, d item, d own)."""
    if not o["neumf"]:
        return user * item, lambda dz: (dz * item, dz * user, np.zeros_like(own))
    d = o["d"]
    w1, b1, w2, b2, gmf, mlp = split_head(o, own)
    has_gmf, has_mlp = float(stage != MLP), float(stage != GMF)
    x = np.concatenate([user[d:], item[d:]])
    y1 = w1 @ x + b1
    x1 = leaky(y1)
    y2 = w2 @ x1 + b2
    x2 = leaky(y2)
    z = np.concatenate([has_gmf * gmf * user[:d] * item[:d], has_mlp * mlp * x2])

    def reverse(dz):
        dy2 = has_mlp * dz[d:] * mlp * np.where(y2 > 0, 1, SLOPE)
        dy1 = (w2.T @ dy2) * np.where(y1 > 0, 1, SLOPE)
        dx = w1.T @ dy1
        g = has_gmf * dz[:d]
        down = np.concatenate([np.outer(dy1, x).ravel(), dy1, np.outer(dy2, x1).ravel(), dy2, g * user[:d] * item[:d],
                               has_mlp * dz[d:] * x2])
        down = np.concatenate([down, np.zeros(len(own) - len(down))])
        h = o["h"]
        return (np.concatenate([g * gmf * item[:d], dx[:h]]), np.concatenate([g * gmf * user[:d], dx[h:]]), down)

    return z, reverse


def naive_vector(o, own, stage, user, item):
    if not o["neumf"]:
        return [a * b for a, b in zip(user, item)]
    d, h = o["d"], o["h"]
    w1, b1, w2, b2, gmf, mlp = split_head(o, own)
    vector = []
    if stage != MLP:
        vector += [gmf[j] * user[j] * item[j] for j in range(d)]
    if stage != GMF:
        first = [float(leaky(b1[j] + sum(w1[j, k] * user[d + k] + w1[j, h + k] * item[d + k] for k in range(h))))
                 for j in range(d)]
        second = [float(leaky(b2[j] + sum(w2[j, k] * first[k] for k in range(d)))) for j in range(d)]
        vector += [mlp[j] * second[j] for j in range(d)]
    return vector


def naive_score(o, own, stage, user, item):
    return float(sum(naive_vector(o, own, stage, user, item)))


def live(o, stage):
    return slice(0, o["d"]) if stage == GMF else slice(o["d"], None) if stage == MLP else slice(None)


# ---- The loss -------------------------------------------------------------------------------------------------------


def pairs_of(batch, more):
    for (u, p, _), mine in zip(batch, more):
        yield u, USERS + p, 1
        for n in mine:
            yield u, USERS + n, 0


def self_terms(o, block, self_batch):
    d, n_t = o["dim"], len(o["user_templates"])
    table, w = block[: o["rows"] * d].reshape(o["rows"], d), block[o["rows"] * d : o["own"]]
    for u, p, n in self_batch:
        yield u, n_t + p, n_t + n, table[u], table[n_t + p], table[n_t + n], w


def loss_and_gradient(o, block, step, alpha, stage, batch, more, self_batch):
    d, size = o["dim"], o["batch"]
    table, own = block[: o["rows"] * d].reshape(o["rows"], d), block[o["own"] :]
    P = provider(o, alpha, step)
    r = P @ table
    dr, down, columns = np.zeros_like(r), np.zeros_like(own), live(o, stage)
    total, count = 0.0, size * (NEGATIVES + 1)
    for u, i, is_positive in pairs_of(batch, more):
        z, reverse = pair(o, own, stage, r[u], r[i])
        score = z.sum()
        total += np.logaddexp(0.0, -score if is_positive else score) / count
        dz = np.full_like(z, (-sigmoid(-score) if is_positive else sigmoid(score)) / count)
        if o["l2_on"] == "pairs":
            total += o["l2"] / count * (z @ z)
            dz += 2.0 * o["l2"] / count * z
        du, di, more_down = reverse(dz)
        dr[u] += du
        dr[i] += di
        down += more_down
        for v in (u, i) if o["l2_on"] == "rows" else ():
            total += o["l2"] / count * (r[v][columns] @ r[v][columns])
            dr[v][columns] += 2.0 * o["l2"] / count * r[v][columns]
    dtable, dw = P.T @ dr, np.zeros(o["own"] - o["rows"] * d)
    for u, p, n, t_u, t_p, t_n, w in self_terms(o, block, self_batch):
        difference = t_u @ (w * t_n) - t_u @ (w * t_p)
        total += o["self_weight"] / size * np.logaddexp(0.0, difference)
        slope = o["self_weight"] / size * sigmoid(difference)
        dw += slope * t_u * (t_n - t_p)
        dtable[u] += slope * w * (t_n - t_p)
        dtable[n] += slope * w * t_u
        dtable[p] -= slope * w * t_u
    return total, np.concatenate([dtable.ravel(), dw, down])


def naive_loss(o, block, step, alpha, stage, batch, more, self_batch):
    r, own, columns = naive_embeddings(o, block, step, alpha), block[o["own"] :], live(o, stage)
    total, count = 0.0, 0
    for u, i, is_positive in pairs_of(batch, more):
        vector = naive_vector(o, own, stage, r[u], r[i])
        argument = sum(vector) * (-1 if is_positive else 1)
        total += max(argument, 0.0) + math.log1p(math.exp(-abs(argument)))
        total += o["l2"] * sum(x * x for x in (vector if o["l2_on"] == "pairs" else np.concatenate([r[u][columns], r[i][columns]])))
        count += 1
    total /= count
    for _, _, _, t_u, t_p, t_n, w in self_terms(o, block, self_batch):
        argument = sum(t_u[k] * w[k] * (t_n[k] - t_p[k]) for k in range(o["dim"]))
        total += o["self_weight"] / o["batch"] * (max(argument, 0.0) + math.log1p(math.exp(-abs(argument))))
    return total


# ---- Four steps of training -------------------------------------------------------------------------------------------


def uniform(k, n, bound):
    return bound * (2.0 * unit(random(k, n)) - 1.0)


def start_block(o):
    seed, count = o["seed"], o["rows"] * o["dim"]
    if o["init"] == "kaiming":
        start = [uniform(key(seed, INIT), n, math.sqrt(6.0 / (o["d"] if n % o["dim"] < o["d"] else o["h"])))
                 for n in range(count)]
    else:
        start = [o["init_scale"] * normal(key(seed, INIT), n) for n in range(count)]
    start += [1.0] * o["dim"] if o["inmo"] else []
    own = []
    for n, shape in enumerate(shapes(o) if o["neumf"] else []):
        for _ in range(math.prod(shape)):
            own.append(1.0 if n >= 4 else 0.0 if len(shape) == 1
                       else uniform(key(seed, HEAD_INIT), len(own), math.sqrt(6.0 / shape[1])))
    own += [0.0] * (-len(own) % o["dim"])
    return np.array(start + own)


def train(o):
    seed, batch_size = o["seed"], o["batch"]
    start = start_block(o)
    positives = [ITEMS_OF[u] for u in range(USERS)]
    self_positives = [[o["item_templates"].index(i) for i in ITEMS_OF[u] if i in o["item_templates"]]
                      for u in o["user_templates"]]
    block, steps, t = start.copy(), [], 0
    for step in range(4):
        stage = step if o["neumf"] and step < 2 * o["pretrain"] else WHOLE
        alpha = 1.0 - 0.5 * o["annealing"] ** step
        batch = triples(seed, BATCH, step, batch_size, positives, ITEMS)
        more = negatives(seed, step, batch_size, [u for u, _, _ in batch])
        self_batch = []
        if o["inmo"]:
            self_batch = triples(seed, SELF_BATCH, step, batch_size, self_positives, len(o["item_templates"]))
        arguments = (step, alpha, stage, batch, more, self_batch)
        loss, gradient = loss_and_gradient(o, block, *arguments)
        check("loss", naive_loss(o, block, *arguments), loss, 1e-12)
        numeric, h = np.zeros_like(block), 1e-6
        for n in range(len(block)):
            if n % 4 != step:  # all of them in four steps
                numeric[n] = gradient[n]
                continue
            low, high = block.copy(), block.copy()
            low[n] -= h
            high[n] += h
            numeric[n] = (naive_loss(o, high, *arguments) - naive_loss(o, low, *arguments)) / (2.0 * h)
        check(f"gradient of {o['model']}", numeric, gradient, 1e-8)
        if step == 0 or (o["neumf"] and o["pretrain"] and step <= 2):  # Adam begins anew with each stage
            m, v, t = np.zeros_like(block), np.zeros_like(block), 0
        t += 1
        m = 0.9 * m + 0.1 * gradient
        v = 0.999 * v + 0.001 * gradient**2
        block = block - o["learning_rate"] * (m / (1 - 0.9**t)) / (np.sqrt(v) / math.sqrt(1 - 0.999**t) + 1e-8)
        steps.append({"step": step, "epoch": step, "alpha": alpha, "triples": batch, "negatives": more,
                      "self_triples": self_batch, "loss": {"total": loss}, "gradient": gradient})
    r, own = provider(o, 1.0, None) @ block[: o["rows"] * o["dim"]].reshape(o["rows"], o["dim"]), block[o["own"] :]
    scores = [naive_score(o, own, WHOLE, r[u], r[USERS + i]) for u in range(USERS) for i in range(ITEMS)]
    return {"start": start, "steps": steps, "after": block, "representations": r.ravel(), "scores": scores}


def case(model, dim, share, pretrain, l2_on):
    neumf = model.endswith("neumf")
    o = options(model, dim + dim // 2 if neumf else dim, share)
    o.update({"neumf": neumf, "d": dim, "h": dim // 2, "pretrain": pretrain, "bce_negatives": NEGATIVES,
              "init": "kaiming" if model == "neumf" else "normal", "graph_dropout": 0.0, "l2_on": l2_on})
    if l2_on == "pairs":
        o["l2"] = 0.3  # the vectors of pairs are short
    o["own"] = o["rows"] * o["dim"] + (o["dim"] if o["inmo"] else 0)
    return o


# model, d, share of templates, epochs of each stage of pretraining, what L2 is on
CASES = (("mf", 5, 1.0, 0, "rows"), ("inmo-mf", 5, 0.5, 0, "rows"), ("neumf", 5, 1.0, 1, "rows"), ("neumf", 6, 1.0, 0, "rows"),
         ("inmo-neumf", 5, 0.5, 1, "rows"), ("neumf", 5, 1.0, 1, "pairs"), ("inmo-neumf", 5, 0.5, 1, "pairs"))


def main():
    files = {}
    for model, dim, share, pretrain, l2_on in CASES:
        o = case(model, dim, share, pretrain, l2_on)
        public = {k: x for k, x in o.items() if k not in ("inmo", "rows", "own", "neumf", "d", "h")}
        name = "-".join([model, "pairs"] + ["half"] * (share < 1) + ["norms"] * (l2_on == "pairs") + [f"d{dim}"])
        files[name] = text({**public, "dim": dim, "edges": EDGES, **train(o)})
    return make_golden.write_or_check(files)


if __name__ == "__main__":
    sys.exit(main())
