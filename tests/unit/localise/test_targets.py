"""A slow target, a slow server and a slow client are distinguished; noise names none of them."""

import numpy as np
import pytest

from reframe_checks.localise.targets import TargetSample, suspects_of_targets
from reframe_checks.storage.src.ost_rounds import rounds_of

NODES = [f"n{number}" for number in range(8)]


def swept(targets, servers, seed=0, noise=0.05, slow=(), nodes=NODES, passes=3):
    """Return figures of a sweep, each sample with log-normal noise; ``slow`` maps a name to its slow-down."""
    slow = dict(slow)
    random = np.random.default_rng(seed)
    server_of = {f"OST{number:04x}": f"oss{number % servers}" for number in range(targets)}
    samples = []
    for measured in rounds_of(server_of, nodes, passes):
        for client, target in measured:
            factor = slow.get(target, 1) * slow.get(client, 1) * slow.get(server_of[target], 1)
            samples.append(TargetSample(target, client, 1000 / factor * float(np.exp(random.normal(0, noise)))))
    return suspects_of_targets("write", samples, server_of, least_slowdown=1.5)


@pytest.mark.parametrize(
    ("slow", "found"),
    [
        ({"OST0005": 2}, [("target", "OST0005")]),
        ({"oss2": 2}, [("server", "oss2")]),
        ({"n3": 2}, [("node", "n3")]),
        ({"OST0005": 2, "oss2": 3}, [("server", "oss2"), ("target", "OST0005")]),
        ({"OST0006": 2.5, "oss2": 2}, [("target", "OST0006"), ("server", "oss2")]),
        ({"OST0005": 3, "n3": 2}, [("target", "OST0005"), ("node", "n3")]),
        ({}, []),
    ],
)
def test_the_slow_one_of_32_targets_on_four_servers_is_named(slow, found):
    assert sorted((one.kind, one.name) for one in swept(32, 4, slow=slow)) == sorted(found)


def test_only_a_slow_client_is_a_node():
    (client,) = swept(32, 4, slow={"n3": 2})
    assert client.nodes == ("n3",)
    assert not any(one.nodes for slow in ("OST0005", "oss2") for one in swept(32, 4, slow={slow: 2}))


def test_how_much_slower_and_where_is_said():
    (target,) = swept(32, 4, slow={"OST0005": 2})
    assert target.slowdown == pytest.approx(2, rel=0.1)
    assert target.evidence.endswith("times slower than the median of 32 targets, on server oss1")
    (server,) = swept(32, 4, slow={"oss2": 2})
    assert server.evidence.startswith("all of its 8 targets are slow")


@pytest.mark.parametrize(("targets", "servers"), [(32, 4), (8, 4), (4, 4), (3, 1), (2, 1), (1, 1), (64, 16)])
@pytest.mark.parametrize("noise", [0.05, 0.15])
def test_noise_names_nobody(targets, servers, noise):
    assert sum(bool(swept(targets, servers, seed, noise)) for seed in range(40)) <= 1


def test_of_two_servers_the_slow_one():
    assert [(one.kind, one.name) for one in swept(8, 2, slow={"oss1": 2})] == [("server", "oss1")]


def test_a_slow_target_of_a_server_of_its_own_is_a_target():
    assert [(one.kind, one.name) for one in swept(8, 8, slow={"OST0003": 2})] == [("target", "OST0003")]


def test_one_client_tells_targets_apart_and_is_not_blamed():
    assert [one.name for one in swept(8, 4, slow={"OST0003": 2, "n0": 5}, nodes=["n0"])] == ["OST0003"]


@pytest.mark.parametrize(("targets", "servers", "nodes"), [(32, 4, 8), (7, 3, 2), (5, 5, 5), (4, 1, 3), (3, 3, 1)])
def test_rounds_share_no_server_and_no_node_and_every_pass_has_other_hands(targets, servers, nodes):
    server_of = {number: number % servers for number in range(targets)}
    planned = rounds_of(server_of, NODES[:nodes], 3)
    for measured in planned:
        assert len({server_of[target] for _, target in measured}) == len(measured) == len({one for one, _ in measured})
    for target in server_of:
        hands = [node for measured in planned for node, one in measured if one == target]
        assert len(hands) == 3
        assert len(set(hands)) == min(nodes, 3)
    assert len(planned) == 3 * -(-targets // min(servers, nodes))
