#!/usr/bin/python3
"""cluster_model.py - seconds of a training step on several machines: measured in network namespaces, explained by a model,
predicted for more machines than there are here.

    cluster_model.py measure MPI-PROGRAM DATA -o FILE.json --nodes 2 --rate none --dim 64 [--order community] [--epochs 2]
    cluster_model.py check FILE.json
    cluster_model.py predict --halo 2:0.31,4:0.4 [--cores 16] [--all-half] [-o PLOT.svg]

measure adds a run to the file. Ranks have one thread each and a namespace each (tests/mpi/netns.py). check fits the
model on runs without a rate and compares it with those that have one:

    T = c0 + c1 d + b h max(1/R, 1/W) + x (P - 1) L

d: dimensions; b: bytes that the rank with most of them sends or receives in a step; R: rate of a link, and h what headers
add to it; W: rate at which MPI and the kernel copy, which is the processors' work, so that ranks share it when there are more
of them than cores; x: exchanges in a step; L: latency of a message. c0, c1 and W are a least-squares fit of the
runs of two ranks without a rate; L is that of tests/mpi/exchange.c. Nothing is fitted to runs with a rate.

predict takes seconds of a machine from docs/benchmarks.md, where an epoch of 1e8 interactions is measured, and the rows
that a rank fetches from --halo P:SHARE,... (share of all rows, at P ranks, as inmo train --json has them)."""
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


def measure(options):
    os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1", OMP_WAIT_POLICY="passive")
    rate = None if options.rate == "none" else options.rate
    with tempfile.TemporaryDirectory() as scratch, netns.Network(options.nodes, rate) as network:
        done = subprocess.run(
            network.mpirun(os.path.abspath(options.program), "train", options.data, "-o", f"{scratch}/model", "-q", "--json",
                           "--threads", "1", "--no-checkpoint", "--walks", "0", "--links", "0", "--eval-every", "1000",
                           "--start", "random", "--schedule", "constant", "--order", options.order, "--dim", options.dim,
                           "--epochs", options.epochs), capture_output=True, text=True)
    if done.returncode:
        sys.exit(done.stderr)
    report = json.loads(done.stdout)
    ranks = report["ranks"]
    step = report["seconds_per_epoch"] * report["epochs"] / report["steps"]
    waited = [rank["layer_waited_per_step"] + rank["loss_waited_per_step"] for rank in ranks]
    # Nine exchanges of rows in a step (docs/cluster.md; cluster_bytes.py checks the program's count), and the loss's.
    layers = max(rank["bytes_per_layer"] * max(1, rank["received_rows"] / rank["sent_rows"]) for rank in ranks) * 9
    loss = max(rank["loss_bytes"] for rank in ranks) / report["steps"]
    run = {"nodes": options.nodes, "rate": options.rate, "dim": options.dim, "order": options.order,
           "step": step, "computed": step - min(waited), "waited": min(waited), "bytes": layers + loss,
           "exchanges": 9 + max(rank["loss_exchanges"] for rank in ranks) / report["steps"],
           "memory": max(rank["peak_rss_mb"] for rank in ranks)}
    path = pathlib.Path(options.output)
    runs = json.loads(path.read_text()) if path.exists() else []
    path.write_text(json.dumps([*runs, run], indent=1) + "\n")
    print(run)


HEADERS = 1538 / 1448  # an Ethernet frame of 1,500 bytes on the wire, with its gap, and what of it is data
LATENCY = 30e-6
CORES = 2  # of the machine that measured


def load(path):
    return json.loads(pathlib.Path(path).read_text())


def bits(rate):
    return float("inf") if rate == "none" else float(rate.removesuffix("gbit")) * 1e9


def fit(runs):
    """c0, c1 and 1/W of T = c0 + c1 d + 8 b / W."""
    runs = [run for run in runs if run["rate"] == "none" and run["nodes"] <= CORES]
    left = np.array([[1, run["dim"], 8 * run["bytes"]] for run in runs])
    right = np.array([run["step"] - run["exchanges"] * (run["nodes"] - 1) * LATENCY for run in runs])
    return np.linalg.lstsq(left / left.max(axis=0), right, rcond=None)[0] / left.max(axis=0)


def network_seconds(sent, rate, ranks, exchanges, copying):
    """Of a step: bytes over the link of the busiest rank, or through its processor, and messages."""
    return 8 * sent * max(HEADERS / rate, copying) + exchanges * (ranks - 1) * LATENCY


