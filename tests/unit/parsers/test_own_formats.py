"""Figures that the suite's own programs write, and what of theirs cannot be.

Damage of a line or a figure of each format: ``test_mutation.py``.
"""

import json

import pytest

from reframe_checks.parsers import core_programs, emt, pair_sweep, transport
from reframe_checks.parsers.text import ParseError
from tests.unit.conftest import DATA
from tests.unit.parsers.cases import CASES


def changed(recorded, name, change):
    """The recorded output of the case, after ``change`` of its document."""
    document = json.loads(recorded(CASES[name].file))
    change(document)
    return json.dumps(document, indent=1) + "\n"


@pytest.fixture
def parsed(recorded):
    """The result of a case, after ``change`` of its document."""
    return lambda name, change=lambda document: None: CASES[name].parse(changed(recorded, name, change))


def test_an_emt_run(parsed, recorded):
    result = parsed("emt")
    assert (result.ranks, result.exchange, result.steps) == (2, "step", 2000)
    overhead_us = result.step_block_p50_us - result.sigma_us - result.phi_us / 2
    assert result.kappa_block_p50_us == pytest.approx(overhead_us, abs=1e-3)
    # The standard Karp-Flatt formula.
    assert result.karp_flatt == pytest.approx((1 / result.speedup - 1 / 2) / (1 - 1 / 2), rel=1e-2)
    assert emt.EmtResult.read(recorded("emt/one_rank.json")).karp_flatt is None
    simulated = parsed("emt simulated")
    assert (simulated.simulated, simulated.ranks, simulated.phi_us, simulated.sigma_us) == (True, 3, 100, 0)
    assert 1 < simulated.heaviest_task_us < simulated.phi_us / simulated.ranks


def test_late_steps_of_each_rank(parsed):
    result = parsed("emt_pace")
    assert (result.steps, result.dt_us, result.exchange, len(result.ranks)) == (20000, 50, "step", 2)
    assert max(rank.overruns for rank in result.ranks) > 0


@pytest.mark.parametrize("files", ["shared", "rank"])
def test_bytes_that_each_rank_wrote_and_read(parsed, files):
    result = parsed(f"emt_io {files}")
    assert (result.waveforms.files, result.waveforms.io, result.waveforms.verified) == (files, "collective", "other")
    assert [rank.node for rank in result.ranks] == ["node1", "node1", "node2", "node2"]
    assert result.bytes == sum(rank.read_bytes for rank in result.ranks)
    assert result.write_mb_s == pytest.approx(1e-6 * result.bytes / result.write_s)
    assert all(rank.write_mb_s == pytest.approx(1e-6 * rank.bytes / rank.write_s) for rank in result.ranks)
    assert [rank.read_of for rank in result.ranks] == [2, 3, 0, 1]


def test_a_rate_of_a_rank_is_its_bytes_over_its_time(parsed):
    def no_rate(document):
        document["waveforms"]["by_rank"][1]["write_mib_s"] = None

    with pytest.raises(ParseError, match="a rate where bytes were moved"):
        parsed("emt_io rank", no_rate)


def test_work_over_memory(parsed):
    nodes = parsed("emt_caches")
    assert list(nodes) == ["node1", "node2"]
    assert nodes["node1"].caches == {1: 32 << 10, 2: 1 << 20, 3: 32 << 20}
    first, _, last = nodes["node2"].sizes
    assert (first.tasks, last.tasks, first.bytes_touched) == (172, 16 * 172, 410241)
    assert last.us_per_task == last.phi_us / (16 * 172)


def test_bits_of_every_core_and_work(parsed, recorded):
    sweep = parsed("bit_sweep")
    assert (sweep.variant, len(sweep.bits)) == (6, 4 * 2 * 3)
    assert sweep.bits[0] == ("node1", 0, "dense", "fused", (("ff882035025507d8", 59),))
    # The EMT application has a format of its own.
    sweep = core_programs.EmtAlikeResult.read(recorded("bit_sweep/emt_four_nodes.json"))
    assert {(bits.node, bits.core) for bits in sweep.bits} == {(f"node{n}", c) for n in (1, 2, 3, 4) for c in (0, 1)}


