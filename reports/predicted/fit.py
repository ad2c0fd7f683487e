"""Latency, bandwidth and software overhead of a partition, from its ping-pong and its bursts.

In SMPI's model a message of m bytes takes

    ping-pong, half the round trip   T(m) = send(m) + L + m / B + receive(m)
    each of a burst of them          G(m) = max(isend(m), receive(m), m / B)

where L is the network's latency, B its bandwidth, and send, isend and receive what software takes of a rank. A burst
tells what software takes of each message whatever the latency is, the ping-pong what is left for the network; from
either alone the other is missed (by a third in message rate, from the ping-pong).
"""

from collections.abc import Mapping
from dataclasses import dataclass

#: Of the ping-pong of the smallest message, the most that is laid to software on both sides: the rest is the network's.
MOST_SOFTWARE = 0.9


@dataclass(frozen=True)
class Fitted:
    """``bandwidth_mb_s`` is that of the network; overheads map the message size in bytes to microseconds."""

    latency_us: float
    bandwidth_mb_s: float
    send_us: dict[int, float]
    isend_us: dict[int, float]
    receive_us: dict[int, float]

    def ping_pong_us(self, size: int) -> float:
        """What the model gives for half the round trip of a size that was measured."""
        return self.send_us[size] + self.latency_us + size / self.bandwidth_mb_s + self.receive_us[size]

    def burst_us(self, size: int) -> float:
        """What the model gives for each message of a burst."""
        return max(self.isend_us[size], self.receive_us[size], size / self.bandwidth_mb_s)


def fit(latency_us: Mapping[int, float], burst_mb_s: Mapping[int, float], window: int) -> Fitted:
    """Solve the two equations at each message size that both have.

    :param latency_us: half the round trip by message size in bytes, as OSU's latency.
    :param burst_mb_s: bandwidth of windows of ``window`` messages, each window answered by one small message, as OSU's.
    :raises ValueError: fewer than two sizes are in both, or a figure is not positive.
    """
    sizes = sorted(latency_us.keys() & burst_mb_s.keys())
    if len(sizes) < 2 or window < 1:
        raise ValueError("expected a ping-pong and a burst of two message sizes or more, and a window of 1 or more")
    if any(figures[size] <= 0 for figures in (latency_us, burst_mb_s) for size in sizes):
        raise ValueError("expected figures above 0")
    smallest = sizes[0]
    answer_us = latency_us[smallest]
    # A byte per microsecond is a megabyte per second. An answer can take no more of a window than the window took.
    each_us = {size: size / burst_mb_s[size] for size in sizes}
    gap_us = {size: max(each - answer_us / window, each / 2) for size, each in each_us.items()}
    bandwidth_mb_s = max(size / gap for size, gap in gap_us.items())
    side_us = min(gap_us[smallest], MOST_SOFTWARE * answer_us / 2)
    network_us = answer_us - 2 * side_us - smallest / bandwidth_mb_s
    network_us = max(network_us, (1 - MOST_SOFTWARE) * answer_us)
    send_us, receive_us = {}, {}
    for size in sizes:
        software_us = max(latency_us[size] - network_us - size / bandwidth_mb_s, 0.0)
        # What receives cannot be slower than the burst was.
        receive_us[size] = min(software_us / 2, gap_us[size])
        send_us[size] = software_us - receive_us[size]
    return Fitted(network_us, bandwidth_mb_s, send_us, gap_us, receive_us)
