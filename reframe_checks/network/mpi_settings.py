"""The same measurement with MPI's defaults and with a setting of the site, in one job: does the setting help?

The checks measure between two nodes: latency of 8 B, rate of messages of 8 B, bandwidth of 1 MiB (own program,
``kappa-measure pairs``). The steps alternate, so changes over time affect both. The best of several rounds counts. A
site's environment lists the variables of the setting; without them, the check is not provided there.
"""

import fnmatch

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.features import MPI_BEHAVIOUR
from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.cmake_program import MeasureProgram
from reframe_checks.base.measure import with_variables
from reframe_checks.base.scaled import Scaled
from reframe_checks.network.mpi_behaviour import MpiBehaviourCheck
from reframe_checks.network.transport import ASKED
from reframe_checks.parsers import mpi_behaviour, pair_sweep, transport

SHORT_BYTES, LONG_BYTES = 8, 1 << 20
# Messages in flight: a rate needs many short messages, a bandwidth few long ones.
WINDOWS = {SHORT_BYTES: 256, LONG_BYTES: 16}
AS_IS, UNDER = "as-is", "under-setting"
# Receives that are posted before the measured one.
DEPTHS = (0, 1, 4, 16, 64, 256, 1024)
DEEPEST = DEPTHS[-1]
DEPTH = ("Others in the queue", "")


class MpiSettingCheck(Scaled, KappaCheck):
    """Compare MPI's defaults with a setting; leaves name the ``setting``, a key of the environment."""

    family = "network/mpi-settings"
    failure_means = (
        "Under the site's setting, messages are slower than the bound allows, or a payload was wrong. If the figures "
        "without the setting are slow too, the nodes or the network are at fault; otherwise do without the setting."
    )
    needs_partition = [MPI_BEHAVIOUR]
    # The effect of a setting changes with software, not overnight.
    modes = ("acceptance",)
    scale = rfmb.parameter(["2_nodes"], loggable=True)
    informational = ["latency_8B_as_is", "message_rate_as_is", "bandwidth_1MiB_as_is"]
    build = rfmb.fixture(MeasureProgram, scope="environment")
    setting = ""

    rounds = SiteVariable(3, "whole number", "", "rounds of steps with and without the setting; the best counts")

    def command_lines(self):
        return [
            self.command_line(kind, message_bytes, number)
            for number in range(1, self.rounds + 1)
            for kind in (AS_IS, UNDER)
            for message_bytes in WINDOWS
        ]

    def command_line(self, kind, message_bytes, number):
        words = [
            self.program, "pairs", f"--output={self.result_file(kind, message_bytes, number)}", "--alone-share=0",
            f"--latency-bytes={SHORT_BYTES}", f"--bandwidth-bytes={message_bytes}",
            f"--window={WINDOWS[message_bytes]}",
        ]  # fmt: skip
        return self.launched(with_variables(self.variables_of(kind), words))

    def variables_of(self, kind):
        return self.current_environ.extras[self.setting] if kind == UNDER else {}

    @staticmethod
    def result_file(kind, message_bytes, number):
        return f"{kind}-{message_bytes}B-{number}.json"

    @rfmb.sanity_function
    def read_results(self):
        self.best = {kind: self.best_of(kind) for kind in (AS_IS, UNDER)}
        return True

    def best_of(self, kind):
        """Return latency in us, short messages per second, and bandwidth of long messages in MB/s.

        Rate and bandwidth are those of the slower direction.
        """
        results = {size: [self.result(kind, size, number) for number in range(1, self.rounds + 1)] for size in WINDOWS}
        latency_us = min(found.latency_us[0][1] for of_size in results.values() for found in of_size)
        short, long = (
            max(min(found.bandwidth_mbps[0][1], found.bandwidth_mbps[1][0]) for found in results[size])
            for size in (SHORT_BYTES, LONG_BYTES)
        )
        return latency_us, short * 1e6 / SHORT_BYTES, long

    def result(self, kind, message_bytes, number):
        name = self.result_file(kind, message_bytes, number)
        found = self.parsed(pair_sweep.PairSweepResult.read, self.output_text(name))
        self.require_all_nodes(found.nodes)
        if (found.latency_bytes, found.bandwidth_bytes) != (SHORT_BYTES, message_bytes):
            raise SanityError(
                f"{name}: measured messages of {found.latency_bytes} and {found.bandwidth_bytes} B, "
                f"expected {SHORT_BYTES} and {message_bytes} B"
            )
        if found.not_measured:
            raise SanityError(f"{name}: no figure between {' and '.join(found.not_measured[0])}")
        if any(payloads.wrong for payloads in found.payloads) or any(one.wrong_blocks for one in found.collectives):
            raise SanityError(f"{name}: messages arrived with wrong data")
        return found

    metrics = {
        "latency_8B": ("us", lambda self: self.best[UNDER][0]),
        # Messages of 8 B, 256 in flight.
        "message_rate": ("1/s", lambda self: self.best[UNDER][1]),
        "bandwidth_1MiB": ("MB/s", lambda self: self.best[UNDER][2]),
        "latency_8B_as_is": ("us", lambda self: self.best[AS_IS][0]),
        "message_rate_as_is": ("1/s", lambda self: self.best[AS_IS][1]),
        "bandwidth_1MiB_as_is": ("MB/s", lambda self: self.best[AS_IS][2]),
        # With the setting divided by the default; for the latency, below 1 is a gain.
        "latency_ratio": ("", lambda self: self.best[UNDER][0] / self.best[AS_IS][0]),
        "rate_ratio": ("", lambda self: self.best[UNDER][1] / self.best[AS_IS][1]),
        "bandwidth_ratio": ("", lambda self: self.best[UNDER][2] / self.best[AS_IS][2]),
    }


