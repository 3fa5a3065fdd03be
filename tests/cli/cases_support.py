"""What the cases share: files, checkpoints and locks as they look from outside."""
import fcntl
import json
import os
import time

LONG_RUN = ("--dim", "32", "--batch", "64", "--patience", "1000")


def read(path):
    with open(path, "rb") as stream:
        return stream.read()


def first(world, column):
    with open(os.path.join(world.small, "log.tsv"), encoding="utf-8") as stream:
        return stream.readline().split()[column]


def keys(world, text, *promised):
    found = json.loads(text)
    for key in promised:
        world.check(key in found, f'no key "{key}" in {text}')
    return found


def stamp(path):
    try:
        return os.stat(path).st_mtime_ns
    except FileNotFoundError:
        return None


def wait_for_checkpoints(path, process, count, seconds=60):
    """Until the file has been written so many times: the run is that far, however fast the machine is."""
    end, last, seen = time.monotonic() + seconds, stamp(path), 0
    while seen < count and process.poll() is None and time.monotonic() < end:
        now = stamp(path)
        seen += now is not None and now != last
        last = now or last
        time.sleep(0.002)
    return seen >= count and process.poll() is None


def epochs_of(world, seconds, least, *run):
    """Epochs that take about this long on this machine, so that there is time to interrupt them. Of three trials the fastest
    counts: a machine that is busy now may be idle later."""
    trials = [json.loads(world.inmo(*run, "-o", "trial", "--epochs", "5", "--json", "-q", "--force")[0])["seconds"]
              for _ in range(3)]
    return max(least, min(3000, int(seconds * 5 / max(min(trials), 1e-3))))


def epochs_for(world, data, model, seconds):
    return str(epochs_of(world, seconds, 6, "train", data, "--model", model, *LONG_RUN))


def lines_in(path):
    return read(path).count(b"\n") if os.path.exists(path) else 0


def is_locked(path):
    descriptor = os.open(path, os.O_RDONLY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    finally:
        os.close(descriptor)
    return False
