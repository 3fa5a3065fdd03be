#!/usr/bin/env python3
"""make_golden_graph.py - golden numbers of the backbones with parameters of their own, ngcf and imc-gae, from docs/math.md.

    /usr/bin/python3 tests/golden/make_golden_graph.py           write the files beside this script
    /usr/bin/python3 tests/golden/make_golden_graph.py --check   compare with the files that stand there

The small world, the random numbers, the sampler and the provider's matrix come from make_golden.py, which describes the
layout of a file; here the block goes on after w with the backbone's own parameters, and a file also has graph_dropout and
init. The gradient is dense matrix algebra in reverse, in float64, of the formulas as the paper's authors would write
them: imc-gae propagates all three thirds. It is compared with central differences of a forward computation that goes
node by node through neighbour lists. A disagreement stops the script.
"""
import math
import sys

from make_golden import (BATCH, EDGES, GENERAL, INIT, ITEMS, ITEMS_OF, M32, SELF_BATCH, USERS, Y, check, fmix32, key,
                         naive_embeddings, normal, np, options, provider, random, sigmoid, text, triples, unit)
import make_golden

OWN_INIT, EDGE_USER, EDGE_ITEM, MESSAGE, NODE = 12, 13, 14, 15, 16
NODES = USERS + ITEMS
NEIGHBOURS = [[USERS + i for i in ITEMS_OF[u]] for u in range(USERS)]
NEIGHBOURS += [[u for u in range(USERS) if Y[u, i]] for i in range(ITEMS)]
SLOPE = 0.2


def keeps(drop_key, a, b, p):
    return p == 0 or fmix32((a * 0x9E3779B1 + b * 0x85EBCA77 + drop_key) & M32) >= math.floor(p * 2.0**32)


def remembered(compute):
    """Masks do not depend on parameters: computed once for all the differences."""

    def recall(o, *arguments):
        memo = o["memo"]
        if (compute.__name__, *arguments) not in memo:
            memo[(compute.__name__, *arguments)] = compute(o, *arguments)
        return memo[(compute.__name__, *arguments)]

    return recall


@remembered
def entry_kept(o, step, v, w):
    """Entry (v, w) of NGCF's matrix; v = w is the self-loop."""
    if step is None:
        return True
    is_user = v < USERS
    drop_key = random(key(o["seed"], EDGE_USER if is_user else EDGE_ITEM), step) & M32
    if v == w:
        a, b = (v, GENERAL) if is_user else (GENERAL, v - USERS)
    else:
        a, b = (v, w - USERS) if is_user else (w, v - USERS)
    return keeps(drop_key, a, b, o["graph_dropout"])


@remembered
def message_mask(o, step, layer):
    """(nodes, d), kept numbers scaled; layer from 0."""
    if step is None or o["graph_dropout"] == 0:
        return np.ones((NODES, o["dim"]))
    drop_key = random(random(key(o["seed"], MESSAGE), step), layer) & M32
    q = o["graph_dropout"]
    return np.array([[float(keeps(drop_key, v, j, q)) / (1 - q) for j in range(o["dim"])] for v in range(NODES)])


@remembered
def node_mask(o, step, layer):
    q = max(o["graph_dropout"] - 0.1 * layer, 0.0) if step is not None else 0.0
    drop_key = 0 if step is None else random(key(o["seed"], NODE), step) & M32
    return np.array([float(keeps(drop_key, v, layer, q)) / (1 - q) for v in range(NODES)])


# ---- The backbones as matrices, forward and in reverse ---------------------------------------------------------


def split_own(o, own):
    d = o["dim"]
    if o["model"].endswith("imc-gae"):
        return own.reshape(3, d)
    parts, size = [], 2 * d * (d + 1)
    for layer in range(o["layers"]):
        at = own[layer * size : (layer + 1) * size]
        parts.append((at[: d * d].reshape(d, d), at[d * d : d * d + d], at[d * d + d : 2 * d * d + d].reshape(d, d),
                      at[2 * d * d + d :]))
    return parts


def ngcf_matrix(o, step):
    scale = 1.0 if step is None else 1.0 / (1 - o["graph_dropout"])
    matrix = np.zeros((NODES, NODES))
    for v in range(NODES):
        for w in NEIGHBOURS[v] + [v]:
            if entry_kept(o, step, v, w):
                matrix[v, w] = scale / (len(NEIGHBOURS[v]) + 1)
    return matrix


