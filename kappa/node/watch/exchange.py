"""Exchange messages with the other nodes of the job over TCP and UDP, and report for each what did not arrive well.

A step has one task on each node. The tasks find each other by files in a shared folder, so that a fault of the network
cannot prevent it. Each task then exchanges with every other task, or with its ``MOST_PEERS`` nearest by name:

- long messages of ``LONG_BYTES``, in turn. If nothing moves for ``PATIENCE_S``, the task sends the message again and
  waits twice as long;
- for some seconds a train of small bursts every ``TICK_S``: datagrams, every tenth as long as a packet; short messages
  on one TCP connection; and a new connection to one peer after the other.

A datagram carries its number and the time of sending, and the kernel adds the time of arrival. The delay of a busy
processor before or after does not count.
"""

import contextlib
import hashlib
import os
import re
import secrets
import select
import socket
import statistics
import struct
import sys
import threading
import time

from kappa.node.facts.names import address, own_addresses
from kappa.node.files import entries, first, host, read
from kappa.node.meeting import line_of, meet, receive, step_name, task_and_tasks

MOST_PEERS = 64
LONG_BYTES, CHUNK, PATIENCE_S = 1 << 20, 1 << 16, 4.0
TICK_S, BURST, LONG_EVERY = 0.02, 4, 10
# A slow connection took at least TCP's first repeat of its request, after 1 s (RFC 6298).
SLOW_CONNECT_S, LAST_CONNECT_S = 0.9, 3.0
LATE_S = 0.05
# From linux/socket.h, linux/in.h and linux/tcp.h; Python has no names for them.
SO_RXQ_OVFL, SO_TIMESTAMPNS, IP_MTU_DISCOVER, IP_PMTUDISC_DO, IP_MTU, TCP_INFO = 40, 35, 10, 2, 14, 11
DATAGRAM = struct.Struct(">16sHQd")  # token, sender, number, s since 1970 when it was sent
HEADERS = 28  # of IPv4 and UDP
COUNTERS = {"retransmitted": 100, "duplicates": 216, "reordered": 220, "out_of_order": 224}  # in struct tcp_info


# ---- the tasks meet ---------------------------------------------------------------------------------------------


def refusal(address):
    """Return why this node's kernel sends nothing to the address; an empty text if it does."""
    try:
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sender:
            sender.sendto(b"", (address, 9))
    except OSError as error:
        return error.strerror or str(error)
    return ""


def peers_of(own, nodes):
    """Return all other nodes, or the nearest by name before and after, so that each is a peer of its peers."""
    place, others = nodes.index(own), len(nodes) - 1
    if others <= MOST_PEERS:
        return nodes[place + 1 :] + nodes[:place]
    half = MOST_PEERS // 2
    return [nodes[(place + step) % len(nodes)] for step in (*range(1, half + 1), *range(-half, 0))]


# ---- receive from the peers -------------------------------------------------------------------------------------


