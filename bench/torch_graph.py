"""torch_graph.py - a training step of NGCF, IMC-GAE and IDCF-LGCN as PyTorch code is written: autograd, torch.optim.Adam, and a
sparse product in one of three ways (compare_graph.py measures them beside inmo):

    coo, csr   torch.sparse.mm in that layout
    bag        embedding_bag with weights, the fastest product that PyTorch has on a CPU (torch_spmm.py)

As in torch_autograd.py the product is a Function whose backward multiplies by the transpose. NGCF's dropped matrix is made
anew in each step; its transpose has the same values, permuted. IMC-GAE propagates all three thirds, as the model is
defined. IDCF's keys are frozen, so its queries are summed once; each head multiplies them by its Wq. Same settings as inmo's --recipe paper: batch 2048, d 64, K 3, BPR, L2 on the batch's representations."""
import torch
import torch.nn.functional as F

from torch_step import Sampler


class Matrix:
    """A square sparse matrix whose pattern is symmetric; the values of a step and of its transpose."""

    def __init__(self, row, column, nodes, layout):
        order = torch.argsort(row * nodes + column)
        self.row, self.column, self.nodes, self.layout = row[order], column[order], nodes, layout
        self.mirror = torch.argsort(self.column * nodes + self.row)
        self.offset = torch.zeros(nodes + 1, dtype=torch.int64)
        self.offset[1:] = torch.bincount(self.row, minlength=nodes).cumsum(0)
        self.index = torch.stack([self.row, self.column])

    def with_values(self, value):
        if self.layout == "coo":
            return torch.sparse_coo_tensor(self.index, value, (self.nodes, self.nodes))._coalesced_(True)
        if self.layout == "csr":
            return torch.sparse_csr_tensor(self.offset, self.column, value, (self.nodes, self.nodes))
        return value

    def times(self, values, x):
        if self.layout == "bag":
            return F.embedding_bag(self.column, x, self.offset, mode="sum", per_sample_weights=values,
                                   include_last_offset=True)
        return torch.sparse.mm(values, x)


class Product(torch.autograd.Function):
    @staticmethod
    def forward(context, matrix, values, transposed, x):
        context.matrix, context.transposed = matrix, transposed
        return matrix.times(values, x)

    @staticmethod
    def backward(context, gradient):
        return None, None, None, context.matrix.times(context.transposed, gradient.contiguous())


class Graph:
    """What the models share: the graph, the sampler, the loss."""

    def __init__(self, graph, layout, self_loops, dim, layers, batch, dropout, l2):
        self.users, self.items = graph["users"], graph["items"]
        self.nodes, self.layers, self.batch, self.dropout, self.l2 = self.users + self.items, layers, batch, dropout, l2
        user = torch.repeat_interleave(torch.arange(self.users), torch.from_numpy(graph["user_offset"]).diff())
        item = torch.from_numpy(graph["user_column"]) + self.users
        loops = torch.arange(self.nodes if self_loops else 0)
        self.matrix = Matrix(torch.cat([user, item, loops]), torch.cat([item, user, loops]), self.nodes, layout)
        self.degree = self.matrix.offset.diff().clamp(min=1).float()
        self.sampler = Sampler(graph)
        torch.manual_seed(1)

    def step(self):
        with torch.enable_grad():
            self.adam.zero_grad(set_to_none=True)
            u, p, n = (x.long() for x in self.sampler.draw(self.batch))
            r = self.representations()
            ru, rp, rn = r[u], r[p + self.users], r[n + self.users]
            loss = F.softplus((ru * rn).sum(1) - (ru * rp).sum(1)).mean()
            if self.l2 > 0:
                loss = loss + self.l2 * (ru.square().sum(1) + rp.square().sum(1) + rn.square().sum(1)).mean()
            loss = loss + self.own_loss((u, p + self.users, n + self.users))
            loss.backward()
            self.adam.step()

    def own_loss(self, nodes):
        return 0.0