def ngcf(o, e, own, step):
    """r, and the function from dr to (de, gradient of own)."""
    matrix, parts, d = ngcf_matrix(o, step), split_own(o, own), o["dim"]
    inputs, kept = [e], []
    columns = [e]
    for layer, (w1, b1, w2, b2) in enumerate(parts):
        x = inputs[-1]
        m = matrix @ x
        before = m @ w1.T + b1 + (x * m) @ w2.T + b2
        slope = np.where(before > 0, 1.0, SLOPE) * message_mask(o, step, layer)
        y = slope * before
        norm = np.linalg.norm(y, axis=1, keepdims=True)
        inverse = np.where(norm > 1e-12, 1.0 / np.maximum(norm, 1e-12), 0.0)
        kept.append((m, slope, inverse))
        inputs.append(y)
        columns.append(y * inverse)

    def reverse(dr):
        own_gradient, g = [], np.zeros_like(e)
        for layer in reversed(range(o["layers"])):
            (w1, _, w2, _), (m, slope, inverse), x = parts[layer], kept[layer], inputs[layer]
            y_hat, dy = columns[layer + 1], dr[:, (layer + 1) * d : (layer + 2) * d]
            g = g + inverse * (dy - y_hat * (y_hat * dy).sum(1, keepdims=True))
            dbefore = slope * g
            db = dbefore.sum(0)
            own_gradient = [(dbefore.T @ m).ravel(), db, (dbefore.T @ (x * m)).ravel(), db] + own_gradient
            dproduct = dbefore @ w2
            dm = dbefore @ w1 + x * dproduct
            g = m * dproduct + matrix.T @ dm
        return g + dr[:, :d], np.concatenate(own_gradient)

    return np.concatenate(columns, axis=1), reverse


def imc_gae(o, e, own, step):
    d = o["dim"]
    general = split_own(o, own)
    side = np.repeat([0, 1], [USERS, ITEMS])
    adjacency = np.zeros((NODES, NODES))
    adjacency[:USERS, USERS:] = Y
    adjacency[USERS:, :USERS] = Y.T
    scale = np.diag(np.maximum(adjacency.sum(1), 1.0) ** -0.5)
    total, power = np.eye(NODES), np.eye(NODES)
    for layer in range(o["layers"]):
        power = scale @ adjacency @ scale @ np.diag(node_mask(o, step, layer)) @ power
        total = total + power / (layer + 2)
    r = total @ np.concatenate([e, general[side], np.tile(general[2], (NODES, 1))], axis=1)

    def reverse(dr):
        dx = total.T @ dr
        second, third = dx[:, d : 2 * d], dx[:, 2 * d :]
        return dx[:, :d], np.concatenate([second[:USERS].sum(0), second[USERS:].sum(0), third.sum(0)])

    return r, reverse


def backbone(o):
    return ngcf if o["model"].endswith("ngcf") else imc_gae


def loss_and_gradient(o, block, step, alpha, batch, self_batch):
    d, n_t, size = o["dim"], len(o["user_templates"]), o["batch"]
    table = block[: o["rows"] * d].reshape(o["rows"], d)
    w = block[o["rows"] * d : o["own"]]
    P = provider(o, alpha, step)
    r, reverse = backbone(o)(o, P @ table, block[o["own"] :], step)
    dr = np.zeros_like(r)
    total = 0.0
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
    de, down = reverse(dr)
    dtable, dw = P.T @ de, np.zeros_like(w)
    for u, p, n in self_batch:
        t_u, t_p, t_n = table[u], table[n_t + p], table[n_t + n]
        difference = t_u @ (w * t_n) - t_u @ (w * t_p)
        total += o["self_weight"] / size * np.logaddexp(0.0, difference)
        slope = o["self_weight"] / size * sigmoid(difference)
        dw += slope * t_u * (t_n - t_p)
        dtable[u] += slope * w * (t_n - t_p)
        dtable[n_t + n] += slope * w * t_u
        dtable[n_t + p] -= slope * w * t_u
    return total, np.concatenate([dtable.ravel(), dw, down])


# ---- The naive twin: node by node ------------------------------------------------------------------------------


def naive_ngcf_row(o, own, layer, x, around, mine, weight_of, mask):
    """One node's row of the layer above: x are the rows below, around (node, weight) pairs, mine the row's own."""
    w1, b1, w2, b2 = split_own(o, own)[layer]
    m = sum((weight_of * x[w] for w in around), np.zeros(o["dim"]))
    before = w1 @ m + b1 + w2 @ (mine * m) + b2
    return mask * np.array([t if t > 0 else SLOPE * t for t in before])


