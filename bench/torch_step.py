#!/usr/bin/env python3
"""torch_step.py - one training step of LightGCN and of INMO-LGCN in PyTorch, as fast as we could make it on a CPU.

    /usr/bin/python3 bench/torch_step.py DATA [--model lightgcn|inmo-lightgcn] [--steps 30] [--threads 2]

DATA is a prepared directory or a file of pairs (torch_data.py). Prints the median time of a step and its parts.
A step is everything of one: drawing the triples, (INMO: drawing the mask,) forward, loss, backward, Adam on every
parameter. It is not the code one writes first, which takes several times longer, but what is left after:

  - embedding_bag with weights as the sparse product, the fastest that PyTorch has on a CPU (torch_spmm.py), on the
    bipartite halves users x items and items x users;
  - the gradient by hand, without autograd: the operator is symmetric, so backward is the same product, by Horner's
    rule g + A(g + A(g + A g)), and g is zero outside the rows of the batch;
  - forward sums the layers only at the rows of the batch, and computes the last layer only there when that is
    less work;
  - the mask of INMO from 16 random bits an entry; the transposed product takes the same mask through a permutation;
  - Adam in place, in pieces that stay in the cache;
  - malloc told to keep its memory, and to use huge pages (the script starts itself again with that setting).

check() compares the gradients with autograd on a plain formulation; it runs before each measurement.
"""
import argparse
import ctypes
import os
import statistics
import sys
import time

import torch
import torch.nn.functional as F

import torch_data


def tune_malloc():
    """Large blocks from the heap, never given back: no page faults in a warm step."""
    libc = ctypes.CDLL(None)
    m_trim_threshold, m_top_pad, m_mmap_threshold = -1, -2, -3
    libc.mallopt(m_mmap_threshold, 32 << 20)
    libc.mallopt(m_trim_threshold, (1 << 31) - 1)
    libc.mallopt(m_top_pad, 256 << 20)


def restart_with_huge_pages():
    """glibc's madvise for huge pages is a setting of the environment; to be called first thing in main."""
    if "GLIBC_TUNABLES" not in os.environ:
        os.environ["GLIBC_TUNABLES"] = "glibc.malloc.hugetlb=1"
        os.execv(sys.executable, [sys.executable] + sys.argv)


class Clock:
    """Keeps the times between ticks under the name of what was done."""

    def __init__(self):
        self.spent, self.last = {}, time.perf_counter()

    def start(self):
        self.last = time.perf_counter()

    def tick(self, name):
        now = time.perf_counter()
        self.spent.setdefault(name, []).append(1e3 * (now - self.last))
        self.last = now


class Adam:
    """Every parameter in every step, piece by piece: a piece's four arrays stay in the cache between the passes."""

    def __init__(self, parameters, learning_rate, piece=1 << 17):
        self.rate, self.t, self.pieces = learning_rate, 0, []
        self.gradients = [torch.zeros_like(p) for p in parameters]
        scratch = torch.empty(piece)
        for p, g in zip(parameters, self.gradients):
            state = [x.view(-1).split(piece) for x in (p, g, torch.zeros_like(p), torch.zeros_like(p))]
            self.pieces += [(*views, scratch[: len(views[0])]) for views in zip(*state)]

    def step(self):
        self.t += 1
        scale = self.rate / (1 - 0.9**self.t)
        root = (1 - 0.999**self.t) ** 0.5
        for p, g, m, v, s in self.pieces:
            m.lerp_(g, 0.1)
            v.mul_(0.999).addcmul_(g, g, value=0.001)
            torch.sqrt(v, out=s)
            # m/(sqrt(v)/root + eps) = root m/(sqrt(v) + root eps)
            p.addcdiv_(m, s.add_(1e-8 * root), value=-scale * root)


