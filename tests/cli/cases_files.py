"""Cases about outputs: devices, pairs of files, folders that refuse, a full disk, short memory. run.py runs every function called case_..."""
import os
import re
import shutil
import stat
import subprocess

from cases_support import read, first


def case_short_memory_is_said(world):
    """The n-th allocation of jansson or the program fails, alone or with all after it: exit code 9 and no JSON, or the whole
    result. Never a part of it, never a file that is called damaged."""
    library = os.environ.get("INMO_SHORT_MEMORY")
    if not library:
        return
    user, item = first(world, 0), first(world, 1)
    mf, data, log = (os.path.join(world.small, name) for name in ("mf", "data", "log.tsv"))
    with open(world.path("options.json"), "w", encoding="utf-8") as stream:
        stream.write('{"k": 3}')
    tune = ("tune", data, "-o", "search", "--model", "mf", "--dim", "4", "--epochs", "1", "-q", "--search", "l2=0|1e-4", "--json")
    for arguments in (("recommend", mf, "--user", user, "--explain", "2", "--json", "--config", "options.json"),
                      ("recommend", mf, "--all-users", "-o", "-", "--k", "2", "--json"),
                      ("similar", mf, "--item", item, "--k", "3", "--json"), ("explain", mf, "--user", user, "--item", item, "--json"),
                      ("info", mf, "--json"), ("evaluate", mf, data, "--json"), ("help", "train", "--json"),
                      ("prepare", log, "-o", "prepared", "--force", "--json"), tune):

        def run(at, stays):
            more = {"INMO_SETTLED": "1", "LD_PRELOAD": library, "INMO_FAIL_NARROW": "1", "INMO_FAIL_AT": str(at),
                    **({"INMO_FAIL_ON": "1"} if stays else {})}
            shutil.rmtree(world.path("search"), ignore_errors=True)
            done = subprocess.run([world.program, *arguments, *(() if arguments[0] == "help" else ("--threads", "1"))],
                                  cwd=world.folder, env=dict(world.environment, **more), capture_output=True, timeout=60)
            return done.returncode, re.sub(rb'"\w*seconds": [0-9.e-]+', b"", done.stdout), done.stderr

        code, whole, err = run(-1, 0)
        world.check(code == 0 and whole, f"{arguments}: {err}")
        at, reached = 0, True
        while reached and at < 100000:
            reached = False
            for stays in (0, 1):
                code, out, err = run(at, stays)
                ended = code == 9 and b"not enough memory" in err and whole.startswith(out)
                world.check(ended or (code == 0 and out == whole), f"{arguments}, {at}: {code} {out[-300:]} {err}")
                reached |= code != 0
            world.check(reached or at > 4, f"{arguments}: nothing failed")
            at += 1 + at // 2


def case_folder_that_may_not_be_written(world):
    """Refused before the work begins. Root may write anywhere, so root does this as nobody."""
    folder = world.path("closed")
    os.mkdir(folder)
    for path, mode in ((world.small, 0o755), (world.folder, 0o755), (folder, 0o555)):
        os.chmod(path, mode)
    as_nobody = {"user": 65534, "group": 65534, "extra_groups": []} if os.geteuid() == 0 else {}
    log, data, mf = (os.path.join(world.small, name) for name in ("log.tsv", "data", "mf"))
    for arguments in (("train", data, "-o", "closed/m"), ("prepare", log, "-o", "closed/d"),
                      ("synth", "-o", "closed/log"), ("export", mf, "-o", "closed/items"),
                      ("recommend", mf, "--all-users", "-o", "closed/lists")):
        try:
            done = subprocess.run([world.program, *arguments], cwd=world.folder, env=world.environment,
                                  capture_output=True, text=True, **as_nobody)
        except PermissionError:
            return  # the program itself is where nobody may look
        world.check(done.returncode == 4 and done.stderr == "inmo: cannot write in closed: Permission denied\n" and
                    not done.stdout and not os.listdir(folder), f"{arguments}: {done.returncode} {done.stderr}")