def check(options):
    runs = load(options.measured)
    c0, c1, copying = fit(runs)
    print(f"T = {1e3 * c0:.1f} ms + {1e3 * c1:.3f} ms d + b x 8 max({HEADERS:.3f}/R, 1/{1e-9 / copying:.1f} Gbit/s) + messages")
    print("| namespaces | order, d | link | MB a step | measured, ms | predicted, ms | ratio |\n|---|---|---|---|---|---|---|")
    rows = {}
    for run in runs:
        rows.setdefault((run["nodes"], run["order"], run["dim"], run["rate"]), []).append(run)
    for (nodes, order, dim, rate), same in rows.items():
        shared = copying * max(1, nodes / CORES)
        run = same[0]
        whole = c0 + c1 * dim + network_seconds(run["bytes"], bits(rate), nodes, run["exchanges"], shared)
        link = "no limit" if rate == "none" else rate.replace("gbit", " Gbit/s")
        print(f"| {nodes} | {order}, {dim} | {link} | {1e-6 * run['bytes']:.1f} | "
              + ", ".join(f"{1e3 * each['step']:.0f}" for each in same) + f" | {1e3 * whole:.0f} | "
              + ", ".join(f"{whole / each['step']:.2f}" for each in same) + " |")


# ---- other machines: what is assumed of them, and of the log
DIM, NEGATIVES, GROUPS, STEPS, AT_ONCE = 64, 4096, 8, 16, 2048
TEMPLATES = 0.1  # share of nodes that have parameters
FLOPS = 187e9 / 2  # of a core, in products (docs/benchmarks.md, "Full ranking")
EPOCH = 98.8 * 2 / 1e8  # core-seconds of an interaction in an epoch ("Length of the log")
COPY_RATE = 40e9  # bits a second that a machine can copy with several cores


def sizes(interactions):
    """Users and items as `inmo synth` has them: 40 interactions a user, five times the items for ten times the users."""
    return interactions / 40, 301e3 * 5 ** np.log10(interactions / 1e8)


def halo_share(text):
    points = sorted((int(p), float(share)) for p, share in (pair.split(":") for pair in text.split(",")))
    ranks, shares = (np.log2([point[n] for point in points]) for n in (0, 1))
    slope = (shares[-1] - shares[-2]) / (ranks[-1] - ranks[-2])

    def share(p):
        x = np.log2(p)
        return 2 ** (np.interp(x, ranks, shares) if x <= ranks[-1] else shares[-1] + slope * (x - ranks[-1]))

    return share


def exchanges(interactions, ranks):
    """Of a step: four of them for each round of a batch (src/loss/listwise_ranks.c)."""
    return 15 + 4 * np.ceil(sizes(interactions)[0] / STEPS / (min(ranks, GROUPS) * AT_ONCE))


def predicted(interactions, ranks, rate, share, cores, all_half):
    """Seconds of an epoch, of computing and of the network, and gigabytes of a machine while it starts and trains."""
    users, items = sizes(interactions)
    nodes, batch, training = users + items, users / STEPS, 0.69 * interactions
    product = 6 * batch * NEGATIVES * DIM / FLOPS  # core-seconds a step: on as many machines as there are groups
    rest = EPOCH * interactions / STEPS - product
    computing = rest / ranks / cores + product / min(ranks, GROUPS) / cores
    fetched = nodes * share(ranks) if ranks > 1 else 0
    groups = np.ceil(GROUPS / ranks)
    row = 4 * DIM
    sent = 0
    if ranks > 1:
        judged = 2 * (items + batch) / nodes  # rows of r and its gradient: those of items and of the batch's users
        of_a_row = 2 * 5 + (2 if all_half else 4) * (1 + TEMPLATES + judged)  # bytes of a dimension: layers; de, templates
        sent = (fetched * DIM * of_a_row + (groups + 1 / ranks) * NEGATIVES * row * (ranks - 1)
                + 2 * batch * groups / GROUPS * row * (1 - 1 / ranks) + batch / ranks * 24 * (ranks - 1))
    network = network_seconds(sent, rate, ranks, exchanges(interactions, ranks), 1 / COPY_RATE) if ranks > 1 else 0
    # Numbers of each node, twice while nodes are put in order, as are the rank's rows of the graph; then they are beside
    # singular vectors, of which a rank has its own three times (both blocks, the result, and where it goes), and 32
    # columns of all.
    vectors = 3 * row * nodes / ranks + 128 * max(users, items) if ranks > 1 else 2 * row * nodes
    start = 100 * nodes + max(16 * training / ranks, 8 * training / ranks + vectors)
    # Rows of e, de, three layers in half, templates with their moments; of r, its gradient and a scaled copy of it.
    of_own = 4 * 2 + 2 * 3 + 16 * TEMPLATES + 4 * 3 * (items + batch) / nodes
    # vectors in a validation: of all items; of own users, on their way, and arrived
    judging = items * row + (3 if ranks > 1 else 1) * users / ranks * row
    train = nodes / ranks * of_own * DIM + fetched * 2 * row + 12 * training / ranks + judging + 20 * nodes
    return STEPS * computing, STEPS * network, 1e-9 * start, 1e-9 * train