class Sampler:
    """Triples as docs/math.md has them, with PyTorch's own random numbers."""

    def __init__(self, graph):
        self.items = graph["items"]
        self.offset = torch.from_numpy(graph["user_offset"])
        self.column = torch.from_numpy(graph["user_column"])
        self.degree = self.offset[1:] - self.offset[:-1]
        self.eligible = torch.nonzero((self.degree > 0) & (self.degree < self.items)).view(-1)
        row = torch.repeat_interleave(torch.arange(graph["users"]), self.degree)
        self.sorted_pairs = row * self.items + self.column

    def draw(self, batch):
        u = self.eligible[torch.randint(len(self.eligible), (batch,))]
        pick = (torch.rand(batch, dtype=torch.float64) * self.degree[u]).long()
        p = self.column[self.offset[u] + pick]
        n = torch.randint(self.items, (batch,))
        while True:
            pair = u * self.items + n
            place = torch.searchsorted(self.sorted_pairs, pair).clamp_(max=len(self.sorted_pairs) - 1)
            bad = torch.nonzero(self.sorted_pairs[place] == pair).view(-1)
            if len(bad) == 0:
                return u, p, n
            n[bad] = torch.randint(self.items, (len(bad),))


class Side:
    """One half of the graph: rows of one kind, columns of the other."""

    def __init__(self, offset, column):
        self.offset, self.column = torch.from_numpy(offset).int(), torch.from_numpy(column).int()
        self.rows = len(offset) - 1
        self.degree = self.offset[1:] - self.offset[:-1]
        self.row = torch.repeat_interleave(torch.arange(self.rows), self.degree.long())
        self.weight = None

    def times(self, x, weight=None):
        weight = self.weight if weight is None else weight
        return F.embedding_bag(self.column, x, self.offset, mode="sum", per_sample_weights=weight,
                               include_last_offset=True)

    def times_at(self, rows, x):
        """The product at a few ascending rows; at all of them when picking them out would cost more."""
        length = self.degree[rows]
        offset = F.pad(length.cumsum(0, dtype=torch.int32), (1, 0))
        total = int(offset[-1])
        if 3 * total > len(self.column):
            return self.times(x)[rows]
        entry = torch.arange(total, dtype=torch.int32)
        entry += torch.repeat_interleave(self.offset[rows] - offset[:-1], length)
        column, weight = (torch.index_select(of, 0, entry) for of in (self.column, self.weight))
        return F.embedding_bag(column, x, offset, mode="sum", per_sample_weights=weight, include_last_offset=True)


class Propagation:
    """LightGCN's layers, and the loss of a batch on top of them."""

    def __init__(self, graph, layers):
        self.user = Side(graph["user_offset"], graph["user_column"])
        self.item = Side(graph["item_offset"], graph["item_column"])
        self.layers = layers
        user_scale = self.user.degree.clamp(min=1).float().rsqrt()
        item_scale = self.item.degree.clamp(min=1).float().rsqrt()
        for side, own, other in ((self.user, user_scale, item_scale), (self.item, item_scale, user_scale)):
            side.weight = own[side.row] * other[side.column.long()]

    def forward(self, eu, ei, users, items):
        """Representations at the ascending rows users and items."""
        ru, ri, xu, xi = eu[users], ei[items], eu, ei
        for layer in range(self.layers):
            if layer == self.layers - 1:
                ru += self.user.times_at(users, xi)
                ri += self.item.times_at(items, xu)
            else:
                xu, xi = self.user.times(xi), self.item.times(xu)
                ru += xu[users]
                ri += xi[items]
        return ru.div_(self.layers + 1), ri.div_(self.layers + 1)

    def backward(self, users, items, gu, gi, extra_u=None, extra_i=None):
        """dL/de from dL/dr at the ascending rows; extra: dL/de at the same rows past the layers."""
        gu, gi = gu / (self.layers + 1), gi / (self.layers + 1)
        xu, xi = torch.zeros(self.user.rows, gu.shape[1]), torch.zeros(self.item.rows, gi.shape[1])
        xu[users], xi[items] = gu, gi
        for layer in range(self.layers):
            xu, xi = self.user.times(xi), self.item.times(xu)
            last = layer == self.layers - 1
            xu[users] += gu + extra_u if last and extra_u is not None else gu
            xi[items] += gi + extra_i if last and extra_i is not None else gi
        return xu, xi


