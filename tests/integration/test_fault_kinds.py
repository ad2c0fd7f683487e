"""Every kind of fault can be planted in a node of today's cluster, and mended: the cluster is healthy afterwards."""

import random

import pytest

from tests.fault_campaign.cluster import Cluster
from tests.fault_campaign.kinds import KINDS
from tests.tiers import long
from tests.waiting import until


@pytest.fixture(scope="module")
def cluster(tmp_path_factory):
    folder = tmp_path_factory.mktemp("kinds")
    made = Cluster(folder / "cluster", folder / "results")
    made.results.mkdir()
    try:
        yield made
    finally:
        made.end()


@long
@pytest.mark.parametrize("kind", KINDS)
def test_kind_can_be_planted_and_mended(cluster, kind):
    cluster.make_healthy()
    with KINDS[kind].put(cluster, "node1", random.Random(kind)) as planted:
        assert planted
    cluster.end_node("node1")
    cluster.make_healthy()


@long
def test_ranks_are_moved_under_the_name_that_they_have(cluster):
    cluster.make_healthy()
    rank = """
        cd "$(mktemp -d)"; echo "sleep 600" > affinity
        (exec -a /kappa-measure bash affinity) > /dev/null 2>&1 & echo $!
    """
    with KINDS["moved ranks"].put(cluster, "node1", random.Random(0)) as told:
        pid, core = cluster.on("node1", rank).strip(), told.split()[-1]
        until(lambda: cluster.on("node1", 'taskset -cp "$1"', pid).split()[-1] == core, "the rank is moved")
    cluster.end_node("node1")
