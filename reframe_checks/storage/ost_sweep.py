"""Each object storage target of a Lustre file system alone, to find slow targets, servers and clients.

Several nodes write and read files on one target each, with direct I/O (fio, limited by ``runtime_s`` and
``phase_mib``). No two targets of a round share a server or a node. In each pass, another node uses a target, so
``localise/targets.py`` can separate a slow target from a slow server and a slow client. Targets that are faster than a
client's link look equal. The check fails if targets are inactive or missing, or if their number or the number of
servers differs from the site's.
"""

import math
import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.record.evidence import Finding
from kappa.core.vocabulary.features import STORAGE_TARGETS, swept
from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.job_files import KILLABLE, in_stage, staged
from reframe_checks.base.on_storage import OnStorage
from reframe_checks.base.scaled import OnEachNode
from reframe_checks.localise.finding import ranked, slowest_share
from reframe_checks.localise.targets import TargetSample, slowness_of, suspects_of_targets
from reframe_checks.parsers import file_benchmarks, job_scripts, lustre
from reframe_checks.parsers.text import ParseError
from reframe_checks.storage.fio import START_S, FioPhases

# Phase -> fio's pattern and block size; a block is one remote call of Lustre.
PHASES = {"write": ("write", "4M"), "read": ("read", "4M")}
TARGET = ("Index of the target + 1", "")


