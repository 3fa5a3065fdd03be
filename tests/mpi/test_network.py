"""test_network.py - ranks in network namespaces, which talk by TCP over links that can be cut. See netns.py and run.sh."""
import filecmp
import json
import pathlib
import subprocess
import sys
import time

import pytest

import netns
from test_ranks import MPI, RUN, data, inmo, train, wait_for  # noqa: F401 (fixtures)

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2] / "bench"))
import cluster_bytes  # noqa: E402

WHY_NOT = netns.why_not()
pytestmark = pytest.mark.skipif(WHY_NOT is not None, reason=str(WHY_NOT))

LONG = [*RUN, "--schedule", "constant", "--epochs", "60", "--patience", "1000", "--checkpoint-seconds", "0"]
# docs/cluster.md: the daemons of mpirun ask one another every ten seconds, and give up after five times two.
KEEPALIVE = ["--mca", "oob_tcp_keepalive_time", "10", "--mca", "oob_tcp_keepalive_intvl", "2", "--mca",
             "oob_tcp_keepalive_probes", "5"]


@pytest.fixture(scope="module")
def references(data, tmp_path_factory):
    folder = tmp_path_factory.mktemp("network")
    train(data, folder / "short", [*RUN, "--no-checkpoint"])
    train(data, folder / "long", [*LONG, "--no-checkpoint"])
    return folder


def words(data, output, options):
    return [MPI, "train", data, "-o", output, "--force", "-q", "--threads", "1", *options]


def start(network, data, output, options):
    return subprocess.Popen(network.mpirun(*words(data, output, options), options=KEEPALIVE),
                            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


@pytest.mark.parametrize("nodes,rate", [(2, None), (4, "1gbit")])
def test_machines_of_a_network_train_to_the_bytes_of_one(data, references, tmp_path, nodes, rate):
    with netns.Network(nodes, rate) as network:
        before = network.counters()
        done = subprocess.run(network.mpirun(*words(data, tmp_path / "model", [*RUN, "--no-checkpoint", "--json"])),
                              capture_output=True, text=True, timeout=240)
        assert done.returncode == 0, done.stderr
        after = network.counters()
        # All that ranks say to one another is on the wires: no memory that they share.
        for rank, old, new in zip(json.loads(done.stdout)["ranks"], before, after, strict=True):
            said = rank["layer_bytes"] + rank["loss_bytes"] + rank["other_bytes"]
            assert new["tx"]["bytes"] - old["tx"]["bytes"] > said > 0
        assert not network.processes()
    assert filecmp.cmp(tmp_path / "model", references / "short", shallow=False)


def test_a_link_cut_for_five_seconds_changes_nothing(data, references, tmp_path):
    model = tmp_path / "model"
    with netns.Network(2) as network:
        job = start(network, data, model, LONG)
        wait_for((tmp_path / "model.checkpoint").exists)
        network.cut(1)
        time.sleep(0.5)
        before = network.counters()[1]["rx"]["bytes"]
        time.sleep(5)
        assert job.poll() is None and network.counters()[1]["rx"]["bytes"] - before < 1000
        network.mend(1)
        message = job.communicate(timeout=240)[1]
        assert job.returncode == 0, message
    assert filecmp.cmp(model, references / "long", shallow=False)


def test_a_link_cut_for_ever_ends_the_job_which_goes_on_elsewhere(data, references, tmp_path):
    model = tmp_path / "model"
    with netns.Network(3) as network:
        job = start(network, data, model, LONG)
        wait_for((tmp_path / "model.checkpoint").exists)
        time.sleep(1)
        network.cut(2)
        since = time.monotonic()
        message = job.communicate(timeout=120)[1]
        assert job.returncode != 0 and "lost communication with a remote daemon" in message, message
        wait_for(lambda: not network.processes(), 60)  # also those that are cut off
        assert time.monotonic() - since < 60
        assert not model.exists()
    train(data, model, [*LONG, "--resume"], ranks=2)
    assert filecmp.cmp(model, references / "long", shallow=False)


@pytest.mark.parametrize("nodes", [2, 3])
def test_the_kernel_counts_the_bytes_that_the_data_predicts(tmp_path, nodes):
    """Rows that ranks fetch, from the data alone; bytes, from the network interfaces: bench/cluster_bytes.py."""
    inmo("synth", "-o", tmp_path / "log.tsv", "--interactions", 50000, "--seed", 3, "-q")
    inmo("prepare", tmp_path / "log.tsv", "-o", tmp_path / "data", "-q")
    sent, layers, loss = cluster_bytes.predicted(tmp_path / "data", nodes, 64, 128, 256)
    kernel, steps, said = cluster_bytes.counted(MPI, tmp_path / "data", nodes,
                                                ["--dim", 64, "--negatives", 128, "--batch", 256])
    assert list(said) == list(sent)
    for n in range(nodes):
        assert kernel[n] / steps == pytest.approx(layers[n] + loss[n], rel=0.05)
