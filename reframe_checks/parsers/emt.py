"""Results of the EMT application: ``emt run --result FILE`` and ``emt caches``, one JSON object each.

``emt_app/schema/result.schema.json`` is the schema of ``emt run``'s file. The readers here take only the keys that a
check judges, so further keys are no error.
"""

import math
from typing import Annotated, Literal

from msgspec import Meta, Struct, field

from reframe_checks.parsers.json_reader import (
    Bytes,
    Count,
    Index,
    JsonOutput,
    MibPerS,
    Microseconds,
    OnNodes,
    OwnDocument,
    Positive,
    Ranks,
    Seconds,
    ShortMicroseconds,
    Size,
    Text,
    require,
)
from reframe_checks.parsers.text import Unit

SignedMicroseconds = Annotated[float, Meta(ge=-Unit.OPERATION_US.ceiling, le=Unit.OPERATION_US.ceiling)]
Speedup = Annotated[float, Meta(ge=0, le=Unit.RANKS.ceiling)]
#: The file has four decimals: half of the last one, and the rounding errors here.
LAST_DIGIT = 0.5e-4 + 1e-9
# Format -> bytes of a record's stamp, and of a value.
_FORMATS = {"comtrade": (8, 4), "hdf5": (8, 8)}
# Seconds are whole nanoseconds; rates are their unrounded quotients.
_SAME = 1e-13


class StepTimes(Struct, frozen=True):
    mean: Microseconds


class StepDistribution(Struct, frozen=True):
    """The distribution of step times; ``block_p50``: median over blocks of steps of the slowest rank's mean step."""

    mean: Microseconds
    p50: Microseconds
    p99: Microseconds
    block_p50: Microseconds
    max: Microseconds

    def __post_init__(self) -> None:
        in_order = self.p50 <= self.p99 and max(self.mean, self.block_p50) <= self.max
        require(in_order, "p50 <= p99, mean <= max and block_p50 <= max")


class EmtRun(JsonOutput, frozen=True):
    """The common facts of all runs."""

    format: Literal["kappa-emt-result"]
    version: Literal[1]
    checksum: Text
    steps: Positive
    rank_count: Ranks = field(name="ranks")
    exchange: Literal["step", "slack"]


class EmtResult(EmtRun, frozen=True, kw_only=True):
    """One run; times are microseconds per step.

    ``kappa_block_p50_us`` is the parallelisation cost T - sigma - phi/p at T = ``step_block_p50_us`` (IPST 2023,
    section II). ``speedup``, ``efficiency`` and ``karp_flatt`` (the standard formula; ``None`` with one rank) are at
    the mean of all steps. In exchange mode ``slack``, most steps do not wait, so ``step_p50_us`` shows little.

    ``simulated``: on a simulated machine, with an injected work phi. There, no step is shorter than its heaviest task,
    ``heaviest_task_us``.
    """

    case_hash: Text
    simulated: bool
    phi_by: Literal["injected", "replay"]
    exchange_by: Literal["nothing", "messages", "shared-memory", "both"]
    replay_exact: bool | None = None
    sigma_us: ShortMicroseconds
    phi_us: ShortMicroseconds
    step_us: StepDistribution
    kappa_us: SignedMicroseconds
    kappa_block_p50_us: SignedMicroseconds
    imbalance_us: SignedMicroseconds
    speedup: Speedup
    efficiency: Speedup
    karp_flatt: Annotated[float, Meta(ge=-Unit.RANKS.ceiling, le=Unit.RANKS.ceiling)] | None
    heaviest_task_us: ShortMicroseconds | None = None

    def __post_init__(self) -> None:
        replay = "injected" if self.simulated else "replay"
        require(self.phi_by == replay, "phi_by: injected where the machine is simulated, else replay")
        by = "messages" if self.ranks > 1 else "nothing"
        require(not self.simulated or self.exchange_by == by, "exchange_by: messages, of several simulated ranks")
        require(not self.simulated or self.heaviest_task_us is not None, "heaviest_task_us: a time, as simulated")
        exact = self.simulated or self.replay_exact is True
        require(exact, "replay_exact: true: the replay that measures phi gave other bits")
        require((self.karp_flatt is None) == (self.ranks == 1), "karp_flatt: a number of two ranks or more, else null")
        step, work_us = self.step_us, self.sigma_us + self.phi_us / self.ranks
        half = LAST_DIGIT * (3 + 1 / self.ranks)
        _require_close("kappa_us", self.kappa_us, step.mean - work_us, half)
        _require_close("kappa_block_p50_us", self.kappa_block_p50_us, step.block_p50 - work_us, half)
        half = LAST_DIGIT * (1 + (2 + self.speedup) / step.mean)
        _require_close("speedup", self.speedup, (self.sigma_us + self.phi_us) / step.mean, half)
        _require_close("efficiency", self.efficiency, self.speedup / self.ranks, LAST_DIGIT * (1 + 1 / self.ranks))

    @property
    def ranks(self) -> int:
        return self.rank_count

    @property
    def step_block_p50_us(self) -> float:
        return self.step_us.block_p50

    @property
    def step_p50_us(self) -> float:
        return self.step_us.p50

    @property
    def step_p99_us(self) -> float:
        return self.step_us.p99


