"""torch_autograd.py - the same training steps as PyTorch code is usually written: torch.sparse products, autograd,
torch.optim.Adam. torch_step.py is the hand-made counterpart; compare_step.py measures both beside inmo.

The adjacency is stored once, as COO (what published LightGCN code uses) or CSR (the faster of PyTorch's sparse layouts on
a CPU). Autograd cannot differentiate through a CSR product in this version, so the product is a Function whose
backward is the same product: the matrix is symmetric. INMO's dropped matrix is made anew in each step and is
differentiated by its transpose, with the same values."""
import time
import warnings

import torch
import torch.nn.functional as F

from torch_step import Clock, Sampler

warnings.filterwarnings("ignore", message=".*beta state.*")


class Product(torch.autograd.Function):
    @staticmethod
    def forward(context, forward, backward, x):
        context.backward_matrix = backward
        return torch.sparse.mm(forward, x)

    @staticmethod
    def backward(context, gradient):
        return None, None, torch.sparse.mm(context.backward_matrix, gradient.contiguous())


class Autograd:
    """LightGCN, or with inmo the inductive module below it."""

    def __init__(self, graph, layout, inmo, dim=64, layers=3, batch=2048, dropout=0.3, beta=0.01):
        tensor = {k: torch.from_numpy(v) for k, v in graph.items() if k not in ("users", "items", "edges")}
        self.users, self.items, self.edges = graph["users"], graph["items"], graph["edges"]
        self.layout, self.inmo, self.layers, self.batch = layout, inmo, layers, batch
        self.dropout, self.beta = dropout, beta
        self.nodes = self.users + self.items
        self.offset_u, self.offset_i = tensor["user_offset"], tensor["item_offset"]
        user_row = torch.repeat_interleave(torch.arange(self.users), self.offset_u.diff())
        item_row = torch.repeat_interleave(torch.arange(self.items), self.offset_i.diff()) + self.users
        self.row = torch.cat([user_row, item_row])
        self.column = torch.cat([tensor["user_column"] + self.users, tensor["item_column"]])
        self.offset = torch.cat([self.offset_u, self.offset_i[1:] + self.edges])
        # entry (v, w) and its transpose (w, v): where the second stands
        turn = tensor["turn"]
        self.mirror = torch.empty(2 * self.edges, dtype=torch.int64)
        self.mirror[self.edges:] = turn
        self.mirror[turn] = torch.arange(self.edges, 2 * self.edges)
        degree = torch.clamp(self.offset.diff(), min=1).float()
        self.matrix = self.sparse(degree[self.row].rsqrt() * degree[self.column].rsqrt())
        self.scale = (degree + 1).pow(-0.5)
        torch.manual_seed(1)
        self.table = torch.nn.Parameter(0.1 * torch.randn(self.nodes, dim))
        parameters = [self.table]
        if inmo:
            self.general = torch.nn.Parameter(0.1 * torch.randn(2, dim))
            self.w = torch.nn.Parameter(torch.ones(dim))
            parameters += [self.general, self.w]
        self.adam = torch.optim.Adam(parameters, lr=1e-3, foreach=True)
        self.sampler = Sampler(graph)
        self.clock = Clock()

    def sparse(self, value):
        if self.layout == "csr":
            return torch.sparse_csr_tensor(self.offset, self.column, value, (self.nodes, self.nodes))
        return torch.sparse_coo_tensor(torch.stack([self.row, self.column]), value, (self.nodes, self.nodes))._coalesced_(True)

    def embeddings(self):
        if not self.inmo:
            return self.table
        kept = (torch.rand(2 * self.edges) >= self.dropout).float() / (1 - self.dropout) * self.scale[self.row]
        e = Product.apply(self.sparse(kept), self.sparse(kept[self.mirror]), self.table)
        general = (torch.rand(self.nodes, 1) >= self.dropout).float() / (1 - self.dropout) * self.scale[:, None]
        return e + general * torch.cat([self.general[:1].expand(self.users, -1), self.general[1:].expand(self.items, -1)])

    def step(self):
        with torch.enable_grad():
            self.adam.zero_grad(set_to_none=True)
            u, p, n = (x.long() for x in self.sampler.draw(self.batch))
            p, n = p + self.users, n + self.users
            r = e = self.embeddings()
            total = e
            for _ in range(self.layers):
                r = Product.apply(self.matrix, self.matrix, r)
                total = total + r
            total = total / (self.layers + 1)
            ru, rp, rn = total[u], total[p], total[n]
            loss = F.softplus((ru * rn).sum(1) - (ru * rp).sum(1)).mean()
            if self.inmo:
                su, sp, sn = (x.long() for x in self.sampler.draw(self.batch))
                tu = self.table[su] * self.w
                loss = loss + self.beta * F.softplus(
                    (tu * self.table[sn + self.users]).sum(1) - (tu * self.table[sp + self.users]).sum(1)).mean()
            else:
                loss = loss + 1e-4 * (e[u].square().sum(1) + e[p].square().sum(1) + e[n].square().sum(1)).mean()
            loss.backward()
            self.adam.step()


def measure(model, steps, warm=2):
    for _ in range(warm):
        model.step()
    times = []
    for _ in range(steps):
        begin = time.perf_counter()
        model.step()
        times.append(1e3 * (time.perf_counter() - begin))
    return times
