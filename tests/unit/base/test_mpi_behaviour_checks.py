"""Results of the checks of MPI's behaviour: recorded ones, and ones that no library of this machine gives."""

import json
from types import SimpleNamespace

import pytest
from msgspec.structs import replace
from reframe.core.exceptions import SanityError

from reframe_checks.base.measure import with_variables
from reframe_checks.network.mpi_behaviour import (
    RESULT_FILE,
    WINDOW_SIZES,
    MpiAnySource,
    MpiSharedWindow,
)
from reframe_checks.network.mpi_memory import MpiMemory, MpiMemoryPreconnected, MpiMemoryUnreliable
from reframe_checks.network.mpi_threads import MpiThreadLevels, MpiThreadMultiple
from reframe_checks.parsers import mpi_behaviour
from reframe_checks.parsers.mpi_behaviour import THREAD_LEVELS, ThreadFigures
from reframe_checks.parsers.text import ParseError
from tests.figures import figure
from tests.measured import measured
from tests.stand_in import StandIn


def threads(asked, provided):
    one = ThreadFigures(1, (2.0, 1.0), (4e5, 5e5))
    more = [ThreadFigures(2, (9.0, 8.0), (2e5, 3e5))] if provided == "multiple" else []
    return SimpleNamespace(mpi="MPI", asked=asked, provided=provided, series=(one, *more))


def levels_check(given):
    results = {level: threads(level, one) for level, one in zip(THREAD_LEVELS, given, strict=True)}
    check = StandIn(MpiThreadLevels, results=results)
    check.record_series()
    return check


def test_a_level_that_is_not_given_is_counted():
    whole = levels_check(THREAD_LEVELS)
    assert figure(MpiThreadLevels, "levels_given", whole) == 4
    assert figure(MpiThreadLevels, "highest_level", whole) == 3
    # More than asked for is given, too.
    less = levels_check(("funneled", "funneled", "serialized", "serialized"))
    assert figure(MpiThreadLevels, "levels_given", less) == 3
    assert figure(MpiThreadLevels, "highest_level", less) == 2
    assert less.curves["levels"] == {0: 1, 1: 1, 2: 2, 3: 2}


def test_without_multiple_no_latency_of_threads_passes():
    results = {"single.json": threads("single", "single"), "multiple.json": threads("multiple", "serialized")}
    with pytest.raises(SanityError, match="gives the level serialized where multiple is requested"):
        StandIn(MpiThreadMultiple, results=results).record_series()


def test_latency_of_threads_is_that_of_the_best_repeat():
    results = {"single.json": threads("single", "single"), "multiple.json": threads("multiple", "multiple")}
    check = StandIn(MpiThreadMultiple, results=results, series=[1, 2])
    check.record_series()
    assert figure(MpiThreadMultiple, "latency", check) == 1
    assert figure(MpiThreadMultiple, "threads_latency", check) == 8
    assert figure(MpiThreadMultiple, "message_rate", check) == 3e5
    assert figure(MpiThreadMultiple, "multiple_over_single", check) == 1


def test_any_source_is_held_against_named_ones_with_all_peers(recorded):
    found = mpi_behaviour.AnySourceResult.read(recorded("mpi_behaviour/any_source.json"), ranks=4)
    slow = replace(found.series[-1], expected_named_us=(2.0, 3, 3, 3, 3), expected_any_us=(9.0, 7, 9, 9, 9))
    found = replace(found, series=(*found.series[:-1], slow))
    check = StandIn(MpiAnySource, results={RESULT_FILE: found})
    check.record_series()
    assert figure(MpiAnySource, "expected_any_latency", check) == 7
    assert figure(MpiAnySource, "expected_any_over_named", check) == 3.5
    points = check.curves["expected, any source"]
    assert (list(points), points[3]) == ([1, 2, 3], 7)
    assert check.gated["expected, any source"] == {3: "expected_any_latency"}