def test_speeds_of_every_core(parsed):
    nodes = parsed("node_sweep")
    assert list(nodes) == ["node1", "node2", "node3", "node4"]
    assert (nodes["node1"].cores, nodes["node1"].alone.gflops) == ((0, 1), (28.2639, 28.2732))
    assert nodes["node4"].together.triad_mbps == (8541.6, 7998.27)


def test_speeds_of_a_core_while_others_rest(parsed):
    nodes = parsed("node_fills")
    assert nodes["node1"].spread[1].triad_mbps == (19890.2,)
    assert nodes["node1"].spread[2].gflops == (22.432, 14.3675)
    assert nodes["node2"].packed[1].gflops == (23.4163,)


def test_half_of_two_sockets_is_half_of_each(parsed):
    """Two sockets, whose cores are numbered in turns."""
    cores = [0, 2, 4, 6, 1, 3, 5, 7]
    layouts = [(True, [0]), (True, [0, 1]), (True, [0, 4, 1, 5]), (True, cores), (False, cores[:2]), (False, cores[:4])]
    fills = [
        {"spread": spread, "active": active, "triad_MBps": [9.0] * len(active), "gflops": [2.0] * len(active),
         "steady": [1.0] * len(active)}
        for spread, active in layouts
    ]
    big = {
        "node": "big", "cores": cores, "domains": [0] * 4 + [1] * 4, "available_MiB": 4096, "fills": fills, "wrong": [],
    }  # fmt: skip

    def alone(document):
        document.update(nodes=[big])
        document["run"].update(ranks=1, nodes=1)

    found = parsed("node_fills", alone)["big"]
    assert (list(found.spread), list(found.packed)) == ([1, 2, 4, 8], [2, 4])


def test_figures_of_every_pair(parsed, recorded):
    sweep = parsed("pair_sweep")
    assert (sweep.latency_bytes, sweep.bandwidth_bytes, len(sweep.round_seconds)) == (8, 1 << 20, 7)
    # node5 sends through a limit of 200 Mbit/s.
    assert all(value < 25 for value in sweep.bandwidth_mbps[4] if value is not None)
    assert {"node5"} < {node for alone in sweep.alone for node in alone.pair}
    assert len(sweep.payloads) == 28
    assert all(payloads.messages > 1000 and payloads.wrong == 0 for payloads in sweep.payloads)
    assert [each.operation for each in sweep.collectives] == list(pair_sweep.OPERATIONS)
    # node5 drops 2 % of what arrives.
    lossy = pair_sweep.PairSweepResult.read(recorded("pair_sweep/eight_nodes_lossy.json"))
    packets = {packet.pair: packet for packet in lossy.packets}
    assert (packets[3, 4].sent, packets[3, 4].lost) == (119877, 1597)


def test_a_missing_figure_names_its_pair(parsed):
    assert parsed("pair_sweep").not_measured == []
    sweep = parsed("pair_sweep", lambda document: document["bandwidth_MBps"][2].__setitem__(6, None))
    assert sweep.not_measured == [("node3", "node7")]


def test_times_of_patterns(parsed):
    ring = parsed("pattern random_ring", lambda document: document.update(times_us=[4000, 2000, 8000]))
    assert (ring.way, ring.message_bytes, ring.simulated, ring.bandwidth_mb_s) == ("put", 2_000_000, False, 2000)
    particles = parsed("pattern particles")
    assert particles.times_us[particles.best] == particles.shortest_us
    allreduce = parsed("pattern simulated_allreduce")
    assert (allreduce.where, allreduce.aggregators, allreduce.cpu_us) == ("in-network", 3, {})
    assert list(allreduce.median_of_sizes_us) == [8 << power for power in range(10)]
    assert parsed("pattern allreduce").cpu_us.keys() == allreduce.sizes.keys()