def bpr(ru, ri, u, p, n):
    """Mean softplus(s_n - s_p) and its gradients; u, p, n number rows of ru and ri."""
    a, b = ru[u], ri[n] - ri[p]
    difference = (a * b).sum(1)
    slope = torch.sigmoid(difference).div_(len(u))[:, None]
    gu, gi = torch.zeros_like(ru), torch.zeros_like(ri)
    gu.index_add_(0, u, b * slope)
    a = a * slope
    gi.index_add_(0, n, a)
    gi.index_add_(0, p, a, alpha=-1)
    return F.softplus(difference).mean(), gu, gi


def rows_of(u, p, n):
    """Ascending rows of the batch and the triples as places in them, with how often each row occurs."""
    users, u = torch.unique(u, return_inverse=True)
    items, both = torch.unique(torch.cat([p, n]), return_inverse=True)
    times_u, times_i = (torch.bincount(x, minlength=m).float()[:, None] for x, m in ((u, len(users)), (both, len(items))))
    return users, items, u, both[: len(u)], both[len(u) :], times_u, times_i


class LightGCN:
    def __init__(self, graph, dim=64, layers=3, batch=2048, learning_rate=1e-3, l2=1e-4):
        self.batch, self.l2, self.clock = batch, l2, Clock()
        self.graph, self.sampler, self.layers = graph, Sampler(graph), Propagation(graph, layers)
        self.parameters = [0.1 * torch.randn(graph["users"], dim), 0.1 * torch.randn(graph["items"], dim)]
        self.adam = Adam(self.parameters, learning_rate)

    def gradient(self, u, p, n):
        """Into self.adam.gradients; returns the loss."""
        eu, ei = self.parameters
        users, items, u, p, n, times_u, times_i = rows_of(u, p, n)
        ru, ri = self.layers.forward(eu, ei, users, items)
        self.clock.tick("forward")
        loss, gu, gi = bpr(ru, ri, u, p, n)
        eu, ei = eu[users], ei[items]
        loss += self.l2 / len(u) * ((times_u * eu * eu).sum() + (times_i * ei * ei).sum())
        weight = 2 * self.l2 / len(u)
        self.clock.tick("loss")
        du, di = self.layers.backward(users, items, gu, gi, weight * times_u * eu, weight * times_i * ei)
        self.adam.gradients[0].copy_(du)
        self.adam.gradients[1].copy_(di)
        self.clock.tick("backward")
        return loss

    def step(self):
        self.clock.start()
        triples = self.sampler.draw(self.batch)
        self.clock.tick("sample")
        loss = self.gradient(*triples)
        self.adam.step()
        self.clock.tick("adam")
        return float(loss)

    def check(self):
        """Gradient by hand against autograd on the plain formulation."""
        triples = self.sampler.draw(self.batch)
        loss = self.gradient(*triples)
        with torch.enable_grad():
            leaves = [x.detach().clone().requires_grad_() for x in self.parameters]
            expected = self.plain(leaves, *triples)
            expected.backward()
        compare(loss, expected, self.adam.gradients, [x.grad for x in leaves])

    def plain(self, leaves, u, p, n):
        eu, ei = leaves
        ru, ri = plain_layers(self.layers, eu, ei)
        l2 = (eu[u] ** 2).sum() + (ei[p] ** 2).sum() + (ei[n] ** 2).sum()
        return F.softplus((ru[u] * (ri[n] - ri[p])).sum(1)).mean() + self.l2 / len(u) * l2


def plain_product(side, weight, x, columns):
    index = torch.stack([side.row, side.column.long()])
    return torch.sparse.mm(torch.sparse_coo_tensor(index, weight, (side.rows, columns)), x)


def plain_layers(layers, eu, ei):
    ru, ri, xu, xi = eu, ei, eu, ei
    for _ in range(layers.layers):
        xu, xi = (plain_product(layers.user, layers.user.weight, xi, len(ei)),
                  plain_product(layers.item, layers.item.weight, xu, len(eu)))
        ru, ri = ru + xu, ri + xi
    return ru / (layers.layers + 1), ri / (layers.layers + 1)