def case_devices_and_pipes_are_written_into(world):
    """Never replaced, with or without --force. The device is a node of our own; only where this test may make one."""
    mf = os.path.join(world.small, "mf")
    lists = world.inmo("recommend", mf, "--all-users", "-o", "-", "--k", "3")[0]
    os.mkfifo(world.path("pipe"))
    for more in ((), ("--force",)):
        reader = subprocess.Popen(["cat", world.path("pipe")], stdout=subprocess.PIPE)
        try:
            world.inmo("recommend", mf, "--all-users", "-o", "pipe", "--k", "3", *more)
            world.check(reader.communicate(timeout=60)[0].decode() == lists, "something else came out of the pipe")
        finally:
            reader.kill()
        world.check(stat.S_ISFIFO(os.stat(world.path("pipe")).st_mode), "the pipe was replaced")
    done = world.shell(f"inmo recommend {mf} --all-users -o /dev/stdout --k 3 > collected")
    world.check(done.returncode == 0 and read(world.path("collected")).decode() == lists, done.stderr.decode())
    try:
        os.mknod(world.path("null"), 0o600 | stat.S_IFCHR, os.makedev(1, 3))
        os.close(os.open(world.path("null"), os.O_WRONLY))
    except OSError:
        return
    for more in ((), ("--force",)):
        for arguments in (("recommend", mf, "--all-users", "-o", "null"), ("export", mf, "-o", "null", "--format", "tsv"),
                          ("synth", "-o", "null", "--interactions", "100"),
                          ("train", os.path.join(world.small, "data"), "-o", "null", "--model", "mf", "--epochs", "1")):
            if arguments[0] == "export":  # a name without a suffix gets one
                os.rename(world.path("null"), world.path("null.tsv"))
            world.inmo(*arguments, *more)
            if arguments[0] == "export":
                os.rename(world.path("null.tsv"), world.path("null"))
            world.check(stat.S_ISCHR(os.stat(world.path("null")).st_mode), f"{arguments[0]} replaced the device")
    world.check(sorted(os.listdir(world.folder)) == ["collected", "null", "pipe"], str(os.listdir(world.folder)))


def case_numbers_and_ids_change_together(world):
    """The disk is full at the second of two files; only where this test may mount one."""
    disk = world.path("disk")
    os.mkdir(disk)
    try:
        if subprocess.run(["mount", "-t", "tmpfs", "-o", "size=12k", "tmpfs", disk], capture_output=True).returncode:
            return  # test_file does the same with a limit on file size
    except FileNotFoundError:
        return
    try:
        # Three pages: the numbers take one, and the ids find none, even after the old numbers are gone.
        for name, content in (("items.npy", b""), ("items.ids", b"old ids"), ("other", b"other")):
            with open(os.path.join(disk, name), "wb") as stream:
                stream.write(content)
        err = world.inmo("export", os.path.join(world.small, "mf"), "-o", "disk/items", "--force", code=4)[1]
        world.check("No space left on device" in err, err)
        world.check(read(os.path.join(disk, "items.npy")) == b"" and read(os.path.join(disk, "items.ids")) == b"old ids",
                    "one of the two was replaced")
        world.check(sorted(os.listdir(disk)) == ["items.ids", "items.npy", "other"], str(os.listdir(disk)))
    finally:
        subprocess.run(["umount", disk], check=True)


def case_full_disk_leaves_what_was_there(world):
    """On a file system of 64 KB; only where this test may mount one."""
    disk = world.path("disk")
    os.mkdir(disk)
    try:
        mounted = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", disk],
                                 capture_output=True).returncode == 0
    except FileNotFoundError:
        mounted = False
    if not mounted:
        return  # outputs.transcript does the same with a limit on file size
    try:
        data = os.path.join(world.small, "data")
        world.inmo("synth", "-o", "large", "--interactions", "50000")
        with open(os.path.join(disk, "model"), "wb") as stream:
            stream.write(b"before")
        for arguments in (("train", data, "-o", "disk/model", "--force", "--model", "mf", "--dim", "64", "--epochs",
                           "1", "--checkpoint", "elsewhere"),
                          ("prepare", "large", "-o", "disk/data"),
                          ("synth", "-o", "disk/log", "--interactions", "100000"),
                          ("recommend", os.path.join(world.small, "mf"), "--all-users", "-o", "disk/lists", "--k", "50")):
            err = world.inmo(*arguments, code=4)[1]
            world.check("No space left on device" in err, err)
            world.check(os.listdir(disk) == ["model"] and read(os.path.join(disk, "model")) == b"before",
                        f"{arguments[0]} left {os.listdir(disk)}")
    finally:
        subprocess.run(["umount", disk], check=True)