def naive_layers(o, own, e, step):
    """[r^0, .., r^K] node by node; imc-gae: all three thirds."""
    scale = 1.0 if step is None else 1.0 / (1 - o["graph_dropout"])
    if o["model"].endswith("imc-gae"):
        general = split_own(o, own)
        out = [[np.concatenate([e[v], general[0 if v < USERS else 1], general[2]]) for v in range(NODES)]]
    else:
        out = [list(e)]
    for layer in range(o["layers"]):
        last, fresh = out[-1], []
        messages, nodes = message_mask(o, step, layer), node_mask(o, step, layer)
        for v in range(NODES):
            degree = len(NEIGHBOURS[v])
            if o["model"].endswith("imc-gae"):
                fresh.append(sum((nodes[w] * last[w] / math.sqrt(degree * len(NEIGHBOURS[w])) for w in NEIGHBOURS[v]),
                                 np.zeros(3 * o["dim"])))
            else:
                around = [w for w in NEIGHBOURS[v] + [v] if entry_kept(o, step, v, w)]
                fresh.append(naive_ngcf_row(o, own, layer, last, around, last[v], scale / (degree + 1), messages[v]))
        out.append(fresh)
    return out


def naive_final(o, layers_of_node):
    if o["model"].endswith("imc-gae"):
        return sum(row / (l + 1) for l, row in enumerate(layers_of_node))
    lengths = [float(np.linalg.norm(row)) for row in layers_of_node]
    return np.concatenate([layers_of_node[0]] + [row / length if length > 1e-12 else 0 * row
                                                 for row, length in list(zip(layers_of_node, lengths))[1:]])


def naive_representations(o, block, step, alpha):
    layers = naive_layers(o, block[o["own"] :], naive_embeddings(o, block, step, alpha), step)
    return [naive_final(o, [layer[v] for layer in layers]) for v in range(NODES)]


def naive_loss(o, block, step, alpha, batch, self_batch):
    r = naive_representations(o, block, step, alpha)
    total = 0.0
    for u, p, n in batch:
        argument = float(r[u] @ r[USERS + n] - r[u] @ r[USERS + p])
        total += max(argument, 0.0) + math.log1p(math.exp(-abs(argument)))
        total += o["l2"] * sum(float(r[v] @ r[v]) for v in (u, USERS + p, USERS + n))
    d, n_t = o["dim"], len(o["user_templates"])
    w = block[o["rows"] * d : o["own"]]
    for u, p, n in self_batch:
        t_u, t_p, t_n = (block[v * d : (v + 1) * d] for v in (u, n_t + p, n_t + n))
        argument = sum(t_u[k] * w[k] * (t_n[k] - t_p[k]) for k in range(d))
        total += o["self_weight"] * (max(argument, 0.0) + math.log1p(math.exp(-abs(argument))))
    return total / o["batch"]


def unseen(o, block, history):
    """One more user, whose row of each layer comes from the items' rows of the layer below, which stay; alpha 1."""
    d, tu, ti = o["dim"], o["user_templates"], o["item_templates"]
    own, row = block[o["own"] :], [block[n * d : (n + 1) * d] for n in range(o["rows"])]
    mine = [i for i in history if i in ti]
    e = (sum((row[len(tu) + ti.index(i)] for i in mine), np.zeros(d)) + row[len(tu) + len(ti)]) / (len(mine) + 1)
    layers = naive_layers(o, own, naive_embeddings(o, block, None, 1.0), None)
    if o["model"].endswith("imc-gae"):
        general = split_own(o, own)
        rows = [np.concatenate([e, general[0], general[2]])]
        for layer in range(o["layers"]):
            rows.append(sum((layers[layer][USERS + i] / math.sqrt(len(history) * max(len(NEIGHBOURS[USERS + i]), 1))
                             for i in history), np.zeros(3 * d)))
    else:
        rows = [e]
        for layer in range(o["layers"]):
            x = layers[layer] + [rows[-1]]
            around = [USERS + i for i in history] + [NODES]
            rows.append(naive_ngcf_row(o, own, layer, x, around, rows[-1], 1.0 / (len(history) + 1), 1.0))
    return naive_final(o, rows)


# ---- Two steps of training --------------------------------------------------------------------------------------


def uniform(k, n, bound):
    return bound * (2.0 * unit(random(k, n)) - 1.0)