def compare(loss, expected_loss, gradients, expected):
    if not torch.allclose(loss, expected_loss, rtol=1e-5):
        raise SystemExit(f"torch_step: the loss is {float(loss)}, autograd has {float(expected_loss)}")
    for found, right in zip(gradients, expected):
        if not torch.allclose(found, right, rtol=1e-3, atol=1e-5 * float(right.abs().max())):
            raise SystemExit(f"torch_step: the gradient differs by {float((found - right).abs().max()):g}")


class InmoLightGCN:
    """All users and items are templates. parameters: [t_i, t_user] stacked, [t_u, t_item] stacked, w."""

    def __init__(self, graph, dim=64, layers=3, batch=2048, learning_rate=1e-3, l2=0.0, dropout=0.3, self_weight=0.01,
                 alpha=0.5):
        self.batch, self.l2, self.self_weight, self.dropout, self.clock = batch, l2, self_weight, dropout, Clock()
        self.graph, self.sampler, self.layers = graph, Sampler(graph), Propagation(graph, layers)
        self.parameters = [0.1 * torch.randn(graph["items"] + 1, dim), 0.1 * torch.randn(graph["users"] + 1, dim),
                           torch.ones(dim)]
        self.adam = Adam(self.parameters, learning_rate)
        user, item = self.layers.user, self.layers.item
        turn = torch.from_numpy(graph["turn"])
        self.to_item = turn.int()  # item-side entry -> its place on the user side
        self.to_user = torch.empty_like(self.to_item)
        self.to_user[turn] = torch.arange(graph["edges"], dtype=torch.int32)
        # Weight of an entry that is kept, and of the general term of a row.
        self.general = [(side.degree + 1.0) ** -alpha / (1.0 - dropout) for side in (user, item)]
        self.kept_value = [self.general[0][user.row], self.general[1][item.row]]
        self.threshold = int(dropout * 65536) - 32768

    def mask(self):
        """Weights of the entries of both sides and of their general terms, those dropped at 0."""
        user, item = self.layers.user, self.layers.item
        lengths = [self.graph["edges"], self.graph["edges"], user.rows, item.rows]
        bits = torch.empty((sum(lengths) + 3) // 4, dtype=torch.int64).random_(-(1 << 63), None)
        parts = (bits.view(torch.int16)[: sum(lengths)] >= self.threshold).split(lengths)
        values = self.kept_value + self.general
        return [torch.mul(value, part) for value, part in zip(values, parts)]

    def gradient(self, u, p, n, su, sp, sn, mask):
        user, item = self.layers.user, self.layers.item
        ti, tu, w = self.parameters
        user_weight, item_weight, user_general, item_general = mask
        # e_u = sum t_i + t_user, e_i = sum t_u + t_item; each entry with its weight
        eu, ei = user.times(ti, user_weight), item.times(tu, item_weight)
        eu.addr_(user_general, ti[-1])
        ei.addr_(item_general, tu[-1])
        self.clock.tick("inmo forward")
        users, items, u, p, n, times_u, times_i = rows_of(u, p, n)
        ru, ri = self.layers.forward(eu, ei, users, items)
        self.clock.tick("forward")
        loss, gu, gi = bpr(ru, ri, u, p, n)
        if self.l2 > 0:
            loss += self.l2 / len(u) * ((times_u * ru * ru).sum() + (times_i * ri * ri).sum())
            weight = 2 * self.l2 / len(u)
            gu += weight * times_u * ru
            gi += weight * times_i * ri
        self.clock.tick("loss")
        du, di = self.layers.backward(users, items, gu, gi)
        self.clock.tick("backward")
        dti, dtu, dw = self.adam.gradients
        dti[:-1] = item.times(du, user_weight.index_select(0, self.to_item))
        dtu[:-1] = user.times(di, item_weight.index_select(0, self.to_user))
        torch.mv(du.t(), user_general, out=dti[-1])
        torch.mv(di.t(), item_general, out=dtu[-1])
        self.clock.tick("inmo backward")
        a, b = tu[su], ti[sn] - ti[sp]
        difference = (a * b * w).sum(1)
        slope = torch.sigmoid(difference).mul_(self.self_weight / len(su))[:, None]
        loss += self.self_weight * F.softplus(difference).mean()
        torch.sum(slope * a * b, 0, out=dw)
        dtu.index_add_(0, su, slope * b * w)
        a = slope * a * w
        dti.index_add_(0, sn, a)
        dti.index_add_(0, sp, a, alpha=-1)
        self.clock.tick("self loss")
        return loss

    def step(self):
        self.clock.start()
        triples = self.sampler.draw(self.batch) + self.sampler.draw(self.batch)
        self.clock.tick("sample")
        mask = self.mask()
        self.clock.tick("mask")
        loss = self.gradient(*triples, mask)
        self.adam.step()
        self.clock.tick("adam")
        return float(loss)

    def check(self):
        triples = self.sampler.draw(self.batch) + self.sampler.draw(self.batch)
        mask = self.mask()
        share = 1.0 - float((mask[0] > 0).float().mean())
        if abs(share - self.dropout) > 0.01:
            raise SystemExit(f"torch_step: {share:.3f} of the entries are dropped, not {self.dropout}")
        l2, self.l2 = self.l2, 1e-2  # every term is checked, also one that is not used
        loss = self.gradient(*triples, mask)
        with torch.enable_grad():
            leaves = [x.detach().clone().requires_grad_() for x in self.parameters]
            expected = self.plain(leaves, *triples, mask)
            expected.backward()
        self.l2 = l2
        compare(loss, expected, self.adam.gradients, [x.grad for x in leaves])

    def plain(self, leaves, u, p, n, su, sp, sn, mask):
        ti, tu, w = leaves
        user, item = self.layers.user, self.layers.item
        eu = plain_product(user, mask[0], ti[:-1], item.rows) + mask[2][:, None] * ti[-1]
        ei = plain_product(item, mask[1], tu[:-1], user.rows) + mask[3][:, None] * tu[-1]
        ru, ri = plain_layers(self.layers, eu, ei)
        l2 = (ru[u] ** 2).sum() + (ri[p] ** 2).sum() + (ri[n] ** 2).sum()
        self_loss = F.softplus((tu[su] * w * (ti[sn] - ti[sp])).sum(1)).mean()
        loss = F.softplus((ru[u] * (ri[n] - ri[p])).sum(1)).mean() + self.l2 / len(u) * l2
        return loss + self.self_weight * self_loss


MODELS = {"lightgcn": LightGCN, "inmo-lightgcn": InmoLightGCN}


def make(model, data, threads=2, checked=True, **options):
    """A model ready for step(), on a graph from torch_data.load."""
    torch.set_num_threads(threads)
    torch.set_grad_enabled(False)
    torch.manual_seed(1)
    tune_malloc()
    made = MODELS[model](data, **options)
    if checked:
        made.check()
    return made


def measure(model, steps, warm=3):
    """Milliseconds of each step, and the median of each part."""
    for _ in range(warm):
        model.step()
    model.clock = Clock()
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        model.step()
        times.append(1e3 * (time.perf_counter() - begin))
    return times, {name: statistics.median(spent) for name, spent in model.clock.spent.items()}


def main():
    restart_with_huge_pages()
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("data")
    parser.add_argument("--model", choices=list(MODELS), action="append", help="default: both")
    parser.add_argument("--steps", type=int, default=30)
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--batch", type=int, default=2048)
    parser.add_argument("--dim", type=int, default=64)
    parser.add_argument("--layers", type=int, default=3)
    args = parser.parse_args()
    data = torch_data.load(args.data)
    print(f"{data['users']} users, {data['items']} items, {data['edges']} interactions, batch {args.batch}, "
          f"dim {args.dim}, {args.layers} layers, {args.threads} threads, PyTorch {torch.__version__}")
    for name in args.model or MODELS:
        model = make(name, data, args.threads, batch=args.batch, dim=args.dim, layers=args.layers)
        times, parts = measure(model, args.steps)
        print(f"{name}: {statistics.median(times):.1f} ms a step, median of {args.steps} "
              f"({min(times):.1f} .. {max(times):.1f})")
        print("    " + ", ".join(f"{part} {spent:.1f}" for part, spent in parts.items()))


if __name__ == "__main__":
    main()
