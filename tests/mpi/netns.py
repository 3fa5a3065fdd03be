#!/usr/bin/python3
"""netns.py - machines of a cluster on this one: network namespaces, each with its own address, on a switch.

    netns.py [--nodes 4] [--rate 1gbit] [--slots 1] -- MPI-PROGRAM ARGUMENT...

runs a program by mpirun with one rank in each namespace, and prints what passed over each link, as the kernel counts
it. Needs root. Open MPI starts its daemons by a script that enters a namespace where ssh would enter a machine; each has a
name of its own (a UTS namespace), so ranks take one another for remote and talk by TCP alone. They share the file
system, as on a cluster.

    node 0: eth0 10.99.0.1 ---- p0 |
    node 1: eth0 10.99.0.2 ---- p1 | bridge, in a namespace of its own: nothing outside of it changes

The rate is that of a link, in both directions (a token bucket at both ends). There is no delay beyond that of the
kernel, as this needs netem, which many small kernels do not have."""
import argparse
import json
import os
import pathlib
import shutil
import signal
import subprocess
import sys
import tempfile
import time

SUBNET = "10.99.0"
AGENT = """#!/bin/sh
# In place of ssh: agent ADDRESS COMMAND...
node=$((${{1##*.}} - 1)); shift
export TMPDIR={folder}
exec ip netns exec {prefix}$node unshare --uts sh -c 'hostname "$0" && exec sh -c "$1"' node$node "$*"
"""


def run(*words, check=True):
    done = subprocess.run([str(word) for word in words], capture_output=True, text=True)
    if check and done.returncode:
        raise OSError(f"{' '.join(map(str, words))}: {done.stderr.strip()}")
    return done.stdout