def start_block(o):
    d, seed = o["dim"], o["seed"]
    bound = math.sqrt(6.0 / d)
    if o["init"] == "kaiming":
        start = [uniform(key(seed, INIT), n, bound) for n in range(o["rows"] * d)]
    else:
        start = [o["init_scale"] * normal(key(seed, INIT), n) for n in range(o["rows"] * d)]
    if o["inmo"]:
        start += [1.0] * d
    own_key = key(seed, OWN_INIT)
    if o["model"].endswith("imc-gae"):
        own = [o["init_scale"] * normal(own_key, n) for n in range(3 * d)]
    else:
        row = d * d + d
        own = [uniform(own_key, n, bound) if n % row < d * d else 0.0 for n in range(2 * row * o["layers"])]
    return np.array(start + own)


def is_bias(o, n):
    """In step 0 biases are 0, and a row of ngcf all of whose entries are dropped has length 0: a corner, where central
    differences of the biases say nothing. They are compared in step 1."""
    d = o["dim"]
    return o["model"].endswith("ngcf") and n >= o["own"] and (n - o["own"]) % (d * d + d) >= d * d


def train(o):
    seed = o["seed"]
    start = start_block(o)
    positives = [ITEMS_OF[u] for u in range(USERS)]
    self_positives = [[o["item_templates"].index(i) for i in ITEMS_OF[u] if i in o["item_templates"]]
                      for u in o["user_templates"]]
    block, m, v = start.copy(), np.zeros_like(start), np.zeros_like(start)
    steps = []
    for step in range(2):
        alpha = 1.0 - 0.5 * o["annealing"] ** step
        batch = triples(seed, BATCH, step, o["batch"], positives, ITEMS)
        self_batch = []
        if o["inmo"]:
            self_batch = triples(seed, SELF_BATCH, step, o["batch"], self_positives, len(o["item_templates"]))
        arguments = (step, alpha, batch, self_batch)
        loss, gradient = loss_and_gradient(o, block, *arguments)
        check("loss", naive_loss(o, block, *arguments), loss, 1e-12)
        numeric, h = np.zeros_like(block), 1e-6
        for n in range(len(block)):
            if (step == 0 and is_bias(o, n)) or (o["dim"] > 5 and n % 7):  # of large ones every seventh
                numeric[n] = gradient[n]
                continue
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
    table = block[: o["rows"] * o["dim"]].reshape(o["rows"], o["dim"])
    r, _ = backbone(o)(o, provider(o, 1.0, None) @ table, block[o["own"] :], None)
    check("representations", naive_representations(o, block, None, 1.0), r, 1e-12)
    result = {"start": start, "steps": steps, "after": block, "representations": r.ravel()}
    if o["inmo"]:
        check("unseen", unseen(o, block, ITEMS_OF[4]), r[4], 1e-12)
        result["unseen"] = {"history": [1, 3, 5, 7], "representation": unseen(o, block, [1, 3, 5, 7])}
    return result


def case(model, dim, layers, share, graph_dropout):
    o = options(model, dim, share)
    o.update({"memo": {}, "layers": layers, "graph_dropout": graph_dropout, "init": "kaiming" if model == "ngcf" else "normal"})
    o["own"] = o["rows"] * dim + (dim if o["inmo"] else 0)
    return o


# model, d, K, share of templates, graph dropout
CASES = (("ngcf", 5, 3, 1.0, 0.0), ("ngcf", 5, 3, 1.0, 0.3), ("ngcf", 18, 1, 1.0, 0.3), ("inmo-ngcf", 5, 3, 1.0, 0.3),
         ("inmo-ngcf", 5, 2, 0.5, 0.3), ("imc-gae", 5, 3, 1.0, 0.0), ("imc-gae", 32, 3, 1.0, 0.3),
         ("inmo-imc-gae", 32, 3, 1.0, 0.3), ("inmo-imc-gae", 5, 2, 0.5, 0.3))


def main():
    files = {}
    for model, dim, layers, share, drop in CASES:
        o = case(model, dim, layers, share, drop)
        public = {k: x for k, x in o.items() if k not in ("inmo", "rows", "own", "memo")}
        name = "-".join([model] + ["half"] * (share < 1) + ["drop"] * (drop > 0) + [f"d{dim}"])
        files[name] = text({**public, "edges": EDGES, **train(o)})
    return make_golden.write_or_check(files)


if __name__ == "__main__":
    sys.exit(main())
