#!/usr/bin/python3
"""cluster_bytes.py - what ranks must send one another, computed from the data alone, against what the kernel counts.

    cluster_bytes.py MPI-PROGRAM DATA [--nodes 2] [--dim 128] [--negatives 4096] [--batch 2048]

The prediction knows the rule of the cut (src/graph/share.h) and the formula of docs/cluster.md, and nothing of the
program's own counting. With `--order none` nodes are cut in the order of the data, so that the rows each rank
has to fetch can be counted here with numpy. The bytes are those that pass the network interfaces of namespaces
(tests/mpi/netns.py) in a run of two epochs, less those of a run of one: what starts and ends a run is in both."""
import argparse
import json
import os
import pathlib
import subprocess
import sys
import tempfile

import numpy as np

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent / "tests" / "mpi"))
import netns  # noqa: E402

LAYERS, GROUPS = 3, 8


def interactions(folder):
    """The training interactions of a prepared data set, as (users, items, user of each, item of each)."""
    raw = (pathlib.Path(folder) / "data.safetensors").read_bytes()
    size = int.from_bytes(raw[:8], "little")
    header = json.loads(raw[8:8 + size])

    def array(name, kind):
        begin, end = header[name]["data_offsets"]
        return np.frombuffer(raw[8 + size + begin:8 + size + end], kind)

    offset, item = array("train.offset", "<i8"), array("train.item", "<i4")
    return len(offset) - 1, len(array("items.new", "u1")), np.repeat(np.arange(len(offset) - 1), np.diff(offset)), item


def blocks(degree, ranks):
    """Where nodes are cut into blocks of equal edge ends: the first node that has its share of all before it."""
    before = np.concatenate([[0], np.cumsum(degree)])
    wanted = (before[-1] * np.arange(1, ranks) + ranks - 1) // ranks
    inner = np.maximum(np.searchsorted(before, wanted, "left"), 1)
    return np.concatenate([[0], np.minimum(inner, len(degree)), [len(degree)]])


def of_blocks(borders, count):
    """The block of each of so many nodes."""
    return np.searchsorted(borders, np.arange(count), "right") - 1


def reads(user, item, of_user, of_item):
    """Rows of items and of users, with the ranks that have to fetch them, each once."""
    for node, owner, reader in ((item, of_item, of_user[user]), (user, of_user, of_item[item])):
        needed = np.unique(node.astype(np.int64) * 4096 + reader)
        row, rank = needed // 4096, needed % 4096
        yield owner[row[owner[row] != rank]], rank[owner[row] != rank]