class Network:
    """with Network(4, "1gbit") as network: subprocess.run(network.mpirun(...))"""

    def __init__(self, nodes, rate=None, burst=None):
        self.nodes, self.rate, self.burst = nodes, rate, burst
        self.prefix = f"inmo{os.getpid()}-"
        self.names = [f"{self.prefix}{n}" for n in range(nodes)]
        self.switch = f"{self.prefix}switch"
        self.folder = None

    def __enter__(self):
        try:
            self.build()
        except BaseException:
            self.remove()
            raise
        return self

    def __exit__(self, *_):
        self.remove()

    def build(self):
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="inmo-net-"))
        run("ip", "netns", "add", self.switch)
        run("ip", "-n", self.switch, "link", "add", "bridge", "type", "bridge")
        run("ip", "-n", self.switch, "link", "set", "bridge", "up")
        for n, name in enumerate(self.names):
            run("ip", "netns", "add", name)
            run("ip", "-n", self.switch, "link", "add", f"p{n}", "type", "veth", "peer", "name", "eth0", "netns", name)
            run("ip", "-n", self.switch, "link", "set", f"p{n}", "master", "bridge", "up")
            run("ip", "-n", name, "address", "add", f"{SUBNET}.{n + 1}/24", "dev", "eth0")
            run("ip", "-n", name, "link", "set", "lo", "up")
            run("ip", "-n", name, "link", "set", "eth0", "up")
            # What Linux does unless it is told otherwise, whatever this kernel was told.
            run("ip", "netns", "exec", name, "sh", "-c", "echo cubic >/proc/sys/net/ipv4/tcp_congestion_control",
                check=False)
            if self.rate:
                self.limit(name, "eth0")
                self.limit(self.switch, f"p{n}")
        agent = self.folder / "agent"
        agent.write_text(AGENT.format(folder=self.folder, prefix=self.prefix))
        agent.chmod(0o755)
        (self.folder / "hosts").write_text("".join(f"{SUBNET}.{n + 1} slots=64\n" for n in range(self.nodes)))

    def limit(self, name, device):
        bits = self.rate.lower().replace("bit", "")
        number = float(bits.rstrip("kmg")) * {"k": 1e3, "m": 1e6, "g": 1e9}[bits[-1]]
        # What passes in a millisecond, and at least two of the large packets that TCP hands down.
        burst = self.burst or max(int(number / 8 / 1000), 131072)
        run("tc", "-n", name, "qdisc", "add", "dev", device, "root", "tbf", "rate", self.rate, "burst", burst,
            "latency", "50ms")

    def remove(self):
        """Ends whatever runs in the namespaces, and takes them away."""
        for name in [*self.names, self.switch]:
            for pid in self.processes(name):
                try:
                    os.kill(pid, signal.SIGKILL)
                except ProcessLookupError:
                    pass
        for name in [*self.names, self.switch]:
            run("ip", "netns", "delete", name, check=False)
        if self.folder:
            shutil.rmtree(self.folder, ignore_errors=True)

    def processes(self, name=None):
        """The process ids in a namespace, or in all."""
        found = []
        for one in [name] if name else self.names:
            found += map(int, run("ip", "netns", "pids", one, check=False).split())
        return found

    def inside(self, node, *words):
        """The command that runs another in a namespace."""
        return ["ip", "netns", "exec", self.names[node], *map(str, words)]

    def mpirun(self, *words, ranks=None, options=()):
        """The command that starts ranks in the namespaces, round robin, from the first of them."""
        start = 'hostname node0 && exec "$@"'
        return self.inside(0, "env", f"TMPDIR={self.folder}", "unshare", "--uts", "sh", "-c", start, "sh", "mpirun",
                           "--hostfile", self.folder / "hosts", "--map-by", "node", "--bind-to", "none",
                           "--mca", "plm_rsh_agent", self.folder / "agent", "--mca", "pml", "ob1", "--mca", "btl", "tcp,self",
                           "--mca", "btl_tcp_if_include", f"{SUBNET}.0/24", "--mca", "oob_tcp_if_include",
                           f"{SUBNET}.0/24", *options, "-n", ranks or self.nodes, *words)

    def cut(self, node):
        """Pulls the cable of a node: at the switch, so its own end does not know, as with a switch that died."""
        run("ip", "-n", self.switch, "link", "set", f"p{node}", "nomaster")

    def mend(self, node):
        run("ip", "-n", self.switch, "link", "set", f"p{node}", "master", "bridge")

    def counters(self):
        """For each node, what its interface has sent and received: bytes of frames, and packets."""
        found = []
        for name in self.names:
            stats = json.loads(run("ip", "-n", name, "-s", "-j", "link", "show", "eth0"))[0]["stats64"]
            found.append({way: {"bytes": stats[way]["bytes"], "packets": stats[way]["packets"]} for way in ("tx", "rx")})
        return found


def why_not():
    """None, or why there can be no namespaces here."""
    if os.geteuid() != 0:
        return "network namespaces need root"
    for tool in ("ip", "tc", "unshare", "mpirun"):
        if not shutil.which(tool):
            return f"{tool} is not installed"
    try:
        with Network(2, "1gbit"):
            return None
    except OSError as error:
        return f"network namespaces are not permitted here: {error}"


def main():
    parser = argparse.ArgumentParser(usage=__doc__.split("\n\n")[1].strip())
    parser.add_argument("--nodes", type=int, default=2)
    parser.add_argument("--rate")
    parser.add_argument("command", nargs="+")
    options = parser.parse_args()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))
    if os.geteuid() == 0:
        os.environ.update(OMPI_ALLOW_RUN_AS_ROOT="1", OMPI_ALLOW_RUN_AS_ROOT_CONFIRM="1")
    with Network(options.nodes, options.rate) as network:
        before, since = network.counters(), time.monotonic()
        code = subprocess.run(network.mpirun(*options.command)).returncode
        seconds = time.monotonic() - since
        for n, (old, new) in enumerate(zip(before, network.counters())):
            sent, received = (new[way]["bytes"] - old[way]["bytes"] for way in ("tx", "rx"))
            print(f"node {n}: sent {sent:,} bytes, received {received:,}, in {seconds:.1f} s", file=sys.stderr)
    return code


if __name__ == "__main__":
    sys.exit(main())
