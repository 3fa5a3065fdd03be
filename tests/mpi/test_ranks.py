"""test_ranks.py - several ranks train to the bytes of one, and end together when one of them ends. See run.sh."""
import filecmp
import json
import os
import pathlib
import re
import signal
import subprocess
import time

import pytest

MPI, ORDINARY = os.environ["INMO_MPI"], os.environ["INMO_ORDINARY"]
# Bound to cores, ranks wait for each other's turn on a machine that has more to do.
MPIRUN = ["mpirun", "--oversubscribe", "--bind-to", "none"]


def inmo(*arguments, program=ORDINARY, ranks=0, check=True, timeout=240, **more):
    command = [program, *map(str, arguments)]
    if ranks:
        command = [*MPIRUN, "-n", str(ranks), MPI, *map(str, arguments)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, **more)
    assert not check or done.returncode == 0, done.stderr
    return done


def train(data, output, options, ranks=0, threads=1, **more):
    return inmo("train", data, "-o", output, "--force", "-q", "--threads", threads, *options, ranks=ranks, **more)


@pytest.fixture(scope="session")
def data(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data")
    inmo("synth", "-o", folder / "log.tsv", "--interactions", 6000, "--seed", 3, "-q")
    inmo("prepare", folder / "log.tsv", "-o", folder / "data", "-q")
    return folder / "data"


SHORT = ["--no-checkpoint", "--epochs", "2", "--eval-every", "1", "--dim", "32"]
PAPER = ["--recipe", "paper", "--batch", "500", *SHORT]
CASES = {
    "default": SHORT,
    "inmo-lightgcn": ["--walks", "0", "--links", "0", *SHORT],
    "templates": ["--walks", "0", "--links", "0", "--templates", "0.6", "--dropout", "0.2", *SHORT],
    "unordered": ["--order", "none", "--storage", "float", "--l2", "1e-4", *SHORT],
    "inmo-mf": ["--model", "inmo-mf", *SHORT],
    "lightgcn": ["--model", "lightgcn", "--temperature", "0.1", *SHORT],
    "mf": ["--model", "mf", "--l2", "0.01", *SHORT],
    "mf-listwise": ["--model", "mf", "--l2", "0.01", "--loss", "listwise", "--popularity", "-0.2", *SHORT],
    "paper-inmo-lightgcn": PAPER,
    "paper-inmo-mf": ["--model", "inmo-mf", "--popularity", "-0.2", *PAPER],
    "paper-lightgcn": ["--model", "lightgcn", *PAPER],
    "paper-mf": ["--model", "mf", *PAPER],
}


@pytest.fixture(scope="session")
def reference(data, tmp_path_factory):
    """The model of the ordinary program, made once for each case."""
    folder = tmp_path_factory.mktemp("reference")

    def made(case):
        path = folder / case
        if not path.exists():
            train(data, path, CASES[case], threads=2)
        return path

    return made


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("ranks", [3, 4])
def test_models_have_the_bytes_of_one_rank(data, reference, tmp_path, case, ranks):
    train(data, tmp_path / "model", CASES[case], ranks=ranks)
    assert filecmp.cmp(tmp_path / "model", reference(case), shallow=False)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("ranks", [1, 2, 3, 4])
def test_any_number_of_ranks_and_threads(data, reference, tmp_path, ranks, threads):
    train(data, tmp_path / "model", CASES["templates"], ranks=ranks, threads=threads)
    assert filecmp.cmp(tmp_path / "model", reference("templates"), shallow=False)


def test_more_ranks_than_groups_of_users(data, reference, tmp_path):
    train(data, tmp_path / "model", CASES["templates"], ranks=10)
    assert filecmp.cmp(tmp_path / "model", reference("templates"), shallow=False)


@pytest.mark.parametrize("rule", ["error-sort", "error-sort-svd-norm", "page-rank", "random"])
def test_templates_by_any_rule(data, tmp_path, rule):
    options = [*CASES["templates"], "--template-rule", rule, "--epochs", "1"]
    train(data, tmp_path / "one", options, threads=2)
    train(data, tmp_path / "three", options, ranks=3)
    assert filecmp.cmp(tmp_path / "one", tmp_path / "three", shallow=False)


def test_rows_given_back_and_batches_in_rounds(tmp_path):
    """Neighbours' rows fill whole huge pages here, whose memory goes back to the system after each product; and a
    batch has more users than the ranks judge at once."""
    inmo("synth", "-o", tmp_path / "log.tsv", "--interactions", 60000, "--users", 8000, "--items", 6000, "--purity", "0.5", "-q")
    inmo("prepare", tmp_path / "log.tsv", "-o", tmp_path / "data", "-q")
    options = ["--walks", "0", "--links", "0", "--no-checkpoint", "--epochs", "1", "--dim", "256", "--start", "random",
               "--negatives", "512", "--batch", "8000", "--least-steps", "1"]
    train(tmp_path / "data", tmp_path / "one", options, threads=2)
    train(tmp_path / "data", tmp_path / "two", options, ranks=2)
    assert filecmp.cmp(tmp_path / "one", tmp_path / "two", shallow=False)


def test_choice_and_refit_are_the_same(tmp_path):
    """A raw log: something is held out, settings are tried, and everything is trained on in the end."""
    inmo("synth", "-o", tmp_path / "log.tsv", "--interactions", 1500, "--seed", 5, "-q")
    options = ["--model", "mf", "--no-checkpoint", "--epochs", "3", "--eval-every", "1", "--dim", "16"]
    train(tmp_path / "log.tsv", tmp_path / "one", options)
    train(tmp_path / "log.tsv", tmp_path / "three", options, ranks=3)
    assert filecmp.cmp(tmp_path / "one", tmp_path / "three", shallow=False)
    assert "refit" in inmo("info", tmp_path / "one", "--json").stdout


@pytest.mark.parametrize("name,lines", [
    ("more ranks than users", [(u, i) for u in range(3) for i in range(5) if (u + i) % 3]),
    ("an item of everybody", [(u, 0) for u in range(40)] + [(u, 1 + u % 7) for u in range(40)]),
])
def test_odd_graphs(tmp_path, name, lines):
    log = tmp_path / "log.tsv"
    log.write_text("".join(f"u{u}\ti{i}\n" for u, i in lines))
    for case in (["--walks", "0", "--links", "0"], ["--model", "mf", "--l2", "0.01"]):
        options = [*case, "--hold-out", "0", "--epochs", "2", "--dim", "16", "--no-checkpoint"]
        train(log, tmp_path / "one", options)
        train(log, tmp_path / "six", options, ranks=6)
        assert filecmp.cmp(tmp_path / "one", tmp_path / "six", shallow=False), name


# The depth is given: a fault is aimed at a place in the run itself, not in the trials before it.
RUN = ["--layers", "3", "--walks", "0", "--links", "0", "--epochs", "6", "--eval-every", "2", "--dim", "32", "--templates", "0.8"]


@pytest.fixture(scope="session")
def finished(data, tmp_path_factory):
    path = tmp_path_factory.mktemp("finished") / "model"
    train(data, path, [*RUN, "--no-checkpoint"])
    return path


def test_resumes_with_another_number_of_ranks(data, tmp_path):
    options = ["--model", "mf", "--l2", "0.01", "--schedule", "constant", "--eval-every", "1", "--dim", "32"]
    train(data, tmp_path / "whole", [*options, "--epochs", "4", "--no-checkpoint"])
    model = tmp_path / "model"
    for first, second in ((3, 2), (2, 4), (3, 0), (0, 3)):  # 0: the ordinary program
        train(data, model, [*options, "--epochs", "2", "--keep-checkpoint"], ranks=first)
        assert len(list(tmp_path.glob("model.checkpoint*"))) == 1 + first
        train(data, model, [*options, "--epochs", "4", "--resume"], ranks=second)
        assert filecmp.cmp(model, tmp_path / "whole", shallow=False)
        assert not list(tmp_path.glob("model.checkpoint*"))


def start(data, output, options, ranks, *more):
    command = [*MPIRUN, *more, "-n", str(ranks), MPI, "train", str(data), "-o", str(output), "--force", "--threads", "1",
               *options]
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)