class Receiver:
    """Receive the peers' messages, in threads that end with the process."""

    def __init__(self):
        self.token = secrets.token_bytes(16)
        self.arrived, self.sent, self.counters, self.overflowed = {}, {}, {}, 0
        self.messages, self.connections = listener(), listener()
        self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.datagrams.bind(("", 0))
        for option, value in ((socket.SO_RCVBUF, 4 << 20), (SO_TIMESTAMPNS, 1), (SO_RXQ_OVFL, 1)):
            self.datagrams.setsockopt(socket.SOL_SOCKET, option, value)
        for run in (self.take_messages, self.take_connections, self.take_datagrams):
            threading.Thread(target=run, daemon=True).start()

    def published(self):
        macs = {read("/sys/class/net", name, "address") for name in entries("/sys/class/net") if name != "lo"}
        ports = [each.getsockname()[1] for each in (self.messages, self.connections, self.datagrams)]
        macs = sorted(macs - {"", None})
        return {"token": self.token.hex(), "ports": ports, "addresses": own_addresses(), "macs": macs}

    def take_connections(self):
        while True:
            with contextlib.suppress(OSError):
                self.connections.accept()[0].close()

    def take_messages(self):
        while True:
            with contextlib.suppress(OSError):
                connection, _ = self.messages.accept()
                threading.Thread(target=self.take_message, args=[connection], daemon=True).start()

    def take_message(self, connection):
        """Receive a long message and answer its SHA-256, or a stream, whose end says how many datagrams were sent.

        Both begin with a line of token, sender and length; a stream has length 0.
        """
        with contextlib.suppress(OSError, struct.error), connection:
            token, sender, length = struct.unpack(">16sHI", receive(connection, 22))
            if token != self.token:
                return
            if length:
                connection.sendall(hashlib.sha256(receive(connection, min(length, LONG_BYTES))).digest())
                return
            last, part = b"", connection.recv(CHUNK)
            while part:
                last, part = (last + part)[-8:], connection.recv(CHUNK)
            self.counters[sender] = counters_of(connection)
            (self.sent[sender],) = struct.unpack(">Q", last)

    def take_datagrams(self):
        while True:
            data, ancillary, _, _ = self.datagrams.recvmsg(1 << 16, 256)
            if len(data) < DATAGRAM.size:
                continue
            token, sender, number, sent_s = DATAGRAM.unpack_from(data)
            arrived_s = time.time()
            for _, kind, value in ancillary:
                if kind == SO_TIMESTAMPNS:
                    seconds, nanoseconds = struct.unpack("@ll", value[:16])
                    arrived_s = seconds + nanoseconds / 1e9
                elif kind == SO_RXQ_OVFL:
                    (self.overflowed,) = struct.unpack("@I", value[:4])
            if token == self.token:
                self.arrived.setdefault(sender, []).append((number, arrived_s - sent_s))

    def told(self, sender):
        """Return which datagrams of the sender arrived, and the longest time in which none arrived, or none in time.

        Datagrams that this node itself read too late do not count as missing.
        """
        came = self.arrived.get(sender, [])
        delays, highest, out_of_order, twice = {}, -1, 0, 0
        for number, delay_s in came:
            twice += number in delays
            out_of_order += number < highest and number not in delays
            highest = max(highest, number)
            delays.setdefault(number, delay_s)
        sent = self.sent.get(sender, highest + 1)
        usual_s = statistics.median(delays.values()) if delays else 0.0
        longest = run = 0
        for number in range(sent):
            lost = number not in delays and not self.overflowed
            run = run + 1 if lost or delays.get(number, usual_s) > usual_s + LATE_S else 0
            longest = max(longest, run)
        long_ones = range(0, sent, LONG_EVERY)
        return {
            "datagrams": sent,
            "missing": max(0, sent - len(delays) - self.overflowed),
            "long_datagrams": len(long_ones),
            "missing_long": max(0, sum(number not in delays for number in long_ones) - self.overflowed),
            "out_of_order": out_of_order,
            "twice": twice,
            "longest_outage_ms": round(1000 * longest * TICK_S / BURST, 1),
        }


def listener():
    one = socket.socket()
    one.bind(("", 0))
    one.listen(1024)
    return one


def counters_of(connection):
    """Return TCP's counters of the connection, without those that an old kernel lacks."""
    info = connection.getsockopt(socket.IPPROTO_TCP, TCP_INFO, 256)
    return {name: struct.unpack_from("@I", info, at)[0] for name, at in COUNTERS.items() if len(info) >= at + 4}


# ---- send to one peer -------------------------------------------------------------------------------------------


class Peer:
    """A peer as ``published``, and the result of each exchange with it."""

    def __init__(self, own_number, number, published):
        self.own_number, self.number, self.node = own_number, number, published["node"]
        self.token, self.ports = bytes.fromhex(published["token"]), published["ports"]
        self.address = address(self.node) or next(iter(published["addresses"]), None)
        self.failure, self.refused, self.count, self.connects, self.slow, self.counters = None, None, 0, 0, 0, {}
        self.stream, self.waiting, self.datagrams, self.filled = None, {}, None, 0

    def send_long(self, patience_s):
        """Send one long message; ``failure`` gets the reason if it does not arrive."""
        data = os.urandom(LONG_BYTES)
        self.failure = None
        try:
            with socket.create_connection((self.address, self.ports[0]), timeout=patience_s) as connection:
                connection.sendall(self.begin(LONG_BYTES))
                # No sendall: its timeout covers the whole message, even on a slow network.
                sent = 0
                while sent < len(data):
                    sent += connection.send(data[sent : sent + CHUNK])
                if receive(connection, 32) != hashlib.sha256(data).digest():
                    self.failure = "the data arrive changed"
        except socket.timeout:
            self.failure = f"nothing moves for {patience_s:g} s"
        except (OSError, TypeError) as error:
            self.failure = getattr(error, "strerror", None) or str(error)

    def begin(self, length):
        return struct.pack(">16sHI", self.token, self.own_number, length)

    def open(self):
        """Open the train's connections; ``failure`` of an unreachable peer is set already."""
        with contextlib.suppress(OSError, TypeError):
            self.datagrams = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
            self.datagrams.setsockopt(socket.IPPROTO_IP, IP_MTU_DISCOVER, IP_PMTUDISC_DO)
            self.datagrams.connect((self.address, self.ports[2]))
            self.datagrams.setblocking(False)
            self.filled = self.datagrams.getsockopt(socket.IPPROTO_IP, IP_MTU) - HEADERS
            self.stream = socket.create_connection((self.address, self.ports[0]), timeout=PATIENCE_S)
            self.stream.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self.stream.sendall(self.begin(0))
            self.stream.setblocking(False)

    def send_burst(self):
        for _ in range(BURST):
            size = self.filled if self.count % LONG_EVERY == 0 else DATAGRAM.size
            head = DATAGRAM.pack(self.token, self.own_number, self.count, time.time())
            try:
                self.datagrams.send(head.ljust(size, b"."))
            except BlockingIOError:
                continue  # no number is used up
            except OSError as error:
                # "Connection refused" answers an earlier datagram; any other error is this node's refusal to send.
                if not isinstance(error, ConnectionRefusedError):
                    self.refused = f"{error.strerror} ({size + HEADERS} bytes)"
            self.count += 1
            if self.stream:
                with contextlib.suppress(OSError):
                    self.stream.send(b"." * 64)

    def connect(self):
        one = socket.socket()
        one.setblocking(False)
        # Close without TIME_WAIT.
        one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("@ii", 1, 0))
        self.connects += 1
        with contextlib.suppress(OSError, TypeError):
            one.connect_ex((self.address, self.ports[1]))
            self.waiting[one] = time.monotonic()

    def look_at_connections(self):
        """Count the messages that were slow or failed."""
        if not self.waiting:
            return
        _, ready, _ = select.select([], [*self.waiting], [], 0)
        now = time.monotonic()
        for one, began in [*self.waiting.items()]:
            if one in ready or now - began > LAST_CONNECT_S:
                refused = one in ready and one.getsockopt(socket.SOL_SOCKET, socket.SO_ERROR)
                self.slow += bool(refused) or now - began > SLOW_CONNECT_S
                del self.waiting[one]
                one.close()

    def close(self):
        if self.stream:
            with contextlib.suppress(OSError):
                self.stream.settimeout(PATIENCE_S)
                self.stream.sendall(struct.pack(">Q", self.count))
                self.stream.shutdown(socket.SHUT_WR)
                # Wait until the peer has read everything.
                self.stream.recv(1)
                self.counters = counters_of(self.stream)