def memory(kib):
    series = [{"peers": n, "median_kib": 1024 + kib + 4.0 * n, "largest_kib": 1e6} for n in (0, 2, 3)]
    before = {"median_kib": 1024.0, "largest_kib": 1024.0}
    document = measured("mpi memory", {"repeats": 5, "before_init": before, "series": series}, ranks=4, nodes=1)
    return mpi_behaviour.MemoryResult.read(json.dumps(document) + "\n")


def memory_check(leaf, **starts):
    """Runs in which MPI takes so many KiB to start, and 4 KiB more for each peer."""
    results = {name: memory(kib) for kind, kib in starts.items() for name in leaf.files_of(kind)}
    check = StandIn(leaf, results=results, full_ranks=1025, num_tasks=4)
    check.record_series()
    return check


def test_memory_is_extrapolated_to_all_ranks():
    check = memory_check(MpiMemory, on_demand=2048)
    assert figure(MpiMemory, "memory_at_start", check) == 2
    assert figure(MpiMemory, "memory_per_peer", check) == pytest.approx(4)
    assert figure(MpiMemory, "memory_of_full_machine", check) == pytest.approx(6)
    assert check.curves["on demand"] == {0: 3072, 2: 3080, 3: 3084}


def test_what_connections_at_the_start_cost():
    check = memory_check(MpiMemoryPreconnected, on_demand=2048, preconnected=2048 + 3 * 16)
    assert figure(MpiMemoryPreconnected, "memory_per_connection", check) == 16
    assert figure(MpiMemoryPreconnected, "memory_of_full_machine", check) == 18


def test_what_datagrams_save():
    check = memory_check(MpiMemoryUnreliable, on_demand=2048, unreliable=2048)
    assert figure(MpiMemoryUnreliable, "memory_per_peer", check) == pytest.approx(4)
    assert figure(MpiMemoryUnreliable, "memory_saved_per_peer", check) == pytest.approx(0)


def test_variables_of_the_site_are_set_for_the_preconnected_steps_alone():
    environ = SimpleNamespace(extras={"preconnect": {"B": "two words", "A": 1}})
    variables = StandIn(MpiMemoryPreconnected, current_environ=environ).variables_of
    assert with_variables(variables("preconnected-0.json"), ["mpi"]) == "env A=1 'B=two words' mpi"
    assert with_variables(variables("on_demand-0.json"), ["mpi", "a b"]) == "mpi 'a b'"


def test_collectives_are_held_against_those_through_a_window(recorded):
    text = recorded("mpi_behaviour/shared_window.json")
    found = mpi_behaviour.SharedWindowResult.read(text, ranks=2, sizes=WINDOW_SIZES, table_mib=64)
    check = StandIn(MpiSharedWindow, results={RESULT_FILE: found})
    check.record_series()
    ratio = figure(MpiSharedWindow, "gather_mpi_over_shared_8B", check)
    assert ratio == min(found.series[4].mpi_us) / min(found.series[4].shared_us)
    assert check.curves["gather, mpi over shared"][8] == ratio
    assert figure(MpiSharedWindow, "memory_saved", check) == pytest.approx(64, abs=1)
    assert figure(MpiSharedWindow, "shared_read", check) == pytest.approx(64 * 2**20 / min(found.shared.pass_us))
    read = figure(MpiSharedWindow, "shared_over_copied_read", check)
    assert read == pytest.approx(min(found.copies.pass_us) / min(found.shared.pass_us))


@pytest.mark.parametrize(
    ("said", "other", "message"),
    [
        ('"nodes":1', '"nodes":2', "one node"),
        # A table that each rank holds is none that they share.
        ('"shared":{"MiB":64', '"shared":{"MiB":128', "1 x 64 MiB"),
        ('"gather","shared_us"', '"broadcast","shared_us"', "broadcast, gather, allreduce of"),
    ],
)
def test_what_shares_no_memory_is_refused(recorded, said, other, message):
    text = recorded("mpi_behaviour/shared_window.json").replace(said, other)
    with pytest.raises(ParseError, match=message):
        mpi_behaviour.SharedWindowResult.read(text, ranks=2, sizes=WINDOW_SIZES, table_mib=64)