class NGCF(Graph):
    def __init__(self, graph, layout, dim=64, layers=3, batch=2048, dropout=0.1, l2=1e-3):
        super().__init__(graph, layout, True, dim, layers, batch, dropout, l2)
        self.table = torch.nn.Embedding(self.nodes, dim)
        self.linear = torch.nn.ModuleList(torch.nn.Linear(dim, dim) for _ in range(2 * layers))
        for layer in [self.table, *self.linear]:
            torch.nn.init.kaiming_uniform_(layer.weight)
        for layer in self.linear:
            torch.nn.init.zeros_(layer.bias)
        self.value = (1 / self.degree)[self.matrix.row]
        self.adam = torch.optim.Adam([*self.table.parameters(), *self.linear.parameters()], lr=1e-3, foreach=True)

    def representations(self):
        value = F.dropout(self.value, self.dropout)
        there, back = self.matrix.with_values(value), self.matrix.with_values(value[self.matrix.mirror])
        x = self.table.weight
        columns = [x]
        for l in range(self.layers):
            m = Product.apply(self.matrix, there, back, x)
            x = F.leaky_relu(self.linear[2 * l](m) + self.linear[2 * l + 1](x * m), 0.2)
            x = F.dropout(x, self.dropout)
            columns.append(F.normalize(x))
        return torch.cat(columns, dim=1)


class IMCGAE(Graph):
    def __init__(self, graph, layout, dim=64, layers=3, batch=2048, dropout=0.3, l2=0.0):
        super().__init__(graph, layout, False, dim, layers, batch, dropout, l2)
        self.table = torch.nn.Parameter(0.1 * torch.randn(self.nodes, dim))
        self.general = torch.nn.Parameter(0.1 * torch.randn(3, dim))
        root = self.degree.rsqrt()
        self.value = self.matrix.with_values(root[self.matrix.row] * root[self.matrix.column])
        self.adam = torch.optim.Adam([self.table, self.general], lr=1e-3, foreach=True)

    def representations(self):
        user, item, shared = self.general
        general = torch.cat([user.expand(self.users, -1), item.expand(self.items, -1)])
        x = torch.cat([self.table, general, shared.expand(self.nodes, -1)], dim=1)
        total = x
        for l in range(self.layers):
            kept = F.dropout(torch.ones(self.nodes, 1), max(self.dropout - 0.1 * l, 0.0))
            x = Product.apply(self.matrix, self.value, self.value, kept * x)
            total = total + x / (l + 2)
        return total


class Attention(torch.nn.Module):
    """Heads over keys that are sampled anew in each step, the same for all queries."""

    def __init__(self, keys, queries, heads, sample):
        super().__init__()
        dim, self.sample, self.keys, self.queries = keys.shape[1], sample, keys, queries
        self.q, self.k, self.v = (torch.nn.ModuleList(torch.nn.Linear(dim, dim, bias=False) for _ in range(heads))
                                  for _ in range(3))
        self.out = torch.nn.Linear(heads * dim, dim, bias=False)
        for layer in [*self.q, *self.k, *self.v, self.out]:
            torch.nn.init.kaiming_uniform_(layer.weight)

    def forward(self):
        answers = []
        for q, k, v in zip(self.q, self.k, self.v):
            self.seen = self.keys[torch.randperm(len(self.keys))[: self.sample]]
            share = torch.softmax(q(self.queries) @ k(self.seen).T, dim=1)
            answers.append(share @ v(self.seen))
        return self.out(torch.cat(answers, dim=1))

    def square_norms(self):
        return sum(layer.weight.square().sum() for layer in [*self.q, *self.k])


class IDCF(Graph):
    def __init__(self, graph, layout, dim=64, layers=3, batch=2048, heads=4, sample=50, l2=1e-4, contrast=1e-3):
        super().__init__(graph, layout, False, dim, layers, batch, 0.0, l2)
        self.contrast = contrast
        self.keys = 0.1 * torch.randn(self.nodes, dim)
        queries = self.matrix.times(self.matrix.with_values(torch.ones(len(self.matrix.row))), self.keys)
        self.side = [Attention(self.keys[part], queries[part], heads, sample)
                     for part in (slice(self.users), slice(self.users, None))]
        root = self.degree.rsqrt()
        self.value = self.matrix.with_values(root[self.matrix.row] * root[self.matrix.column])
        self.adam = torch.optim.Adam([w for side in self.side for w in side.parameters()], lr=1e-3, foreach=True)

    def representations(self):
        self.e = x = total = torch.cat([side() for side in self.side])
        for _ in range(self.layers):
            x = Product.apply(self.matrix, self.value, self.value, x)
            total = total + x
        return total / (self.layers + 1)

    def own_loss(self, nodes):
        loss = self.l2 * sum(side.square_norms() for side in self.side)
        for which, v in enumerate(nodes):
            e, seen = self.e[v], self.side[min(which, 1)].seen
            loss = loss + self.contrast * (torch.logsumexp(e @ seen.T, dim=1) - (e * self.keys[v]).sum(1)).mean()
        return loss


MODELS = {"ngcf": NGCF, "imc-gae": IMCGAE, "idcf-lightgcn": IDCF}