def test_several_threads_are_there_only_where_mpi_gives_multiple(parsed):
    found = parsed("mpi_behaviour threads")
    assert (found.asked, found.provided, found.counts_of_threads) == ("multiple", "multiple", (1, 2, 4))
    with pytest.raises(ParseError, match=r"counts_of_threads: \[1\]"):
        parsed("mpi_behaviour threads", lambda document: document.update(provided="serialized"))


def test_memory_has_a_slope_over_peers(parsed):
    def line(document):
        for one in document["series"]:
            one["median_kib"] = one["largest_kib"] = 5000 + 12 * one["peers"]
        document["before_init"] = {"median_kib": 1000, "largest_kib": 1000}

    found = parsed("mpi_behaviour memory", line)
    assert (found.start_kib, round(found.per_peer_kib, 6)) == (4000, 12)


def test_the_busiest_links(parsed):
    found = parsed("link_use")
    assert len(found.busiest) == transport.SHOWN < found.links_used
    # Two ranks on each node; each rank sends 2 MB to both sides three times.
    assert found.busiest[0].bytes == pytest.approx(2 * 2 * 3 * 2e6, rel=0.01)
    text = '{"format": "kappa-link-use", "version": 1, "simulated_s": 0.0, "links_used": 0, "busiest": []}\n'
    assert transport.LinkUseResult.read(text).busiest == ()


#: Subcommands of ``kappa-measure``, and those of them with a number of ranks that the check states.
MEASURED = [name for name, case in CASES.items() if '"program": "kappa-measure"' in (DATA / case.file).read_text()[:40]]
ON_RANKS = [name for name in MEASURED if name.startswith(("pattern ", "mpi_behaviour "))]


@pytest.mark.parametrize("name", MEASURED)
def test_another_program_version_or_subcommand_is_refused(parsed, name):
    for change in ({"program": "other"}, {"version": 2}, {"subcommand": "other"}, {"unknown": 1}):
        with pytest.raises(ParseError):
            parsed(name, lambda document, change=change: document.update(change))
    with pytest.raises(ParseError, match="no more nodes than ranks"):
        parsed(name, lambda document: document["run"].update(nodes=17, ranks=16))


@pytest.mark.parametrize("name", ON_RANKS)
def test_another_number_of_ranks_is_refused(parsed, name):
    with pytest.raises(ParseError):
        parsed(name, lambda document: document["run"].update(ranks=16))