def ranks_of(output):
    """The process ids of the ranks that make a file."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0") if entry.name.isdigit() else []
        except OSError:
            continue
        if words and words[0] == MPI.encode() and str(output).encode() in words:
            found.append(int(entry.name))
    return sorted(found)


def wait_for(what, seconds=60):
    end = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < end, "nothing came"
        time.sleep(0.01)


@pytest.mark.parametrize("delay", [0, 0.05, 0.3])
def test_a_killed_rank_ends_all_and_the_run_goes_on(data, finished, tmp_path, delay):
    """Killed wherever it is: in a step, an exchange or a checkpoint, which there is after every step."""
    model = tmp_path / "model"
    options = [*RUN, "--checkpoint-seconds", "0"]
    job = start(data, model, options, 3)
    wait_for((tmp_path / "model.checkpoint").exists)
    time.sleep(delay)
    ranks = ranks_of(model)
    if job.poll() is None and len(ranks) == 3:
        os.kill(ranks[1], signal.SIGKILL)
        message = job.communicate(timeout=30)[1]
        assert job.returncode != 0 and "signal 9" in message
        wait_for(lambda: not ranks_of(model), 30)
        if not model.exists():  # on a fast machine it may be there: killed after its last step
            train(data, model, [*options, "--resume"], ranks=2)
    else:
        job.communicate(timeout=60)
    assert filecmp.cmp(model, finished, shallow=False)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_reaches_all_and_the_run_goes_on(data, tmp_path, number):
    model = tmp_path / "model"
    options = ["--walks", "0", "--links", "0", "--schedule", "constant", "--eval-every", "50", "--patience", "10000",
               "--dim", "32", "--least-steps", "2"]
    job = start(data, model, [*options, "--epochs", "10000"], 2, "--mca", "odls_base_sigkill_timeout", "2")
    time.sleep(3)
    job.send_signal(number)
    message = job.communicate(timeout=60)[1]
    stopped = re.search(r"training stopped on request in epoch (\d+)", message)
    assert job.returncode != 0 and stopped and "--resume" in message, message
    options += ["--epochs", stopped[1]]
    train(data, model, [*options, "--resume"], ranks=3)
    train(data, tmp_path / "whole", [*options, "--no-checkpoint"])
    assert filecmp.cmp(model, tmp_path / "whole", shallow=False)


def test_a_rank_that_cannot_write_leaves_the_last_checkpoint(data, finished, tmp_path):
    model = tmp_path / "model"
    (tmp_path / "model.checkpoint.a.1").mkdir()  # the second set begins with .a
    done = train(data, model, [*RUN, "--checkpoint-seconds", "0"], ranks=3, check=False)
    assert done.returncode != 0 and "rank 1" in done.stderr and "model.checkpoint.a.1" in done.stderr
    (tmp_path / "model.checkpoint.a.1").rmdir()
    train(data, model, [*RUN, "--resume"], ranks=2)
    assert filecmp.cmp(model, finished, shallow=False)


@pytest.mark.parametrize("options,named", [
    (["--model", "ease"], "ease cannot be trained on several ranks"),
    (["--model", "inmo-ngcf"], "inmo-ngcf cannot be trained on several ranks"),
    (["--loss", "softmax"], "--loss: found 'softmax', expected listwise or bpr"),
])
def test_what_cannot_be_cut_is_refused_before_anything_is_read(tmp_path, options, named):
    done = train(tmp_path / "nowhere", tmp_path / "model", options, ranks=2, check=False)
    assert done.returncode == 2 and named in done.stderr and "nowhere" not in done.stderr


@pytest.fixture(scope="session")
def weighted(tmp_path_factory):
    folder = tmp_path_factory.mktemp("weighted")
    inmo("synth", "-o", folder / "log.tsv", "--interactions", 6000, "--seed", 4, "-q")
    lines = (folder / "log.tsv").read_text().splitlines()
    (folder / "weighted.tsv").write_text("".join(f"{line}\t{1 + n * n % 7}\n" for n, line in enumerate(lines)))
    inmo("prepare", folder / "weighted.tsv", "-o", folder / "data", "--columns", "user,item,weight", "-q")
    inmo("prepare", folder / "log.tsv", "-o", folder / "plain", "--columns", "user,item", "-q")
    return folder


@pytest.mark.parametrize("case", ["default", "templates", "unordered", "lightgcn", "inmo-mf", "paper-inmo-lightgcn"])
def test_weights_of_interactions(weighted, tmp_path, case):
    train(weighted / "data", tmp_path / "one", CASES[case], threads=2)
    train(weighted / "data", tmp_path / "three", CASES[case], ranks=3)
    assert filecmp.cmp(tmp_path / "one", tmp_path / "three", shallow=False)
    train(weighted / "plain", tmp_path / "plain", CASES[case])
    parameters = [inmo("export", tmp_path / name, "-o", "-", "--format", "tsv").stdout for name in ("one", "plain")]
    assert parameters[0] != parameters[1]


@pytest.mark.parametrize("case", ["default", "templates", "lightgcn", "mf", "paper-inmo-lightgcn"])
def test_a_warm_start(data, tmp_path, case):
    """From a model of three quarters of the users: the other rows are turned into the space of its vectors."""
    log = (data.parent / "log.tsv").read_text().splitlines()
    (tmp_path / "earlier.tsv").write_text("".join(line + "\n" for line in log if int(line.split()[0][1:]) % 4))
    inmo("prepare", tmp_path / "earlier.tsv", "-o", tmp_path / "earlier", "--split", "100/0/0", "-q")
    inmo("prepare", data.parent / "log.tsv", "-o", tmp_path / "later", "--split", "90/10/0", "-q")
    train(tmp_path / "earlier", tmp_path / "first", CASES[case])
    options = [*CASES[case], "--from", tmp_path / "first", "--from-epochs", "2"]
    train(tmp_path / "later", tmp_path / "one", options, threads=2)
    train(tmp_path / "later", tmp_path / "three", options, ranks=3)
    assert filecmp.cmp(tmp_path / "one", tmp_path / "three", shallow=False)


def two_kinds(first, second, folders=(".", ".")):
    return subprocess.run([*MPIRUN, "-wdir", folders[0], "-n", "1", MPI, *map(str, first), ":",
                           "-wdir", folders[1], "-n", "1", MPI, *map(str, second)], capture_output=True, text=True, timeout=60)


def test_ranks_that_differ_are_refused(data, tmp_path):
    inmo("synth", "-o", tmp_path / "log.tsv", "--interactions", 6000, "--seed", 4, "-q")
    inmo("prepare", tmp_path / "log.tsv", "-o", tmp_path / "other", "-q")
    words = ["train", data, "-o", tmp_path / "model", "-q", *SHORT]
    done = two_kinds(words, [*words, "--seed", "7"])
    assert done.returncode != 0 and "rank 1: all ranks must be alike" in done.stderr and '"seed": 7' in done.stderr
    done = two_kinds(words, ["train", tmp_path / "other", "-o", tmp_path / "model", "-q", *SHORT])
    assert done.returncode != 0 and "rank 1: all ranks must be alike: found 'data:" in done.stderr
    for n in range(2):  # an earlier model of the same name that is another one
        (tmp_path / str(n)).mkdir()
        train(data, tmp_path / str(n) / "earlier", [*CASES["inmo-lightgcn"], "--epochs", 1 + n])
    warm = ["train", data, "-o", tmp_path / "model", "-q", *CASES["inmo-lightgcn"], "--from", "earlier"]
    done = two_kinds(warm, warm, (tmp_path / "0", tmp_path / "1"))
    assert done.returncode != 0 and "rank 1: all ranks must be alike: --from: earlier is not the model" in done.stderr
    copy = tmp_path / "inmo"
    copy.write_bytes(pathlib.Path(MPI).read_bytes() + b"\0")
    copy.chmod(0o755)
    done = subprocess.run([*MPIRUN, "-n", "1", MPI, *map(str, words), ":", "-n", "1", copy, *map(str, words)],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode != 0 and "rank 1: all ranks must be alike: found 'program:" in done.stderr


def test_other_commands_run_on_one_rank(tmp_path):
    done = inmo("synth", "-o", tmp_path / "log.tsv", ranks=2, check=False)
    assert done.returncode == 2 and "inmo synth runs on one rank" in done.stderr


def test_evaluation_and_lists_of_all_users_are_those_of_one_rank(data, reference, tmp_path):
    model = reference("default")
    one, three = (json.loads(inmo("evaluate", model, data, "--json", ranks=ranks).stdout) for ranks in (0, 3))
    assert one["groups"] == three["groups"]
    for ranks in (0, 3):
        inmo("recommend", model, "--all-users", "-o", tmp_path / f"{ranks}.tsv", "-q", ranks=ranks)
    assert filecmp.cmp(tmp_path / "0.tsv", tmp_path / "3.tsv", shallow=False)
    done = inmo("recommend", model, "--items", "x", ranks=2, check=False)
    assert done.returncode == 2 and "--all-users" in done.stderr


def test_a_grown_log_is_weighed_alike_on_all_ranks(tmp_path):
    inmo("synth", "-o", tmp_path / "log.tsv", "--interactions", 12000, "--seed", 4, "-q")
    inmo("prepare", tmp_path / "log.tsv", "-o", tmp_path / "data", "--scenario", "new-users-items", "-q")
    inmo("train", tmp_path / "data", "-o", tmp_path / "model", "--refit", "none", "--dim", 16, "--epochs", 6, "-q")
    one, three = (inmo("evaluate", tmp_path / "model", tmp_path / "data", "--json", ranks=ranks) for ranks in (0, 3))
    assert "weighed again" in one.stderr and "singular vectors" in one.stderr  # ranks decompose the graph together
    assert json.loads(one.stdout)["groups"] == json.loads(three.stdout)["groups"]


def test_bytes_are_those_of_the_cut(data, tmp_path):
    options = [*CASES["paper-lightgcn"], "--storage", "float", "--json"]  # every exchange of a layer is of all rows
    ranks = json.loads(train(data, tmp_path / "model", options, ranks=4).stdout)["ranks"]
    assert [rank["rank"] for rank in ranks] == [0, 1, 2, 3]
    assert sum(rank["sent_rows"] for rank in ranks) == sum(rank["received_rows"] for rank in ranks) > 0
    for rank in ranks:
        assert rank["layer_exchanges"] > 0 and rank["waited"] > 0
        assert rank["bytes_per_layer"] == pytest.approx(rank["sent_rows"] * 32 * 4, rel=1e-6)
    text = train(data, tmp_path / "model", CASES["lightgcn"], ranks=2).stdout
    assert "ms waited a step" in text


def test_the_ordinary_program_does_not_need_mpi():
    assert "libmpi" in subprocess.run(["ldd", MPI], capture_output=True, text=True).stdout
    assert "libmpi" not in subprocess.run(["ldd", ORDINARY], capture_output=True, text=True).stdout
