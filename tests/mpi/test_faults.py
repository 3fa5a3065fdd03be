"""test_faults.py - a rank that is killed at a chosen place, has no memory, or is silent: the job ends, says why, and goes
on from the last checkpoint to the same bytes. See run.sh, aimed.c and ../alloc/failing.c."""
import filecmp
import os
import signal
import subprocess
import time

import pytest

from test_ranks import MPI, MPIRUN, RUN, data, finished, ranks_of, start, train, wait_for  # noqa: F401 (fixtures)

AIMED, FAILING = os.environ["INMO_AIMED"], os.environ["INMO_FAILING"]
OFTEN = [*RUN, "--checkpoint-seconds", "0"]  # a checkpoint after every step


def words(data, output, options, threads=1):
    return [MPI, "train", str(data), "-o", str(output), "--force", "-q", "--threads", str(threads), *options]


def mixed(command, settings, odd=1, ranks=3):
    """mpirun of ranks that are alike, but for the environment of one of them."""
    line = list(MPIRUN)
    for n in range(ranks):
        more = [word for item in settings.items() for word in ("-x", "=".join(item))] if n == odd else []
        line += [":"] * (n > 0) + ["-n", "1", *more, *command]
    return line



# Where, on which rank, at which call, before or after it, for which file. In the order in which a step comes by.
PLACES = {
    "in a step, computing": ("cblas_sgemm", 0, 40, False, None),
    "in an exchange, before a message": ("MPI_Isend", 1, 600, False, None),
    "in an exchange, after a message": ("MPI_Isend", 2, 600, True, None),
    "in an exchange, waiting": ("MPI_Waitall", 0, 400, False, None),
    "in a checkpoint, before its file": ("rename", 1, 2, False, ".checkpoint.a.1"),
    "in a checkpoint, after its file": ("rename", 2, 2, True, ".checkpoint.b.2"),
    "in a checkpoint, between the files and their name": ("rename", 0, 5, False, ".checkpoint"),
    "in a checkpoint, after the name": ("rename", 0, 5, True, ".checkpoint"),
}


@pytest.mark.parametrize("place", PLACES)
def test_a_rank_killed_at_a_chosen_place(data, finished, tmp_path, place):
    call, rank, at, after, path = PLACES[place]
    model = tmp_path / "model"
    aim = {"LD_PRELOAD": AIMED, "INMO_KILL_CALL": call, "INMO_KILL_RANK": str(rank), "INMO_KILL_AT": str(at)}
    aim |= {"INMO_KILL_AFTER": "1"} if after else {}
    aim |= {"INMO_KILL_PATH": path} if path else {}
    job = subprocess.Popen(mixed(words(data, model, OFTEN), aim, odd=rank), stdout=subprocess.DEVNULL,
                           stderr=subprocess.PIPE, text=True)
    while job.poll() is None and len(ranks_of(model)) < 3:
        time.sleep(0.005)
    while job.poll() is None and len(ranks_of(model)) == 3:
        time.sleep(0.005)
    since = time.monotonic()
    message = job.communicate(timeout=60)[1]
    seconds = time.monotonic() - since
    assert job.returncode != 0 and f"process rank {rank} " in message and "signal 9" in message, message
    assert seconds < 30
    wait_for(lambda: not ranks_of(model), 10)
    assert not model.exists() and (tmp_path / "model.checkpoint").exists()
    train(data, model, [*OFTEN, "--resume"], ranks=2)
    assert filecmp.cmp(model, finished, shallow=False)
    assert not list(tmp_path.glob("model.checkpoint*"))


def count_allocations(data, tmp_path):
    count = tmp_path / "count"
    environment = {"LD_PRELOAD": FAILING, "INMO_FAIL_NARROW": "1", "INMO_FAIL_COUNT": str(count)}
    subprocess.run(mixed(words(data, tmp_path / "counted", OFTEN), environment), check=True, capture_output=True,
                   timeout=120)
    return int(count.read_text())


def test_a_rank_without_memory_ends_all_and_says_so(data, finished, tmp_path):
    """From some allocation on rank 1 gets no more memory. Wherever that is, all end, and what was saved is whole."""
    count, resumed = count_allocations(data, tmp_path), 0
    for n in range(8):
        model = tmp_path / f"model{n}"
        environment = {"LD_PRELOAD": FAILING, "INMO_FAIL_NARROW": "1", "INMO_FAIL_ON": "1",
                       "INMO_FAIL_AT": str(count * (2 * n + 1) // 16)}
        done = subprocess.run(mixed(words(data, model, OFTEN), environment), capture_output=True, text=True, timeout=60)
        assert done.returncode == 9 and "rank 1: " in done.stderr and "memory" in done.stderr, done.stderr
        wait_for(lambda: not ranks_of(model), 10)
        assert not model.exists()
        if (tmp_path / f"model{n}.checkpoint").exists():
            train(data, model, [*OFTEN, "--resume"], ranks=2)
            assert filecmp.cmp(model, finished, shallow=False)
            resumed += 1
    assert resumed > 0


def test_no_addresses_for_openblas_are_an_error_and_no_hang(data, tmp_path):
    """OpenBLAS itself would wait for ever for a buffer of 128 MB."""
    line = words(data, tmp_path / "model", OFTEN, threads=2)
    limited = ["sh", "-c", 'ulimit -v 450000; exec "$@"', "sh", *line]
    done = subprocess.run([*MPIRUN, "-n", "1", *line, ":", "-n", "1", *limited], capture_output=True, text=True, timeout=60)
    assert done.returncode == 9 and "rank 1: no memory for OpenBLAS: 2 threads need 256 MB" in done.stderr, done.stderr


def test_a_silent_rank_is_named_after_the_timeout(data, finished, tmp_path, monkeypatch):
    """One that is stopped, as one whose file server is gone: no connection breaks, so only a clock can tell."""
    monkeypatch.setenv("INMO_RANK_TIMEOUT", "3")
    model = tmp_path / "model"
    job = start(data, model, OFTEN, 3)
    wait_for((tmp_path / "model.checkpoint").exists)
    ranks = ranks_of(model)
    os.kill(ranks[1], signal.SIGSTOP)
    since = time.monotonic()
    message = job.communicate(timeout=60)[1]
    assert job.returncode != 0 and 3 <= time.monotonic() - since < 30
    assert "no message for 3 s (INMO_RANK_TIMEOUT) while waiting for " in message, message
    wait_for(lambda: not ranks_of(model), 10)
    train(data, model, [*OFTEN, "--resume"], ranks=3)  # with the timeout, which does not disturb
    assert filecmp.cmp(model, finished, shallow=False)


def test_a_timeout_that_is_none_is_refused(data, tmp_path, monkeypatch):
    monkeypatch.setenv("INMO_RANK_TIMEOUT", "soon")
    done = train(data, tmp_path / "model", RUN, ranks=2, check=False)
    assert done.returncode == 2 and "INMO_RANK_TIMEOUT: found 'soon', expected whole seconds" in done.stderr