CONTRADICTIONS = [
    ("emt", lambda d: d.update(replay_exact=False), "replay_exact: true"),
    ("emt", lambda d: d.update(karp_flatt=None), "karp_flatt"),
    ("emt", lambda d: d.update(kappa_us=99.0), "kappa_us"),
    ("emt simulated", lambda d: d.update(simulated=False), "phi_by: injected where the machine is simulated"),
    ("emt simulated", lambda d: d.update(exchange_by="shared-memory"), "exchange_by: messages"),
    ("emt_pace", lambda d: d.update(ended_by="signal"), "ended_by: steps, found 'signal'"),
    ("emt_io shared", lambda d: d["waveforms"].update(records=700), "records"),
    ("emt_io shared", lambda d: d["waveforms"].update(verified="none"), "verified: own or other"),
    ("emt_io rank", lambda d: d["waveforms"]["by_rank"][1].update(read_of=1), "read_of: what rank 3 wrote"),
    ("emt_caches", lambda d: d["nodes"][0]["sizes"].pop(), "same networks"),
    ("emt_caches", lambda d: d["nodes"][0]["caches"][1].update(bytes=32768), "a larger cache at each level"),
    ("emt_caches", lambda d: d["nodes"][0]["sizes"][1].update(replay_exact=False), "other bits"),
    ("bit_sweep", lambda d: d["nodes"].pop(), "nodes: 4 nodes, a rank on each"),
    ("bit_sweep", lambda d: d["nodes"][0].update(node="node2"), "nodes: one or more, each once"),
    ("bit_sweep", lambda d: d["nodes"][0]["works"].pop(), "the same works on all nodes"),
    ("bit_sweep", lambda d: d["nodes"][0]["works"][0]["cores"].pop(), "one list for each core"),
    ("bit_sweep", lambda d: d["nodes"][0]["works"][0]["cores"][0].clear(), "digest: one or more"),
    ("node_sweep", lambda d: d["nodes"][0]["alone"]["gflops"].pop(), "a figure for each of 2 cores"),
    ("node_sweep", lambda d: d["nodes"][0].update(wrong=[5]), "wrong: some of the cores"),
    ("node_fills", lambda d: d["nodes"][0].update(cores=[1, 0]), "in whose order they are"),
    ("node_fills", lambda d: d["nodes"][0]["fills"].pop(), "fills: one core"),
    ("node_numa", lambda d: d["nodes"][0]["pairs"].pop(), "every pair of domains"),
    ("affinity", lambda d: d["ranks"].pop(), "each rank once"),
    ("pair_sweep", lambda d: d["latency_us"][0].__setitem__(1, 99), "same latency"),
    ("pair_sweep", lambda d: d["bandwidth_MBps"].reverse(), "null on the diagonal"),
    ("pair_sweep", lambda d: d["rounds"].pop(), "every pair of nodes once"),
    ("pair_sweep", lambda d: d["rounds"][0]["packets_lost"].pop(), "a number for each pair"),
    ("pair_sweep", lambda d: d["rounds"][0]["wrong_messages"].__setitem__(0, 10**6), "at most as many"),
    ("pair_sweep", lambda d: d["collectives"].pop(), "as many as operations"),
    ("pair_sweep", lambda d: d["collectives"][0].update(from_to=[[0, 8]], wrong_blocks=1), "below 8"),
    ("pair_sweep", lambda d: d["alone"][0].update(second="node9"), "two of the nodes"),
    ("pair_sweep", lambda d: d["alone"].append(d["alone"][0]), "each pair once"),
    ("pattern random_ring", lambda d: d.update(iterations=4), "a list of 4 times"),
    ("pattern particles", lambda d: d.update(within_nodes=True), "as many as were packed"),
    ("pattern particles", lambda d: d.update(pack_us=[1e6, 1e6, 1e6]), "no time longer"),
    ("pattern neighbour", lambda d: d.update(lines=2), "for each pair"),
    ("pattern simulated_allreduce", lambda d: d.update(aggregators=0), "aggregators: some in the network"),
    ("pattern simulated_allreduce", lambda d: d["run"].update(simulated=False), "cpu_us"),
    ("mpi_behaviour any-source", lambda d: d["series"].pop(), r"entries with \[1, 2, 3\] peers"),
    ("mpi_behaviour any-source", lambda d: d["series"][1]["expected_any_us"].pop(), "5 figures"),
    ("mpi_behaviour threads", lambda d: d["series"][0].update(messages_per_s=[1e9] * 5), "what 1 threads send"),
    ("mpi_behaviour memory", lambda d: d["series"][0].update(largest_kib=1), "no less than the median"),
    ("mpi_behaviour shared_window", lambda d: d["series"].reverse(), "series: broadcast, gather, allreduce"),
    ("link_use", lambda d: d["busiest"].reverse(), "falling use"),
    ("link_use", lambda d: d["busiest"].pop(), "10 links"),
    ("ring traffic", lambda d: d["nodes"].reverse(), "order of their ranks"),
    ("ring traffic of GPUs", lambda d: d["nodes"][0]["gpu"].update(ordinal=1), "ordinals"),
    ("sparse_direct", lambda d: d.update(total_ns=1), "total_ns"),
]


@pytest.mark.parametrize(("name", "change", "message"), CONTRADICTIONS)
def test_what_contradicts_itself_is_refused(parsed, name, change, message):
    with pytest.raises(ParseError, match=message):
        parsed(name, change)
