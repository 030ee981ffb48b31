#!/usr/bin/env python3
"""What slow networks cost: cluster_network.py CLUSTER_BENCH [--rounds N]

On one Linux machine, as root. Each node is a network namespace with an interface of its own, whose rate the kernel
limits (tbf). Packets pass through this program, which delivers them after the delay. Beside the time of each sum over
processes stands what the cost model in docs/cluster.md predicts."""

import argparse
import collections
import contextlib
import fcntl
import os
import pathlib
import select
import struct
import subprocess
import sys
import tempfile
import threading
import time

import cluster
import cluster_model

settings = [(2, 1000, 1), (2, 200, 5), (4, 200, 5)]  # nodes, Mbit/s of each, milliseconds of delay
network = "10.77.0.0/24"
largest_packet = 65000
# How mpirun starts its daemon on a node: AGENT ADDRESS COMMAND. Nodes differ in their host names.
agent = """#!/bin/sh
node=tapegrad$((${1##*.} - 1))
shift
exec ip netns exec $node unshare --uts sh -c "hostname $node; $*"
"""
# The nodes share the processors of this machine.
on_own_processor = 'exec taskset -c $((OMPI_COMM_WORLD_RANK % $(nproc))) "$0" "$@"'


def run(command):
    subprocess.run(command.split(), check=True)


def open_interface(name):
    """A new network interface; what is sent through it can be read from the file."""
    TUNSETIFF, IFF_TUN, IFF_NO_PI = 0x400454CA, 0x0001, 0x1000
    file = os.open("/dev/net/tun", os.O_RDWR)
    fcntl.ioctl(file, TUNSETIFF, struct.pack("16sH22x", name.encode(), IFF_TUN | IFF_NO_PI))
    return file


@contextlib.contextmanager
def nodes(count, rate):
    """Namespaces tapegrad0, ... with addresses 10.77.0.1, ...; the files of their interfaces."""
    files = []
    try:
        for node in range(count):
            name = f"tapegrad{node}"
            run(f"ip netns add {name}")
            files.append(open_interface(name))
            run(f"ip link set {name} netns {name}")
            run(f"ip -n {name} address add 10.77.0.{node + 1}/24 dev {name}")
            run(f"ip -n {name} link set {name} mtu {largest_packet} up")
            run(f"ip -n {name} link set lo up")
            run(f"ip netns exec {name} tc qdisc add dev {name} root tbf rate {rate}mbit burst 128kb limit 8mb")
        yield files
    finally:
        for file in files:
            os.close(file)
        for node in range(count):
            subprocess.run(["ip", "netns", "delete", f"tapegrad{node}"], stderr=subprocess.DEVNULL)


def deliver(files, delay, stopped):
    """Hands each packet to the node that it is for, after so many seconds."""
    under_way = collections.deque()
    while not stopped.is_set():
        wait = under_way[0][0] - time.monotonic() if under_way else 0.1
        for file in select.select(files, [], [], max(wait, 0))[0]:
            packet = os.read(file, largest_packet + 64)
            if packet[0] >> 4 == 4:
                under_way.append((time.monotonic() + delay, packet[19] - 1, packet))
        while under_way and under_way[0][0] <= time.monotonic():
            _, node, packet = under_way.popleft()
            if 0 <= node < len(files):
                os.write(files[node], packet)


@contextlib.contextmanager
def slow_network(count, rate, delay):
    """How to start a program on each node."""
    stopped = threading.Event()
    with nodes(count, rate) as files, tempfile.TemporaryDirectory() as folder:
        script = pathlib.Path(folder) / "agent"
        script.write_text(agent)
        script.chmod(0o755)
        relay = threading.Thread(target=deliver, args=(files, delay / 1000, stopped))
        relay.start()
        try:
            hosts = ",".join(f"10.77.0.{node + 1}" for node in range(count))
            parameters = {"btl": "self,tcp", "btl_tcp_if_include": network, "oob_tcp_if_include": network,
                          "plm_rsh_agent": script}
            yield ["ip", "netns", "exec", "tapegrad0", "mpirun", "--host", hosts, "--bind-to", "none",
                   *(word for name, value in parameters.items() for word in ("--mca", name, value)),
                   "sh", "-c", on_own_processor]
        finally:
            stopped.set()
            relay.join()


def main():
    parser = argparse.ArgumentParser(prog="./dev bench --cluster --network", description=__doc__.split("\n\n")[1])
    parser.add_argument("program", help=argparse.SUPPRESS)
    parser.add_argument("--rounds", type=int, default=11, help="times that each is measured (11)")
    flags = parser.parse_args()
    if os.geteuid() != 0:
        sys.exit("bench: only root may make network namespaces")
    print("Sums over processes through a slow network, milliseconds\n"
          f"{'nodes':<6} {'Mbit/s':>6} {'delay':>6} {'MB':>4} {'predicted':>9} {'tapegrad':>9} {'MPI':>9}")
    for count, rate, delay in settings:
        with slow_network(count, rate, delay) as launcher:
            for line in cluster.measured([*launcher, flags.program, "sum", 1, 4, 16, "--rounds", flags.rounds]):
                print(f"{count:<6} {rate:>6} {delay:>6} {line['megabytes']:>4.0f} "
                      f"{cluster_model.milliseconds(line['megabytes'], count, rate, delay):>9.0f} {line['tapegrad']:>9.0f} "
                      f"{line['mpi']:>9.0f}", flush=True)
    count, rate, delay = settings[0]
    print(f"\n{cluster.overlap_title}\n{cluster.overlap_head}")
    with slow_network(count, rate, delay) as launcher:
        cluster.show_overlap(launcher, f"{rate} Mbit/s", flags.program, cluster.rows, flags.rounds)


if __name__ == "__main__":
    main()