class RankPace(Struct, frozen=True):
    """Late steps of one rank; ``episodes`` is the number of sequences of late steps.

    ``late_p999_us``: percentile over all steps; a step in time is 0 late.
    """

    rank: Index
    node: Text
    overruns: Count
    in_time: Count
    episodes: Count
    late_p999_us: ShortMicroseconds
    late_worst_us: ShortMicroseconds

    def __post_init__(self) -> None:
        late = self.overruns > 0
        agree = self.episodes <= self.overruns and late == (self.episodes > 0) == (self.late_worst_us > 0)
        require(agree and self.late_p999_us <= self.late_worst_us, "episodes and lateness of as many overruns")


class Pace(Struct, frozen=True):
    steps: Positive
    per_rank: tuple[RankPace, ...]

    def __post_init__(self) -> None:
        require([one.rank for one in self.per_rank] == [*range(len(self.per_rank))], "per_rank: ranks in their order")
        for one in self.per_rank:
            require(one.overruns + one.in_time == self.steps, f"overruns: with the steps in time {self.steps}")


class EmtPace(EmtRun, frozen=True, kw_only=True):
    """A run in real time (``--pace real-time``); ``dt_us`` is the simulated time and the wall time of a step."""

    ended_by: Literal["steps"]
    dt_us: Microseconds
    pace: Pace
    step_us: StepTimes

    def __post_init__(self) -> None:
        require(self.pace.steps == self.steps, f"pace.steps: {self.steps}, as the run")
        require(len(self.ranks) == self.rank_count, "per_rank: one entry of each rank")
        # No step ends before its time, and the last one no later than the worst; four decimals are kept.
        late_us = max(one.late_worst_us for one in self.ranks)
        latest_us = (self.dt_us + late_us / self.steps) * 1.01
        require(self.dt_us * (1 - 1e-3) <= self.step_us.mean <= latest_us, "dt_us: a mean step of its time")

    @property
    def ranks(self) -> tuple[RankPace, ...]:
        return self.pace.per_rank


class RankIo(Struct, frozen=True):
    """The I/O of a rank; a rank without channels has no rates.

    ``flush_s``: time to sync and close the file. ``read_of``: the rank that wrote the ``read_bytes``.
    """

    rank: Index
    node: Text = field(name="host")
    channels: Count
    bytes: Bytes
    raw_write_s: Seconds = field(name="write_s")
    flush_s: Seconds
    write_mib_s: MibPerS | None
    read_of: Index
    read_bytes: Bytes
    read_s: Seconds
    read_mib_s: MibPerS | None

    def __post_init__(self) -> None:
        _require_rate("write_mib_s", self.write_mib_s, self.bytes, self.write_s)
        _require_rate("read_mib_s", self.read_mib_s, self.read_bytes, self.read_s)

    @property
    def write_s(self) -> float:
        return self.raw_write_s + self.flush_s

    @property
    def write_mb_s(self) -> float | None:
        return 1e-6 * self.bytes / self.write_s if self.bytes else None

    @property
    def read_mb_s(self) -> float | None:
        return 1e-6 * self.read_bytes / self.read_s if self.read_bytes else None


