"""Cases about `prepare --memory`: the same bytes as without it, whatever the log and the options; within the memory it was given;
nothing left behind. run.py runs every function called case_..."""
import json
import os
import random
import re
import resource
import signal
import subprocess
import time

from cases_support import read

LEAST = "4M"


def write_log(path, lines, columns, seed, users=3000, items=900, header=True):
    """Lines with everything that decides something: repeats, equal times, low ratings, parts, types of events, long ids."""
    draw = random.Random(seed)
    kinds = ("buy", "like", "view", "view", "return", "other")
    with open(path, "w", encoding="utf-8") as stream:
        if header:
            print(",".join(columns), file=stream)
        for _ in range(lines):
            user, item = int(users * draw.random() ** 2), int(items * draw.random() ** 3)
            row = {"user": f"user-{user:07d}" if user % 5 else f"{user} with a rather long name " + "é" * (user % 90),
                   "item": f"i{item}", "rating": draw.choice("12345"), "time": str(1500000000 + draw.randrange(300)),
                   "split": draw.choice(("train", "train", "valid", "test")), "event": draw.choice(kinds)}
            print(",".join(row[column] for column in columns), file=stream)


def same(world, log, *options, memory=LEAST):
    """Prepares a log with and without the bound and compares files, output and notes."""
    logs = (log,) if isinstance(log, str) else log
    whole = world.inmo("prepare", *logs, "-o", "whole", "--force", *options)
    bound = world.inmo("prepare", *logs, "-o", "bound", "--force", "--memory", memory, *options)
    for name in ("data.safetensors", "meta.json"):
        world.check(read(world.path("whole", name)) == read(world.path("bound", name)),
                    f"{name} of {logs} {options} differs\n{whole}\n{bound}")
    world.check(whole[0].replace("whole", "bound") == bound[0] and whole[1] == bound[1], f"{options}: {whole}\n{bound}")


def case_memory_bound_has_the_same_bytes(world):
    """Splits, filters, scenarios, ratings, events and split columns, with ids of several generations and several runs of each sort."""
    everything = ("user", "item", "rating", "time", "split", "event")
    write_log(world.path("all.csv"), 120000, everything, 1)
    for options in ((), ("--k-core", "8"), ("--by", "time"), ("--by", "time", "--k-core", "12"), ("--by", "column", "--hold-out", "0.3"),
                    ("--by", "random", "--seed", "7", "--split", "80/5/15"), ("--keep-all-ratings",), ("--min-rating", "5"),
                    ("--positive", "buy,like"), ("--positive", "buy", "--seen", "view,like", "--negative", "return"),
                    ("--negative", "return", "--by", "time"), ("--negative", "return,other", "--k-core", "5"),
                    ("--seen", "view", "--k-core", "6", "--by", "column"), ("--scenario", "new-interactions", "--by", "random"),
                    ("--scenario", "new-users-items", "--new-share", "0.3"),
                    ("--scenario", "new-users-items", "--new-choice", "last", "--by", "time", "--k-core", "4")):
        same(world, "all.csv", *options)
    for columns in (("user", "item"), ("item", "user", "time"), ("user", "item", "split"), ("user", "item", "rating")):
        write_log(world.path("few.csv"), 60000, columns, 2)
        same(world, "few.csv")
        same(world, "few.csv", "--k-core", "3")
    # Several files, one of them packed and in another format.
    write_log(world.path("a.csv"), 40000, ("user", "item"), 3)
    write_log(world.path("b.csv"), 40000, ("item", "user"), 4)
    world.check(world.shell("gzip -k b.csv").returncode == 0, "gzip")
    same(world, ("a.csv", "b.csv.gz", "few.csv"), "--columns", "user,item", "--skip-bad", "1000000")


def case_memory_bound_many_ids(world):
    """Hardly any id comes twice: they fill the bound many times, and what is numbered first must not depend on that."""
    draw = random.Random(5)
    with open(world.path("ids.tsv"), "w", encoding="utf-8") as stream:
        for n in range(150000):
            print(f"{draw.getrandbits(60) if n % 3 else draw.randrange(20000):x}\t{draw.randrange(40000)}", file=stream)
    same(world, "ids.tsv", memory="5M")
    same(world, "ids.tsv", "--k-core", "2", memory="5M")
    same(world, "ids.tsv", memory="1G")


