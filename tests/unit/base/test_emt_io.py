"""Results of the checks of an application's MPI-IO: sizes, nodes' rates, and the named node."""

import json
from types import SimpleNamespace

import pytest
from reframe.core.exceptions import SanityError

from reframe_checks.storage.emt_io import (
    CHANNELS_OF_COPY,
    EmtIoCheck,
    EmtIoEachNode,
    EmtIoStriped,
    io_percent,
    rates_of_nodes,
)
from tests.stand_in import StandIn

MB = 10**6


def rank(node, write_s, read_s=0.1, size=100 * MB):
    write_mb_s, read_mb_s = (size / MB / took_s if size else None for took_s in (write_s, read_s))
    return SimpleNamespace(
        node=node, channels=10, bytes=size, write_s=write_s, write_mb_s=write_mb_s, read_bytes=size, read_s=read_s,
        read_mb_s=read_mb_s,
    )  # fmt: skip


def result(*ranks, checksum="a", mean_us=100.0):
    slowest_s = max(one.write_s for one in ranks)
    size = sum(one.bytes for one in ranks)
    return SimpleNamespace(
        checksum=checksum, steps=1000, step_us=SimpleNamespace(mean=mean_us), channels=40, bytes=size, ranks=ranks,
        waveforms=SimpleNamespace(files="rank", io="collective", verified="other"),
        write_s=slowest_s, write_mb_s=size / MB / slowest_s, read_s=0.1, read_mb_s=size / MB / 0.1,
    )  # fmt: skip


def check(*results, files="rank", **values):
    return StandIn(EmtIoCheck, results=results, files=files, least_slowdown=2.0, least_s=0, **values)


def test_a_node_is_as_fast_as_its_slowest_rank_and_one_without_bytes_says_nothing():
    ranks = [rank("n1", 1.0), rank("n1", 2.0), rank("n2", 1.0), rank("n2", 9.0, size=0)]
    assert rates_of_nodes(ranks)["write"] == {"n1": 100.0, "n2": 100.0}
    assert rates_of_nodes(ranks)["read"] == {"n1": 2000.0, "n2": 1000.0}


def test_what_is_done_in_a_time_slice_compares_no_nodes():
    ranks = [rank("n1", 0.02), rank("n2", 0.09), rank("n3", 0.5)]
    assert rates_of_nodes(ranks, least_s=0.1)["write"] == {"n1": 1000.0, "n2": 1000.0, "n3": 200.0}


@pytest.mark.parametrize("quantity", ["write", "read"])
def test_the_node_that_is_slow_in_every_round_is_named(quantity):
    def of(slow_s):
        usual, slow = {"write_s": 0.1}, {f"{quantity}_s": slow_s}
        return result(*(rank(f"n{number}", **(usual | (slow if number == 3 else {}))) for number in range(1, 9)))

    made = check(of(0.5), of(0.4))
    made.judge_nodes()
    assert [(finding.name, finding.quantity) for finding in made.findings] == [("n3", quantity)]
    assert made.findings[0].slowdown == pytest.approx(4)
    assert made.per_node[quantity]["n3"] == pytest.approx(250)
    once = check(of(0.5), of(0.1))
    once.judge_nodes()
    assert once.findings == []


def test_each_rank_that_wrote_is_evidence_of_the_fastest_round():
    rounds = [result(rank("n1", write_s), rank("n2", 0.1, size=0)) for write_s in (0.5, 0.4)]
    made = check(*rounds)
    made.record_ranks()
    assert made.curves["write, by rank"] == {0: pytest.approx(250)}
    assert made.curves["read, by rank"][0] == pytest.approx(1000)


def test_a_shared_file_names_nobody_as_all_wait_for_the_slowest():
    made = check(result(*(rank(f"n{number}", 5.0 if number == 3 else 0.1) for number in range(1, 9))), files="shared")
    made.judge_nodes()
    assert made.findings == [] and made.per_node == {}


def test_a_node_that_wrote_nothing_is_no_pass():
    ran, nodes = result(rank("n1", 0.1), rank("n2", 0.1), rank("n3", 0.1, size=0)), ["n1", "n2", "n3"]
    made = EmtIoEachNode.__new__(EmtIoEachNode)
    recorded = {"record_per_node": lambda *_: None, "record_findings": lambda findings: None}
    vars(made).update(vars(check(ran, provenance={"nodelist": nodes})) | recorded)
    with pytest.raises(SanityError, match="no figure from n3"):
        made.judge_nodes()


def test_the_share_of_output_is_of_steps_and_output():
    assert io_percent(result(rank("n1", 0.1))) == pytest.approx(50)


@pytest.fixture
def ran(recorded):
    text = recorded("emt_io/two_nodes_rank.json")
    return StandIn(
        EmtIoCheck, num_tasks=4, steps_taken=json.loads(text)["steps"], files="rank", read_by="other", copies=1,
        output_text=lambda name: text,
    )  # fmt: skip


def test_what_a_run_wrote_is_within_what_is_stated(ran):
    assert ran.result_of("result-1.json").bytes < (ran.steps_taken + 1) * ran.record_bytes


@pytest.mark.parametrize(
    "asked", [{"num_tasks": 8}, {"steps_taken": 1000}, {"files": "shared"}, {"read_by": "own"}, {"copies": 2}]
)
def test_a_run_that_was_not_asked_for_is_refused(ran, asked):
    vars(ran).update(asked)
    with pytest.raises(SanityError, match=r"expected|copies of the network"):
        ran.result_of("result-1.json")


def test_a_node_whose_own_disk_failed_is_named_and_no_other():
    said = "emt: --waveforms\nemt: error: rank 2: on node3: /scratch/kappa.7/waves.cff: the disk is full\n"
    for own, suspects in ((True, ["node3"]), (False, [])):
        made = StandIn(
            EmtIoCheck, stderr="job.err", output_text=lambda name: said, on_own_storage=own,
            provenance={"nodelist": ["node1", "node3"]},
        )  # fmt: skip
        assert made.why_failed() == "node3: /scratch/kappa.7/waves.cff: the disk is full"
        assert made.suspects == suspects


@pytest.mark.parametrize(
    ("values", "steps"),
    [
        ({"node_mib": 512, "least_mib": 512, "num_nodes_used": 2}, (1 << 30) // (8 + 4 * CHANNELS_OF_COPY)),
        ({"node_mib": 512, "least_mib": 4096, "num_nodes_used": 2}, (4 << 30) // (8 + 4 * CHANNELS_OF_COPY)),
        ({"node_mib": 1, "least_mib": 1, "num_nodes_used": 1, "steps": 7}, 7),
    ],
)
def test_steps_follow_from_the_bytes_unless_a_site_says_them(values, steps):
    made = StandIn(EmtIoCheck, **{"steps": 0, "files": "shared", "copies": 1, "num_tasks": 4} | values)
    assert made.steps_taken == steps


@pytest.mark.parametrize(("stripes", "count"), [("1", 1), ("4", 4), ("all", -1)])
def test_stripes_are_those_of_the_case_and_their_size_the_site_s(stripes, count):
    stated = {"stripe_count": 2, "stripe_size": 1 << 20}
    made = StandIn(EmtIoStriped, stripes=stripes)
    assert made.stated_striping(stated) == {"stripe_count": count, "stripe_size": 1 << 20}
    assert made.stated_striping(None) is None