@rfm.simple_test
class OstSweep(FioPhases, OnStorage, OnEachNode, KappaCheck):
    descr = (
        "Measures every object storage target of Lustre alone with fio; finds slow or missing targets, servers and "
        "clients"
    )
    family = "storage/ost-sweep"
    relative = ["target_uniformity", "client_uniformity"]
    estimated_s = 300
    needs_environ = ["fio"]
    target = rfmb.parameter([target for target in STORAGE_TARGETS if swept(target)], loggable=True)
    modes = ("acceptance",)
    time_limit = "2h"
    cache_defeat = "direct I/O, read back from fio's result"
    hint = "check the named target's pool, controller and rebuilds, and its server's load and link"
    failure_means = (
        "An object storage target, a server or a client is slower than the others, or a target is inactive or cannot "
        "be measured. Kappa names which: look at a target's disks, a server's load, or a client's link."
    )

    PHASES = PHASES
    runtime_s = 5
    #: One second for a target of 2 GB/s.
    phase_mib = 2048
    file_size_mib = 2048
    #: Number of clients. More clients than servers would wait.
    most_nodes = 8
    #: Each with another client; two or more passes separate a client from a target.
    passes = SiteVariable(3, "whole number", "", "passes over all targets, each by another node")
    least_slowdown = SiteVariable(
        1.5, "number", "", "least slow-down, as a factor, at which a server, target or node is named"
    )
    tunable = {
        "most_nodes": Tunable(
            "whole number", "", "largest number of nodes that write and read; nodes beyond the number of servers wait"
        ),
    }

    sourcesdir = "src"
    executable = "fio"

    @classmethod
    def target_features(cls, target, scale):
        return [*super().target_features(target, scale), swept(target)]

    @classmethod
    def alternative_features(cls):
        targets = cls.raw_params["target"].values
        return [
            [*features, *(swept(target) for target in targets if STORAGE_TARGETS[target] in features)]
            for features in super().alternative_features()
        ]

    @rfmb.run_after("setup")
    def know_targets(self):
        where = f"extras/lustre/{self.target}"
        settings = self.stated(where, self.lustre_settings)
        self.osts, self.servers = (self.stated(f"{where}/{key}", settings.get(key)) for key in ("osts", "servers"))
        in_stage(self, KILLABLE)

    def command_lines(self):
        step = self.launched(staged(self, "ost_on_node.sh"), '"$round"', '"$folder"', *self.fio_options())
        # Only the job knows how many rounds its nodes need.
        rounds = f'for round in $(seq "$(tail -n 1 rounds.txt | cut -d " " -f 1)"); do {step}; done'
        return [f'./ost_rounds.sh "$folder" {self.passes}', rounds]

    def expected_s(self):
        rounds = self.passes * -(-self.osts // min(self.servers, self.num_nodes_used))
        return START_S + rounds * (1 + len(PHASES) * self.runtime_s)

    def most_bytes(self):
        return self.osts * self.passes * max(self.phase_mib, self.file_size_mib) << 20

    def wrote_bytes(self):
        return self.written

    @rfmb.sanity_function
    def read_targets(self):
        self.require_striping()
        found = self.parsed(lustre.targets, self.output_text("osts.txt"))
        server_of = self.parsed(lustre.servers, self.output_text("connections.txt"))
        plan = self.parsed(job_scripts.ost_turns, self.output_text("rounds.txt"))
        self.server_of = {target.name: server_of.get(target.name, "") for target in found}
        name_of = {target.index: target.name for target in found if target.active}
        self.require_planned(plan, name_of)
        self.written, samples, problems = 0, {phase: [] for phase in PHASES}, {}
        for turn in plan:
            try:
                figures = self.figures_of(turn)
            except (ParseError, SanityError) as err:
                problems.setdefault(name_of[turn.index], f"{err} on {turn.node}")
                continue
            for phase, rate in figures.items():
                samples[phase].append(TargetSample(name_of[turn.index], turn.node, rate))
        problems |= {target.name: "it is inactive" for target in found if not target.active}
        self.judge(samples, problems)
        self.require_stated(found)
        return True

    def require_planned(self, plan, name_of):
        """Require each active target once in each pass, and no two targets of one server or one node in a round.

        :raises SanityError: the plan is different.
        """
        turns = sorted(turn.index for turn in plan)
        if turns != sorted([*name_of] * self.passes):
            raise SanityError(f"rounds.txt has the targets {turns}, expected each active one {self.passes} times")
        for number in {turn.number for turn in plan}:
            together = [turn for turn in plan if turn.number == number]
            servers = {self.server_of[name_of[turn.index]] for turn in together}
            if "" in servers or not len(together) == len(servers) == len({turn.node for turn in together}):
                raise SanityError(f"round {number} of rounds.txt has two targets of one server, or two of one node")

    def figures_of(self, turn):
        """Return the rate of each phase of a target in a round, in MB/s.

        :raises SanityError: there is no result, or the file was on another target.
        """
        name = f"ost-{turn.index}-{turn.number}"
        try:
            result, index = self.output_text(f"{name}.json"), self.output_text(f"{name}.index")
        except SanityError:
            lines = self.output_text(f"{name}.err").splitlines()
            raise SanityError(lines[-1] if lines else "nothing was measured") from None
        if lustre.index(index) != turn.index:
            raise SanityError(f"the file was on target {index.strip()}, expected {turn.index}")
        jobs = {job.name: job for job in file_benchmarks.fio(result)}
        if list(jobs) != list(PHASES) or not all(job.direct for job in jobs.values()):
            raise SanityError(f"expected the phases {', '.join(PHASES)} with direct I/O")
        self.written += jobs["write"].write.io_bytes
        return {"write": jobs["write"].write.bandwidth_mb_s, "read": jobs["read"].read.bandwidth_mb_s}

    def judge(self, samples, problems):
        findings = [
            Finding("target", name, (), "write and read", None, None, problem)
            for name, problem in sorted(problems.items())
        ]
        if not all(samples.values()):
            self.record_findings(findings)
            raise SanityError("no target could be measured")
        self.rates, self.client_shares = {}, []
        for phase, of_phase in samples.items():
            slowness = slowness_of(of_phase)
            self.client_shares.append(math.exp(-max(slowness.clients.values())))
            self.rates[phase] = {
                name: statistics.median(one.rate for one in of_phase if one.target == name) for name in slowness.targets
            }
            by_index = {int(name[-4:], 16) + 1: rate for name, rate in self.rates[phase].items()}
            self.record_curve(f"{phase}, by target", TARGET, (f"Rate of a {phase}", "MB/s"), by_index, {})
            findings += suspects_of_targets(phase, of_phase, self.server_of, least_slowdown=self.least_slowdown)
        self.record_findings(ranked(findings))
        if problems:
            told = "; ".join(f"{name}: {problem}" for name, problem in sorted(problems.items())[:8])
            raise SanityError(f"{len(problems)} targets could not be measured: {told}")

    def require_stated(self, found):
        numbers = (len(found), len(set(self.server_of.values())))
        if numbers != (self.osts, self.servers):
            raise SanityError(
                f"found {numbers[0]} targets on {numbers[1]} servers, expected {self.osts} on {self.servers} "
                "(extras/lustre of the site); check whether a target is missing or a server failed over"
            )

    metrics = {
        "slowest_target_write": ("MB/s", lambda self: min(self.rates["write"].values())),
        "slowest_target_read": ("MB/s", lambda self: min(self.rates["read"].values())),
        # Slowest target divided by the median target.
        "target_uniformity": ("", lambda self: min(map(slowest_share, self.rates.values()))),
        # Slowest client divided by the usual client, after the targets' effect is removed.
        "client_uniformity": ("", lambda self: min(self.client_shares)),
    }