def case_memory_bound_corners(world):
    """One line; one user with nearly everything; a chain that the k-core takes apart link by link; bad lines; an empty result."""
    for name, lines in (("one", ["a\tb"]), ("guest", [f"{'guest' if n % 50 else n}\t{n * 7919 % 60000}" for n in range(120000)]),
                        ("chain", [f"u{n // 2}\ti{(n + 1) // 2}" for n in range(40000)]), ("bad", ["a\tb", "a\t", "c\td"])):
        with open(world.path(name), "w", encoding="utf-8") as stream:
            stream.write("\n".join(lines) + "\n")
    same(world, "one")
    same(world, "guest")
    same(world, "guest", "--by", "random", "--split", "50/25/25")
    same(world, "bad", "--skip-bad", "1")
    for options in (("--k-core", "2"), ("--k-core", "2", "--by", "time")):
        for bound in ((), ("--memory", LEAST)):
            _, err = world.inmo("prepare", "chain", "-o", "none", *options, *bound, code=3 if "time" not in options else 2)
            world.check(("nothing is left: 40000 interactions read, 40000 removed" in err) == ("time" not in options), err)
            world.check(not os.path.exists(world.path("none")), "a directory was left")


def case_memory_bound_data_set_in_ranges(world):
    """docs/formats.md: a process that has some of the users reads their part of the file and nothing else."""
    write_log(world.path("log.csv"), 40000, ("user", "item"), 9)
    world.inmo("prepare", "log.csv", "-o", "data", "--memory", LEAST)
    path = world.path("data", "data.safetensors")
    with open(path, "rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(size))

        def numbers(array, first, last, bytes_each):
            stream.seek(8 + size + header[array]["data_offsets"][0] + bytes_each * first)
            text = stream.read(bytes_each * (last - first))
            return [int.from_bytes(text[at:at + bytes_each], "little") for at in range(0, len(text), bytes_each)]

        users = header["train.offset"]["shape"][0] - 1
        whole = numbers("train.item", 0, header["train.item"]["shape"][0], 4)
        for name in ("train.offset", "train.item"):
            world.check((8 + size + header[name]["data_offsets"][0]) % 64 == 0, f"{name} is not aligned")
        for ranks in (1, 2, 3, 7):
            found, cuts = [], [users * rank // ranks for rank in range(ranks + 1)]
            for a, b in zip(cuts, cuts[1:]):
                offset = numbers("train.offset", a, b + 1, 8)
                found += numbers("train.item", offset[0], offset[-1], 4)
            world.check(found == whole and len(whole) > 10000, f"{ranks} ranges")


def peak(world, *arguments):
    """Exit code and peak of resident memory, in bytes."""
    process = subprocess.Popen([world.program, *arguments], cwd=world.folder, env=world.environment, stdin=subprocess.DEVNULL,
                               stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    return process.returncode, usage.ru_maxrss * 1024


def case_memory_bound_is_kept(world):
    """Resident memory stays within the bound, beside what the program takes for nothing; without the bound it does not."""
    with open(world.program, "rb") as stream:
        if re.search(rb"__[at]san_init", stream.read()):
            return  # a sanitizer keeps what was freed, and shadows of all of it
    with open(world.path("one"), "w", encoding="utf-8") as stream:
        stream.write("a\tb\n")
    world.inmo("synth", "--interactions", "3000000", "-o", "log.tsv", "--times")
    code, base = peak(world, "prepare", "one", "-o", "small")
    world.check(code == 0, "prepare")
    for options in ((), ("--k-core", "5"), ("--by", "time")):
        code, used = peak(world, "prepare", "log.tsv", "-o", "data", "--force", "--memory", "24M", *options)
        world.check(code == 0 and used - base < 26 << 20, f"{options}: {used >> 20} MB, of them {base >> 20} for nothing, of 24")
        code, used = peak(world, "prepare", "log.tsv", "-o", "data", "--force", *options)
        world.check(code == 0 and used - base > 40 << 20, f"{options}: {used >> 20} MB without a bound")


def names_in(folder):
    return sorted(name for _, folders, files in os.walk(folder) for name in folders + files)


def case_memory_bound_leaves_nothing(world):
    """Ctrl-C, kill -9, a disk that is full, a folder that may not be written, a bound that is too small: a sentence, and no file."""
    world.inmo("synth", "--interactions", "2000000", "-o", "log.tsv")
    before = names_in(world.folder)
    arguments = ("prepare", "log.tsv", "-o", "data", "--memory", LEAST, "--k-core", "3")
    for number, code in ((signal.SIGINT, None), (signal.SIGKILL, -9)):
        for wait in (0.1, 0.4, 0.9):
            process = world.start(*arguments)
            time.sleep(wait)
            process.send_signal(number)
            _, err = process.communicate(timeout=60)
            world.check(process.returncode in ((0, 11, -2) if code is None else (0, code)), f"{number} {process.returncode} {err}")
            if process.returncode == -9 and os.path.exists(world.path("data")):
                # Killed while the result was being put in place, or after: that folder is whole, or may be written again.
                world.inmo(*(("info", "data") if os.path.exists(world.path("data", "data.safetensors")) else arguments))
                world.shell("rm -rf data")
            if process.returncode != 0:
                world.check(names_in(world.folder) == before, f"{number}: {names_in(world.folder)}")
                world.check(process.returncode != 11 or b"stopped on request" in err, err)
            world.shell("rm -rf data")

    # What kill -9 leaves while the result is written: the folder with parts, which neither stay nor stand in the way.
    os.mkdir(world.path("data"))
    for name in ("data.safetensors", "meta.json"):
        with open(world.path("data", name + ".inmo-part-99"), "w", encoding="utf-8"):
            pass
    world.inmo(*arguments)
    world.check(names_in(world.path("data")) == ["data.safetensors", "meta.json"], names_in(world.path("data")))
    world.shell("rm -rf data")

    # A file may have 3 MB: as full as a disk, without one.
    def short():
        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (3 << 20, 3 << 20))
    done = subprocess.run([world.program, *arguments], cwd=world.folder, env=world.environment, capture_output=True, preexec_fn=short)
    world.check(done.returncode == 4 and b"cannot write temporary files in ." in done.stderr, f"{done.returncode} {done.stderr}")
    world.check(names_in(world.folder) == before, f"a full disk: {names_in(world.folder)}")
    for size in ("1K", "banana", "", "-4M", "3.5", "99999999999T"):
        _, err = world.inmo("prepare", "log.tsv", "-o", "data", f"--memory={size}", code=2)
        world.check("memory" in err, err)
    with open(world.path("ids"), "w", encoding="utf-8") as stream:
        for n in range(400000):
            print(f"u{n}\ti{n}", file=stream)
    _, err = world.inmo("prepare", "ids", "-o", "data", "--memory", "4M", code=9)
    world.check("too small for 400000 users and 400000 items; at least" in err, err)
    needed = err.split("at least ")[1].split(" MB")[0]
    world.inmo("prepare", "ids", "-o", "data", "--memory", f"{needed}M")


def case_packed_files_at_any_number_of_threads(world):
    """Several packed files are unpacked by threads ahead of their turn: the same bytes, the same errors in the same order; pipes wait."""
    packers = ("gzip -k", "zstd -qk", "cat", "gzip -k", "zstd -qk", "gzip -k")
    names = []
    for n, packer in enumerate(packers):
        write_log(world.path(f"day{n}.csv"), 30000, ("user", "item", "time"), n)
        world.check(world.shell(f"{packer} day{n}.csv > /dev/null").returncode == 0, packer)
        names.append(f"day{n}.csv" + {"g": ".gz", "z": ".zst", "c": ""}[packer[0]])
    plain = [f"day{n}.csv" for n in range(len(packers))]
    world.inmo("prepare", *plain, "-o", "plain", "--threads", "1")
    world.inmo("prepare", *names, "-o", "packed", "--threads", "1")
    for threads in ("2", "3", "8"):
        for bound in ((), ("--memory", "300M")):
            world.inmo("prepare", *names, "-o", "many", "--force", "--threads", threads, *bound)
            for name in ("data.safetensors", "meta.json"):
                world.check(read(world.path("many", name)) == read(world.path("packed", name)), f"{threads} threads, {bound}: {name}")
    # But for the names of the files, it is what the plain ones give.
    arrays = [(data := read(world.path(name, "data.safetensors")))[8 + int.from_bytes(data[:8], "little"):] for name in ("plain", "packed")]
    world.check(arrays[0] == arrays[1] and len(arrays[0]) > 100000, "plain and packed")

    # The third file is cut off, the second has a bad line: whoever is first in the log is told.
    cut = read(world.path(names[3]))
    with open(world.path("cut.gz"), "wb") as stream:
        stream.write(cut[:len(cut) // 2])
    with open(world.path("bad.csv"), "w", encoding="utf-8") as stream:
        stream.write("user,item,time\na,b,1\nc,,2\n")
    for threads in ("1", "2", "8"):
        _, err = world.inmo("prepare", names[0], "cut.gz", "bad.csv", names[1], "-o", "none", "--threads", threads, code=3)
        world.check("cut.gz: the gzip data is cut off" in err, err)
        _, err = world.inmo("prepare", names[0], "bad.csv", "cut.gz", names[1], "-o", "none", "--threads", threads, code=3)
        world.check("bad.csv:3: found an empty item" in err, err)
        world.check(not os.path.exists(world.path("none")), "a directory was left")
    # One who writes into two pipes, one after the other.
    done = world.shell("mkfifo a b; (cat day0.csv > a; cat day1.csv.zst > b) & timeout 60 inmo prepare a b -o pipes --threads 4", timeout=90)
    world.check(done.returncode == 0, done.stderr)