class Waveforms(Struct, frozen=True):
    """Files of waveforms; ``verified``: each rank read and compared its own bytes, or another rank's."""

    files: Literal["shared", "rank"]
    io: Text
    format: Literal["comtrade", "hdf5"]
    verified: Literal["own", "other"]
    decimate: Positive
    records: Positive
    by_rank: tuple[RankIo, ...]

    def __post_init__(self) -> None:
        ranks = self.by_rank
        require([one.rank for one in ranks] == [*range(len(ranks))], "by_rank: ranks in their order")
        stamp, value = _FORMATS[self.format]
        away = max(len(ranks) // 2, 1) if self.verified == "other" else 0
        for one in ranks:
            stamped = one.rank == 0 if self.files == "shared" else one.channels > 0
            size = self.records * (one.channels * value + stamped * stamp)
            require(one.bytes == size, f"bytes: {self.records} records of {one.channels} channels")
            writer = ranks[(one.rank + away) % len(ranks)]
            found = (one.read_of, one.read_bytes)
            require(found == (writer.rank, writer.bytes), f"read_of: what rank {writer.rank} wrote")


class EmtIoResult(EmtRun, frozen=True, kw_only=True):
    """A run that wrote its waveforms through MPI-IO and read them back (``--waveforms FILE --verify-waveforms``).

    Rates are all bytes divided by the time of the slowest rank, in 10^6 bytes per second.
    """

    #: Without the writing.
    step_us: StepTimes
    warm_up: Count
    waveforms: Waveforms

    def __post_init__(self) -> None:
        told = self.waveforms
        records = (self.warm_up + self.steps) // told.decimate + 1
        require(told.records == records, f"records: one for each {told.decimate} of {self.steps} steps, and the first")
        require(len(self.ranks) == self.rank_count, "by_rank: one entry of each rank")
        require(self.bytes > 0 and min(self.write_s, self.read_s) > 0, "bytes: some, in some time")

    @property
    def ranks(self) -> tuple[RankIo, ...]:
        return self.waveforms.by_rank

    @property
    def channels(self) -> int:
        return sum(one.channels for one in self.ranks)

    @property
    def bytes(self) -> int:
        return sum(one.bytes for one in self.ranks)

    @property
    def write_s(self) -> float:
        return max(one.raw_write_s for one in self.ranks) + max(one.flush_s for one in self.ranks)

    @property
    def read_s(self) -> float:
        return max(one.read_s for one in self.ranks)

    @property
    def write_mb_s(self) -> float:
        return 1e-6 * self.bytes / self.write_s

    @property
    def read_mb_s(self) -> float:
        return 1e-6 * self.bytes / self.read_s


class NetworkTimes(OwnDocument, frozen=True):
    """One network on one core; times are microseconds per step, ``bytes_touched`` what a step reads or writes.

    ``phi_us`` is the work in the order of a step, ``phi_cached_us`` the same with each batch of tasks in the fastest
    cache.
    """

    case: Text
    case_hash: Text
    checksum: Text
    steps: Positive
    tasks: Positive
    bytes_touched: Size
    step_us: Microseconds
    sigma_us: ShortMicroseconds
    phi_us: Microseconds
    phi_cached_us: Microseconds
    replay_exact: bool

    def __post_init__(self) -> None:
        require(self.replay_exact, "replay_exact: true: the replay that measures phi gave other bits")

    @property
    def kappa_us(self) -> float:
        """Return kappa'(n, 1): the time of a step on one rank beyond its work (IPST 2023, section II)."""
        return self.step_us - self.sigma_us - self.phi_us

    @property
    def us_per_task(self) -> float:
        return self.phi_us / self.tasks


class DataCache(OwnDocument, frozen=True):
    level: Positive
    bytes: Size


class NodeCaches(OwnDocument, frozen=True):
    """``cache_list``: the core's data caches, empty where the kernel does not say."""

    node: Text
    core: Index
    cache_list: tuple[DataCache, ...] = field(name="caches")
    sizes: tuple[NetworkTimes, ...]

    def __post_init__(self) -> None:
        levels = sorted(self.caches)
        require(levels == [*range(1, len(self.cache_list) + 1)], "caches: levels 1, 2, … each once")
        sizes = [self.caches[level] for level in levels]
        require(sizes == sorted({*sizes}), "caches: a larger cache at each level")
        touched = [one.bytes_touched for one in self.sizes]
        require(sorted({*touched}) == touched, "sizes: each network touches more memory than the one before")

    @property
    def caches(self) -> dict[int, int]:
        """Level -> bytes."""
        return {one.level: one.bytes for one in self.cache_list}


class EmtCachesResult(OnNodes, frozen=True):
    format: Literal["kappa-emt-caches"]
    version: Literal[1]
    isa: Text
    nodes: tuple[NodeCaches, ...]

    def __post_init__(self) -> None:
        super().__post_init__()
        networks = {
            tuple((one.case, one.case_hash, one.tasks, one.bytes_touched) for one in each.sizes) for each in self.nodes
        }
        require(len(networks) == 1, "nodes: the same networks on all nodes")

    @property
    def networks(self) -> int:
        return len(self.nodes[0].sizes)


def _require_close(name: str, stated: float, computed: float, slack: float) -> None:
    require(abs(stated - computed) <= slack, f"{name}: {computed:.6g}, which follows from the other figures")


def _require_rate(name: str, mib_s: float | None, size: int, seconds: float) -> None:
    require((mib_s is not None) == (size > 0), f"{name}: a rate where bytes were moved, and only there")
    if mib_s is not None:
        exact = seconds > 0 and math.isclose(mib_s, size / (1 << 20) / seconds, rel_tol=_SAME)
        require(exact, f"{name}: the rate of {size} bytes in {seconds:g} s")


def read_caches(text: str, *, networks: int) -> dict[str, NodeCaches]:
    """Return caches and times of each node by its name; ``networks``: how many each node ran."""
    return {one.node: one for one in EmtCachesResult.read(text, networks=networks).nodes}
