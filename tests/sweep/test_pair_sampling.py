"""Rounds of a sample of the pairs by the program, and the findings from them."""

import itertools
import subprocess

import numpy as np
import pytest

from reframe_checks.network.pair_sweep import rounds_of_sample
from reframe_checks.parsers import pair_sweep
from tests.pair_sampling.fabric import Fabric
from tests.pair_sampling.schedule import schedule_of

RESULT = "pairs.json"
SHORT = [
    f"--output={RESULT}", "--round-trips=5", "--repeats=2", "--window=2", "--bandwidth-bytes=4096", "--block-bytes=64",
]  # fmt: skip


@pytest.fixture(scope="module")
def program(build):
    return build("pairs")


def uneven(nodes):
    """Leaf switches of different sizes."""
    rng = np.random.default_rng(nodes)
    return np.sort(rng.integers(0, nodes // 8, nodes))


@pytest.mark.parametrize("leaf_of", [np.arange(96) // 12, uneven(101), np.zeros(9, int)], ids=["even", "odd", "one"])
def test_rounds_are_leaf_by_leaf_then_between_leaves(program, tmp_path, leaf_of):
    schedule = schedule_of(program.path, leaf_of, 60, 5, tmp_path)
    largest = np.bincount(leaf_of).max()
    within = min(largest - 1 + largest % 2, 15)
    assert len(schedule) == 60
    inside, met = [leaf_of[pairs[:, 0]] == leaf_of[pairs[:, 1]] for pairs in schedule], set()
    for pairs in schedule:
        assert len(np.unique(pairs)) == pairs.size and np.all(pairs[:, 0] < pairs[:, 1])
    for number, pairs in enumerate(schedule[:within]):
        assert inside[number].all() and met.isdisjoint(map(tuple, pairs.tolist()))
        met.update(map(tuple, pairs.tolist()))
    if within == largest - 1 + largest % 2:
        of_leaves = [np.flatnonzero(leaf_of == leaf) for leaf in np.unique(leaf_of)]
        assert met == {pair for members in of_leaves for pair in itertools.combinations(members.tolist(), 2)}
    for number in range(within, 60):
        # Each leaf switch meets one other at most, and one of its nodes is idle at most.
        apart = leaf_of[schedule[number][~inside[number]]]
        assert len({tuple(sorted(pair)) for pair in apart}) <= len(np.unique(leaf_of)) // 2
        assert len(leaf_of) - 2 * len(schedule[number]) <= len(np.unique(leaf_of))
        assert (~inside[number]).sum() > len(leaf_of) // 4 or largest > len(leaf_of) // 2


def test_rounds_are_the_same_for_the_same_seed_alone(program, tmp_path):
    leaf_of = np.arange(64) // 8
    first, again, other = (schedule_of(program.path, leaf_of, 40, seed, tmp_path) for seed in (1, 1, 2))
    same = [np.array_equal(*pairs) for pairs in zip(first, again, strict=True)]
    assert all(same)
    between = [np.array_equal(*pairs) for pairs in zip(first[10:], other[10:], strict=True)]
    assert not any(between)
    # Every leaf switch meets many others, not always the same.
    partners = {tuple(sorted(leaf_of[pair])) for pairs in first[10:] for pair in pairs}
    assert len(partners) > 20


def test_many_ranks_measure_the_rounds_that_it_tells(program, tmp_path):
    leaf_of = np.arange(12) // 4
    leaves = tmp_path / "leaves.txt"
    leaves.write_text("".join(f"node{node} leaf{leaf}\n" for node, leaf in enumerate(leaf_of)))
    program(*SHORT, "--sample-above=2", "--rounds=18", "--seed=3", f"--leaves={leaves}", ranks=12, cwd=tmp_path)
    figures = (tmp_path / RESULT).with_suffix(".bin").read_bytes()
    samples = pair_sweep.read_samples((tmp_path / RESULT).read_text(), figures)
    assert (len(samples.nodes), samples.document.rounds_within_leaves, len(samples.round_seconds)) == (12, 3, 18)
    told = np.concatenate(schedule_of(program.path, leaf_of, 18, 3, tmp_path))
    place = {int(name[4:]): number for number, name in enumerate(samples.nodes)}
    assert [place[node] for node in range(12)] == list(range(12))
    assert np.array_equal(np.column_stack([samples.pairs["first"], samples.pairs["second"]]), told)
    assert np.all(samples.pairs["latency_us"] > 0) and np.all(samples.pairs["messages"] > 5)
    assert all(each.wrong_blocks == () for each in samples.collectives) and len(samples.collectives) == 4


def test_several_ranks_on_a_node_are_one_node(program, tmp_path):
    program(*SHORT, "--sample-above=2", "--rounds=4", ranks=6, ranks_per_node=2, cwd=tmp_path)
    figures = (tmp_path / RESULT).with_suffix(".bin").read_bytes()
    samples = pair_sweep.read_samples((tmp_path / RESULT).read_text(), figures)
    assert (samples.nodes, samples.document.ranks_per_node, len(samples.pairs)) == (("node0", "node1", "node2"), 2, 4)


def test_a_line_of_the_leaf_switches_that_is_none_is_named(program, tmp_path):
    (tmp_path / "leaves.txt").write_text("0 leaf0\n1\n")
    done = subprocess.run(
        [program.path, "pairs", "--schedule-only=4", f"--leaves={tmp_path}/leaves.txt"],
        check=False,
        capture_output=True,
        text=True,
    )
    assert done.returncode != 0 and "leaves.txt, line 2: expected NODE LEAF" in done.stderr


def test_a_sample_without_a_file_to_write_is_refused(program, tmp_path):
    done = program("--sample-above=2", ranks=3, cwd=tmp_path, ok=False)
    assert done.returncode != 0 and "a sample needs --output" in done.stderr


@pytest.mark.parametrize(
    ("fault", "routing"),
    [("none", "static"), ("none", "adaptive"), ("node", "static"), ("leaf uplinks", "adaptive"),
     ("spine path", "static"), ("spine path", "adaptive")],
)  # fmt: skip
def test_a_planted_fault_is_named_and_nothing_else(program, tmp_path, fault, routing):
    """As ``python -m tests.pair_sampling`` does for ten thousand nodes, with many more seeds."""
    for seed in range(3):
        fabric = Fabric(600, 20, routing, np.random.default_rng(seed))
        planted = fabric.plant(fault)
        figures = fabric.sweep(schedule_of(program.path, fabric.leaf, rounds_of_sample(600), seed, tmp_path))
        assert [finding.name for finding in fabric.judged(figures).findings] == ([planted] if planted else [])