def predict(options):
    share = halo_share(options.halo)
    print("| interactions | machines | rows fetched | computing, s | network at 1, 10, 100 Gbit/s, s | an epoch at 1, 10, 100, s | "
          "network as long as computing at | GB to start, to train |\n|---|---|---|---|---|---|---|---|")
    curves = {}
    for interactions in (1e8, 1e10):
        for ranks in (1, 2, 4, 8, 16, 32, 64, 128):
            found = {rate: predicted(interactions, ranks, rate * 1e9, share, options.cores, options.all_half)
                     for rate in (1, 10, 100)}
            computing, network, start, train = found[1]
            for rate in found:
                curves.setdefault((interactions, rate), []).append((ranks, sum(found[rate][:2])))
            if ranks in (1, 8, 32, 128):
                messages = STEPS * exchanges(interactions, ranks) * (ranks - 1) * LATENCY
                cells = [f"{interactions:.0e}".replace("e+", "e"), ranks, f"{100 * share(ranks):.0f} %" if ranks > 1 else "",
                         number(computing), ", ".join(number(found[rate][1]) for rate in found) if ranks > 1 else "",
                         ", ".join(number(sum(found[rate][:2])) for rate in found) if ranks > 1 else number(computing),
                         equal(network - messages, computing - messages) if ranks > 1 else "",
                         f"{number(start)}, {number(train)}"]
                print("| " + " | ".join(map(str, cells)) + " |")
    if options.output:
        plot(curves, options.output)


def equal(network, computing):
    """The rate at which what takes so long at 1 Gbit/s takes as long as computing."""
    return f"{number(network / computing)} Gbit/s" if computing > 0 else "no rate"


def number(value):
    return f"{value:,.0f}" if value >= 100 else f"{value:.2g}"


def plot(curves, output):
    colour = {1: "#c0392b", 10: "#2471a3", 100: "#1e8449"}
    blocks, plots = [], []
    for (interactions, rate), points in curves.items():
        name = f"$d{len(blocks)}"
        blocks.append(f"{name} << EOD\n" + "".join(f"{p} {seconds}\n" for p, seconds in points) + "EOD\n")
        dash = 1 if interactions == 1e8 else 2
        plots.append(f"{name} with linespoints lw 2 pt 7 ps 0.4 dt {dash} lc rgb '{colour[rate]}' "
                     f"title '{interactions:.0e}, {rate} Gbit/s'")
    subprocess.run(["gnuplot"], check=True, text=True, input="".join(blocks) + f"""
set terminal svg noenhanced size 760,420 font 'sans-serif,13' background '#ffffff'
set output '{output}'
set title 'predicted: an epoch of 1e8 and of 1e10 interactions'
set logscale xy
set xrange [0.9:140]
set xlabel 'machines'
set ylabel 'seconds an epoch'
set xtics (1, 2, 4, 8, 16, 32, 64, 128)
set grid lc rgb '#dddddd'
set key outside right
plot {', '.join(plots)}
""")


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("measure")
    command.add_argument("program")
    command.add_argument("data")
    command.add_argument("-o", "--output", required=True)
    command.add_argument("--nodes", type=int, default=2)
    command.add_argument("--rate", default="none")
    command.add_argument("--dim", type=int, default=64)
    command.add_argument("--order", default="community")
    command.add_argument("--epochs", type=int, default=2)
    command = commands.add_parser("check")
    command.add_argument("measured")
    command = commands.add_parser("predict")
    command.add_argument("--halo", required=True)
    command.add_argument("--cores", type=float, default=16, help="of a machine, as many as they are worth together")
    command.add_argument("--all-half", action="store_true", help="as if all rows travelled in half precision")
    command.add_argument("-o", "--output")
    options = parser.parse_args()
    {"measure": measure, "check": check, "predict": predict}[options.command](options)


if __name__ == "__main__":
    main()