def train(peers, seconds):
    for peer in peers:
        peer.open()
    began, tick = time.monotonic(), 0
    while time.monotonic() < began + seconds:
        for peer in peers:
            if peer.filled:
                peer.send_burst()
            peer.look_at_connections()
        peers[tick % len(peers)].connect()
        tick += 1
        time.sleep(max(0.0, began + tick * TICK_S - time.monotonic()))
    while any(peer.waiting for peer in peers):
        time.sleep(TICK_S)
        for peer in peers:
            peer.look_at_connections()
    for peer in peers:
        peer.close()


def answering(address, node, published):
    """Return another node that has the address, or whose adapter answers for it; ``None`` if there is none."""
    for other, told in sorted(published.items()):
        # Two Slurm nodes may be one machine.
        if other != node and address in told["addresses"] and told["macs"] != published[node]["macs"]:
            return other
    mac = first(rf"^{re.escape(address or '-')}\s+\S+\s+0x2\s+(\S+)", read("/proc/net/arp"))
    if not mac or mac in published[node]["macs"]:
        return None
    return next((other for other, told in sorted(published.items()) if other != node and mac in told["macs"]), None)


def exchange(seconds, folder, wait):
    """Print a line for each peer.

    :param seconds: length of the train. :param folder: the tasks meet in a folder of their step in it. :param wait: for
        the other tasks, in s.
    """
    node, (_, tasks), receiver = host(), task_and_tasks(), Receiver()
    # Files of another step have other ports.
    published = meet(os.path.join(folder, step_name()), {"node": node, **receiver.published()}, tasks, wait)
    nodes = sorted(published)
    peers = [Peer(nodes.index(node), nodes.index(name), published[name]) for name in peers_of(node, nodes)]
    for peer in peers:
        peer.send_long(PATIENCE_S)
    for peer in peers:
        if peer.failure:
            peer.send_long(2 * PATIENCE_S)
    if peers:
        train(peers, seconds)
        # Wait until the peers have reported their number of datagrams: a peer that retries sends later.
        deadline = time.monotonic() + LAST_CONNECT_S + 3 * PATIENCE_S
        while any(peer.number not in receiver.sent for peer in peers) and time.monotonic() < deadline:
            time.sleep(0.1)
    for peer in peers:
        record = {
            "node": node, "peer": peer.node, "failure": peer.failure, "refused": peer.refused,
            "answered_by": answering(peer.address, peer.node, published),
            "connects": peer.connects, "slow_connects": peer.slow,
            "segments": peer.count, "retransmitted": peer.counters.get("retransmitted", 0),
            "duplicate_segments": peer.counters.get("duplicates", 0),
            "reordered_segments": peer.counters.get("reordered", 0),
            "out_of_order_segments": receiver.counters.get(peer.number, {}).get("out_of_order", 0),
            **receiver.told(peer.number),
        }  # fmt: skip
        os.write(sys.stdout.fileno(), line_of(record))