def cut(users, items, user, item, ranks):
    """The rank of each user and of each item."""
    degrees = np.bincount(user, minlength=users), np.bincount(item, minlength=items)
    borders = [blocks(degree, ranks) for degree in degrees]
    common = np.zeros((ranks, ranks), np.int64)
    np.add.at(common, (of_blocks(borders[0], users)[user], of_blocks(borders[1], items)[item]), 1)
    rank_of_block = np.full(ranks, -1)
    for _ in range(ranks):  # the pair with most edges in common first; the first of equal ones
        free = np.ma.masked_array(common, mask=common < 0)
        rank, block = np.unravel_index(free.argmax(), common.shape)
        rank_of_block[block] = rank
        common[rank, :] = common[:, block] = -1

    def owners():
        return of_blocks(borders[0], users), rank_of_block[of_blocks(borders[1], items)]

    def fetched():
        return sum(len(rank) for _, rank in reads(user, item, *owners()))

    least = fetched()
    for border in range(1, ranks):  # each moves a little, to where fewer rows are fetched
        for side, degree in enumerate(degrees):
            before, places = np.concatenate([[0], np.cumsum(degree)]), borders[side]
            best, part = places[border], before[-1] // ranks
            at = before[best]
            for shift in (32, 64, 128):
                for sign in (-1, 1):
                    found = np.searchsorted(before, at + sign * (part // shift), "left")
                    places[border] = min(max(found, places[border - 1]), places[border + 1])
                    now = fetched()
                    if now < least:
                        least, best = now, places[border]
            places[border] = best
    return owners()


def rows(users, items, user, item, ranks):
    """For each rank, how many rows of items and of users it sends after a layer; and the rank of each item."""
    of_user, of_item = cut(users, items, user, item, ranks)
    return [np.bincount(owner, minlength=ranks) for owner, _ in reads(user, item, of_user, of_item)], of_item


def predicted(folder, ranks, dim, negatives, batch):
    """Bytes that each rank sends in a step of inmo-lightgcn with the fast recipe and all templates."""
    users, items, user, item = interactions(folder)
    negatives = min(negatives, items)
    (sent_items, sent_users), of_item = rows(users, items, user, item, ranks)
    steps = max(1, round(users / batch))
    in_batch, others, row = users / steps, ranks - 1, 4 * dim
    sent = sent_items + sent_users
    layers = dim * (sent * (2 * (2 * LAYERS - 1) + 2 * 4)  # halves; templates and de
                    + 2 * 4 * (sent_items + sent_users / steps))  # r and its gradient
    groups = np.bincount(np.arange(GROUPS) * ranks // GROUPS if ranks < GROUPS else np.arange(GROUPS), minlength=ranks)
    loss = (negatives * np.bincount(of_item, minlength=ranks) / items * row * others  # drawn evenly, sent to all
            + groups * negatives * row * others  # sums of groups of users
            + 2 * in_batch / ranks * (1 - 1 / ranks) * row  # users to the rank of their group, and back
            + in_batch / ranks * (8 + 16) * others)  # log-sums, losses, weights
    return sent, layers, loss


def counted(program, folder, ranks, options):
    """Bytes that each node has sent in the second of two epochs, how many steps that are, and rows by the program."""
    runs = []
    with tempfile.TemporaryDirectory() as scratch, netns.Network(ranks) as network:
        for epochs in (1, 2):
            before = network.counters()
            done = subprocess.run(
                network.mpirun(program, "train", folder, "-o", f"{scratch}/model", "--force", "-q", "--json", "--threads", "1",
                               "--layers", str(LAYERS), "--no-checkpoint", "--walks", "0", "--links", "0", "--order", "none",
                               "--eval-every", "1000", "--schedule", "constant", "--epochs", str(epochs), *options),
                capture_output=True, text=True)
            if done.returncode:
                raise OSError(done.stderr)
            runs.append(([new["tx"]["bytes"] - old["tx"]["bytes"] for old, new in zip(before, network.counters())],
                         json.loads(done.stdout)))
    return np.subtract(runs[1][0], runs[0][0]), runs[1][1]["steps"] - runs[0][1]["steps"], \
        np.array([rank["sent_rows"] for rank in runs[1][1]["ranks"]])


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("program")
    parser.add_argument("data")
    for name, value in (("nodes", 2), ("dim", 128), ("negatives", 4096), ("batch", 2048)):
        parser.add_argument(f"--{name}", type=int, default=value)
    options = parser.parse_args()
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_WAIT_POLICY="passive")
    sent, layers, loss = predicted(options.data, options.nodes, options.dim, options.negatives, options.batch)
    kernel, steps, said = counted(os.path.abspath(options.program), options.data, options.nodes,
                                  ["--dim", options.dim, "--negatives", options.negatives, "--batch", options.batch])
    print(" node   rows a layer  (the program's)   MB a step: layers     loss   predicted   the kernel's   ratio")
    for n in range(options.nodes):
        whole, found = layers[n] + loss[n], kernel[n] / steps
        print(f"{n:5}  {sent[n]:13,}  {said[n]:15,}  {1e-6 * layers[n]:19.3f}  {1e-6 * loss[n]:7.3f}  {1e-6 * whole:10.3f}"
              f"  {1e-6 * found:13.3f}  {found / whole:6.3f}")


if __name__ == "__main__":
    main()