@rfm.simple_test
class TagMatching(MpiSettingCheck):
    descr = (
        "Compares latency, message rate and bandwidth with tag matching in the adapter and on the host; finds a "
        "setting that costs time"
    )
    estimated_s = 30
    needs_environ = ["sweep-build", "mpi-tag-matching"]
    setting = "tag_matching"
    hint = "check that `ucx_info -d` lists tag matching for the adapter; with short queues, short messages gain nothing"


@rfm.simple_test
class RendezvousProtocol(MpiSettingCheck):
    descr = (
        "Compares latency, message rate and bandwidth with another rendezvous protocol and with MPI's default; finds "
        "the slower one"
    )
    measured_s = 13
    needs_environ = ["sweep-build", "mpi-rendezvous"]
    setting = "rendezvous"
    hint = "compare UCX_RNDV_SCHEME and UCX_RNDV_THRESH, or the eager limit, with MPI's defaults"


@rfm.simple_test
class ShortQueues(MpiSettingCheck):
    descr = (
        "Compares latency, message rate and bandwidth with short queues and with MPI's default; finds queues that are "
        "too short"
    )
    measured_s = 13
    needs_environ = ["sweep-build", "mpi-short-queues"]
    setting = "short_queues"
    hint = "short queues save memory per connection; use them if they do not reduce the message rate"


@rfm.simple_test
class UnreliableDatagrams(MpiSettingCheck):
    descr = (
        "Compares latency, message rate and bandwidth with unreliable datagrams and reliable connections; finds the "
        "cost of datagrams"
    )
    estimated_s = 30
    needs_environ = ["sweep-build", "mpi-unreliable"]
    setting = "unreliable"
    hint = (
        "each datagram has at most one MTU, so bandwidth and rate are lower; MpiMemoryUnreliable shows the saved memory"
    )
    failure_means = (
        "With unreliable datagrams, messages are slower than the bound allows, a payload was wrong, or MPI did not use "
        "datagrams. If the figures without the setting are slow too, the nodes or the network are at fault."
    )

    def command_lines(self):
        """Return the command lines; before the measurements, two steps make MPI print its transports."""
        asked = dict(setting.split("=", 1) for setting in ASKED)
        words = [self.program, "pairs", "--output=lanes.json", "--alone-share=0", "--round-trips=1", "--repeats=1"]
        lanes = [
            self.launched(with_variables(asked | self.variables_of(kind), words), f"> {self.lanes_file(kind)} 2>&1")
            for kind in (AS_IS, UNDER)
        ]
        return [*lanes, *super().command_lines()]

    @staticmethod
    def lanes_file(kind):
        return f"lanes-{kind}.txt"

    def best_of(self, kind):
        said = transport.lanes(self.output_text(self.lanes_file(kind)))
        protocols = {lane.protocol for lanes in said.values() for lane in lanes}
        datagrams = set(fnmatch.filter(protocols, "ud*"))
        if not protocols or (protocols != datagrams if kind == UNDER else datagrams == protocols):
            wanted = "only datagrams (ud_*)" if kind == UNDER else "reliable connections"
            found = ", ".join(sorted(protocols)) or "no transport"
            raise SanityError(f"{self.lanes_file(kind)}: expected {wanted}, found {found}")
        return super().best_of(kind)


@rfm.simple_test
class TagMatchingDepth(MpiBehaviourCheck):
    descr = (
        "Compares the round trip behind other posted receives with tag matching in the adapter and on the host; finds "
        "slow matching"
    )
    parse = staticmethod(mpi_behaviour.MatchingResult.read)
    family = "network/mpi-settings"
    estimated_s = 20
    needs_environ = ["sweep-build", "mpi-tag-matching"]
    scale = rfmb.parameter(["2_nodes"], loggable=True)
    hint = "the adapter matches UCX_RC_MLX5_TM_LIST_SIZE receives; the host matches all further receives"
    failure_means = (
        "With tags matched in the adapter, a message behind many posted receives takes too long, so that the setting "
        "does not do what it is for. Check that the adapter supports it, or do without the setting."
    )

    def steps(self):
        words = ["matching", f"--depths={','.join(map(str, DEPTHS))}"]
        return {f"{kind}.json": words for kind in (AS_IS, UNDER)}

    def asked(self, name):
        return {"depths": DEPTHS}

    def variables_of(self, name):
        return self.current_environ.extras["tag_matching"] if name == f"{UNDER}.json" else {}

    def record_series(self):
        self.posted = {}
        for kind, metric in ((AS_IS, ""), (UNDER, "posted_1024")):
            series = self.results[f"{kind}.json"].series
            self.posted[kind] = {one.depth: min(one.posted_us) for one in series}
            gated = {DEEPEST: metric} if metric else {}
            self.record_curve(f"posted, {kind}", DEPTH, ("Round trip", "us"), self.posted[kind], gated)

    metrics = {
        "posted_1024": ("us", lambda self: self.posted[UNDER][DEEPEST]),
        # Divided by the time with tag matching on the host.
        "posted_1024_ratio": ("", lambda self: self.posted[UNDER][DEEPEST] / self.posted[AS_IS][DEEPEST]),
    }
