"""Find slow storage targets of a striped file system, slow servers with all their targets, and slow clients.

Several clients measured each target, each time alone on its server. The effect of the client is removed from each
figure (median polish, Tukey 1977, of logarithms, because rates scatter by factors); the rest belongs to the target. A
slow target is slow each time, and all targets of a slow server are slow.
"""

import statistics
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from reframe_checks.localise.finding import Finding, least_score, noise, ranked, suspects_of_nodes

# Far more than needed for convergence.
POLISHES = 10


@dataclass(frozen=True)
class TargetSample:
    """The rate at which ``client`` moved data to or from ``target`` alone, in any unit, above 0."""

    target: str
    client: str
    rate: float


@dataclass(frozen=True)
class Slowness:
    """Logarithms of the slow-down: of each target, each time and typically, and of each client."""

    each_time: Mapping[str, Sequence[float]]
    targets: Mapping[str, float]
    clients: Mapping[str, float]


def slowness_of(samples: Sequence[TargetSample]) -> Slowness:
    """Separate the slow-down of targets and of clients.

    :param samples: at least one; each target has two clients or more, unless there is only one client.
    """
    clients = dict.fromkeys(sorted({one.client for one in samples}), 0.0)
    for _ in range(POLISHES):
        each_time = _without([(one.target, one.rate, clients[one.client]) for one in samples])
        targets = {target: statistics.median(values) for target, values in each_time.items()}
        left = _without([(one.client, one.rate, targets[one.target]) for one in samples])
        clients = {client: statistics.median(values) for client, values in left.items()}
        usual = statistics.median_low(clients.values())
        clients = {client: value - usual for client, value in clients.items()}
    return Slowness(each_time, targets, clients)


def _without(explained: Sequence[tuple[str, float, float]]) -> dict[str, list[float]]:
    """Return the unexplained slowness of each sample (name, rate, explained slowness): name -> values."""
    found: dict[str, list[float]] = {}
    for name, rate, by_others in explained:
        found.setdefault(name, []).append(-float(np.log(rate)) - by_others)
    return found


def suspects_of_targets(
    quantity: str, samples: Sequence[TargetSample], server_of: Mapping[str, str], *, least_slowdown: float
) -> list[Finding]:
    """Return ranked findings: targets, servers with all their targets, clients. With two targets, none can be named.

    :param least_slowdown: the least factor by which a suspect is slower than its equals.
    """
    slowness, least = slowness_of(samples), float(np.log(least_slowdown))
    servers = _slow_servers(quantity, slowness.targets, server_of, least)
    # A client with only one figure cannot be separated from its target.
    times = Counter(one.client for one in samples)
    speeds = {client: float(np.exp(-value)) for client, value in slowness.clients.items() if times[client] > 1}
    clients = suspects_of_nodes(quantity, speeds, least_slowdown=least_slowdown) if speeds else []
    targets = _slow_targets(quantity, slowness, server_of, {one.name for one in servers}, least)
    return ranked([*servers, *targets, *clients])


def _slow_servers(
    quantity: str, targets: Mapping[str, float], server_of: Mapping[str, str], least: float
) -> list[Finding]:
    members: dict[str, list[float]] = {}
    for target, value in targets.items():
        members.setdefault(server_of[target], []).append(value)
    typical = {server: statistics.median(values) for server, values in members.items()}
    # With two servers, the faster one is the usual one.
    usual = statistics.median_low(typical.values())
    spread = noise(np.array([value - typical[server_of[target]] for target, value in targets.items()]))
    return [
        Finding(
            "server", server, (), quantity, (typical[server] - usual) / spread, float(np.exp(typical[server] - usual)),
            f"all of its {len(values)} targets are slow, typically {np.exp(typical[server] - usual):.2f} times slower "
            f"than those of {len(members) - 1} other servers",
        )
        for server, values in members.items()
        if len(values) > 1 and min(values) - usual >= least
        and (typical[server] - usual) / spread >= least_score(len(members))
    ]  # fmt: skip


def _slow_targets(
    quantity: str, slowness: Slowness, server_of: Mapping[str, str], slow_servers: set[str], least: float
) -> list[Finding]:
    """Return the targets that are slower than their server."""
    targets = slowness.targets
    usual = statistics.median(value for target, value in targets.items() if server_of[target] not in slow_servers)
    of_server = {
        server: statistics.median(value for target, value in targets.items() if server_of[target] == server)
        for server in slow_servers
    }
    explained = {target: of_server.get(server_of[target], usual) for target in targets}
    effects = {target: value - explained[target] for target, value in targets.items()}
    spread = noise(np.array(list(effects.values())))
    return [
        Finding(
            "target", target, (), quantity, effect / spread, float(np.exp(effect)),
            f"{np.exp(effect):.2f} times slower than the median of {len(targets)} targets, on server "
            f"{server_of[target]}",
        )
        for target, effect in effects.items()
        if effect / spread >= least_score(len(targets))
        and min(slowness.each_time[target]) - explained[target] >= least
    ]  # fmt: skip
