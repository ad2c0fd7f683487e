"""Faults of a node's network that cost no bandwidth or affect only some packets, and wrong TCP settings."""

import contextlib
import random
from collections.abc import Iterator

from tests.fault_campaign.cluster import Cluster
from tests.fault_campaign.faults import ADDRESS, Kind, between, other_node, process, running

_TABLE = "add table inet fault; add chain inet fault {hook} {{ type filter hook {hook} priority 0 ; }}; "
_NO_TABLE = "nft delete table inet fault"
_LOST_CONNECTIONS = """\
nft "add table inet fault; add chain inet fault input { type filter hook input priority 0 ; }
add rule inet fault input iifname eth0 tcp flags & (syn|ack) == syn numgen random mod 100 < $1 drop"
"""
# Announces the address as this node's, as the kernel may do for a new address (ARP announcement, RFC 5227).
_ANNOUNCE = """
import fcntl, socket, struct, sys
one = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
one.bind(("eth0", 0))
mac, address = one.getsockname()[4], socket.inet_aton(sys.argv[1])
body = struct.pack("!HHBBH6s4s6s4s", 1, 0x800, 6, 4, 1, mac, address, bytes(6), address)
one.send(b"\\xff" * 6 + mac + b"\\x08\\x06" + body)
"""
# Simulates a link that is lost for 0.3 s again and again. The end of the node removes the table.
_OUTAGES = """
import subprocess, time
rules = "add table inet fault; " + "".join(
    f"add chain inet fault {hook} {{ type filter hook {hook} priority 0 ; }}; "
    f"add rule inet fault {hook} {name} eth0 drop; " for hook, name in (("input", "iifname"), ("output", "oifname")))
while True:
    subprocess.run(["nft", rules])
    time.sleep(0.3)
    subprocess.run(["nft", "delete table inet fault"])
    time.sleep(9.7)
"""
# Packets from `kept` leave eth0 later, with the kernel's checksum information (PACKET_VNET_HDR).
_LATER = """
import socket, sys, time
taken, sent = (socket.socket(socket.AF_PACKET, socket.SOCK_RAW, protocol) for protocol in (socket.htons(3), 0))
for one, name in ((taken, "kept"), (sent, "eth0")):
    one.setsockopt(263, 15, 1)
    one.bind((name, socket.htons(3) if one is taken else 0))
sent.setsockopt(socket.SOL_SOCKET, 36, 7)
while True:
    packet = taken.recv(1 << 17)
    time.sleep(int(sys.argv[1]) / 1000)
    sent.send(packet)
"""
_EGRESS = 'add table netdev fault; add chain netdev fault out { type filter hook egress device "eth0" priority 0 ; }; '
_DUPLICATES = f"""\
nft '{_EGRESS}
add rule netdev fault out meta mark != 7 numgen random mod 100 < '"$1"' meta mark set 7 dup to "eth0"'
"""


@contextlib.contextmanager
def address_taken(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    other = other_node(node, draw)
    put = f"{ADDRESS}; ip addr add \"$address/32\" dev eth0; python3 -c '{_ANNOUNCE}' \"$address\""
    cluster.on(node, put, other)
    try:
        yield f"that of {other}"
    finally:
        cluster.on(node, f'{ADDRESS}; ip addr del "$address/32" dev eth0', other)
        address = cluster.on(node, f"{ADDRESS}; echo $address", other).strip()
        cluster.on(other, f"python3 -c '{_ANNOUNCE}' \"$1\"", address)


@contextlib.contextmanager
def long_packets_vanish(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    other, length = other_node(node, draw), draw.randrange(1000, 1401, 100)
    rule = f"{_TABLE.format(hook='output')}add rule inet fault output ip daddr $address meta length > {length} drop"
    cluster.on(node, f'{ADDRESS}; nft "{rule}"', other)
    try:
        yield f"to {other} if longer than {length} bytes"
    finally:
        cluster.on(node, _NO_TABLE)


@contextlib.contextmanager
def reordered_packets(cluster: Cluster, node: str, draw: random.Random) -> Iterator[str]:
    percent, later_ms = draw.randrange(3, 11), draw.randrange(2, 6)
    cluster.on(node, "ip link add keep type veth peer name kept; ip link set keep up; ip link set kept up promisc on")
    rule = f'add rule netdev fault out meta mark != 7 numgen random mod 100 < {percent} fwd to "keep"'
    try:
        with running(cluster, node, _LATER, str(later_ms)):
            cluster.on(node, 'nft "$1"', _EGRESS + rule)
            try:
                yield f"{percent} % come {later_ms} ms later"
            finally:
                cluster.on(node, "nft delete table netdev fault")
    finally:
        cluster.on(node, "ip link del keep")


OF_PACKETS = (
    Kind("address taken", True, "the node also has, and announces, the address of another node", address_taken),
    Kind("long packets vanish", True, "packets above 1000–1400 bytes from the node to another node are lost",
         long_packets_vanish),
    Kind("lost connections", False, "10–30 % of the packets that ask the node for a connection are lost", between(
        _LOST_CONNECTIONS, _NO_TABLE, "{} %", range(10, 31, 5))),
    Kind("short outages", False, "the node sends and receives nothing for 0.3 s, every 10 s", process(
        _OUTAGES, "0.3 s every 10 s")),
    Kind("duplicate packets", False, "the node sends 3–10 % of its packets twice", between(
        _DUPLICATES, "nft delete table netdev fault", "{} %", range(3, 11))),
    Kind("reordered packets", False, "the node sends 3–10 % of its packets 2–5 ms late", reordered_packets),
)  # fmt: skip
OF_TCP = (
    Kind("no window scaling", False, "the node's TCP does not scale its window", between(
        "sysctl -q net.ipv4.tcp_window_scaling=0", "sysctl -q net.ipv4.tcp_window_scaling=1", "0")),
    Kind("short backlog", False, "at most 8–64 connections can wait until the node accepts them", between(
        'sysctl -q net.core.somaxconn="$1" net.ipv4.tcp_max_syn_backlog="$1"', "true", "{}", range(8, 65, 8))),
    Kind("few ports", False, "the node has only 100–1000 ports for outgoing connections", between(
        'sysctl -q net.ipv4.ip_local_port_range="40000 $((40000 + $1))"',
        'sysctl -q net.ipv4.ip_local_port_range="32768 60999"', "{}", range(100, 1001, 100))),
)  # fmt: skip
