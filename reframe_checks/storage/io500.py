"""IO500: IOR and mdtest, easy and hard, and a find over all files, by the rules of the IO500 list.

Phases that write end at a stonewall, with wear-out: each rank then continues up to the amount of the fastest rank. By
the rules, the stonewall is 300 s, and no such phase may end earlier because its files are too small. ``Io500`` follows
the rules, and fails if its result is not valid. ``Io500Short``, for nights, has a stonewall of seconds and small files.
Its bounds come from runs of the same form, and its figures are no IO500 score.
"""

import math
import pathlib

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.base.case import SiteVariable
from reframe_checks.base.check import KappaCheck
from reframe_checks.base.measure import Rated
from reframe_checks.base.on_storage import OnStorage
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import io500

RESULT, SUMMARY = "results/result.txt", "results/result_summary.txt"
SETTINGS, CONFIG = "phases.ini", "io500.ini"
HARD_TRANSFER_BYTES, HARD_FILE_BYTES = 47008, 3901
EASY_TRANSFER_MIB = 2
# Size of the hard file relative to the easy files: it is written in small pieces.
HARD_SHARE = 0.25
# Phases that read, stat or remove; each takes about the time of writing. One of them has no score.
PHASES_BESIDES = 9
BESIDES_S = 15


class Io500Check(Rated, OnStorage, Scaled, KappaCheck):
    family = "storage/io500"
    needs_environ = ["io500"]
    scale = rfmb.parameter(["two_nodes", "whole_partition"], loggable=True)
    executable = "io500"
    executable_opts = [CONFIG]
    rules = "IO500's rules"
    cache_defeat = "fsync before close; IOR reads data of another node (-C -Q 1), mdtest data of another rank (-N 1)"
    hint = "compare its phases with IorEasy, IorHard and Mdtest on the same target; check the metadata server's load"
    failure_means = (
        "A phase of IO500 is slower than the bound allows. If IorEasy passes on the same target and only metadata "
        "phases are slow, the metadata server is busy or the folders hold too many files."
    )

    stonewall_s = SiteVariable(rfmb.required, "whole number", "s", "time after which writing phases end")
    node_mib = SiteVariable(
        rfmb.required, "whole number", "MiB", "largest size of a node's easy files; a quarter of it for the hard file",
    )
    least_mib = SiteVariable(0, "whole number", "MiB", "least size of all easy files together, on few nodes")
    node_items = SiteVariable(rfmb.required, "whole number", "", "most files of mdtest for each node")
    most_items = SiteVariable(0, "whole number", "", "most files of mdtest on all nodes; 0: no limit")

    metrics = {
        phase.replace("-", "_"): (
            "GiB/s" if phase.startswith("ior") else "k/s", lambda self, phase=phase: self.result.phases[phase].score,
        )
        for phase in io500.PHASES
    } | {
        "bandwidth": ("GiB/s", lambda self: self.result.bandwidth_gib_s),
        "rate": ("k/s", lambda self: self.result.rate_k_s),
        "score": ("", lambda self: self.result.total),
    }

    @rfmb.run_before("run")
    def write_settings(self):
        easy_mib, segments, items = self.sizes()
        settings = {
            "debug": {"stonewall-time": self.stonewall_s},
            "ior-easy": {"blockSize": f"{easy_mib}m", "transferSize": f"{EASY_TRANSFER_MIB}m"},
            "ior-hard": {"segmentCount": segments},
            "mdtest-easy": {"n": items},
            "mdtest-hard": {"n": items},
        }
        text = "".join(
            f"[{section}]\n" + "".join(f"{key} = {value}\n" for key, value in pairs.items())
            for section, pairs in settings.items()
        )
        pathlib.Path(self.stagedir, SETTINGS).write_text(text, encoding="utf-8")
        settings_of_all = ("timestamp-datadir = FALSE", "timestamp-resultdir = FALSE", "resultdir = results")
        fixed = "".join(f"{line}\\n" for line in ("[global]", *settings_of_all, "datadir = %s/data"))
        self.prerun_cmds = [
            *self.prerun_cmds, "rm -rf results", f"{{ printf '{fixed}' \"$folder\"; cat {SETTINGS}; }} > {CONFIG}"
        ]  # fmt: skip
        # A site may have a time limit for steps that is shorter than this step.
        self.env_vars = {"SLURM_TIMELIMIT": int(self.time_limit) // 60}

    def sizes(self):
        """Return the sizes of each rank: MiB of its easy file, segments of the hard one, and mdtest's files."""
        easy_mib = max(self.node_mib * self.num_nodes_used, self.least_mib) // self.num_tasks
        easy_mib = max(easy_mib // EASY_TRANSFER_MIB, 1) * EASY_TRANSFER_MIB
        items = self.node_items * self.num_nodes_used
        items = min(items, self.most_items or items) // self.num_tasks
        return easy_mib, math.ceil(HARD_SHARE * easy_mib * 2**20 / HARD_TRANSFER_BYTES), max(items, 1)

    def expected_s(self):
        return BESIDES_S + (len(io500.WRITES) + PHASES_BESIDES) * self.stonewall_s

    def most_bytes(self):
        easy_mib, segments, items = self.sizes()
        return self.num_tasks * (easy_mib * 2**20 + segments * HARD_TRANSFER_BYTES + items * HARD_FILE_BYTES)

    def wrote_bytes(self):
        """Return the bytes from bandwidth and time of the writing phases, without mdtest's small files."""
        phases = (self.result.phases[name] for name in io500.WRITES if name.startswith("ior"))
        return min(int(sum(phase.score * phase.seconds for phase in phases) * 2**30), self.most_bytes())

    @rfmb.sanity_function
    def read_results(self):
        self.require_striping()
        self.result = self.parsed(io500.parse, self.output_text(RESULT))
        if not io500.same_run(self.result, self.parsed(io500.parse_summary, self.output_text(SUMMARY))):
            raise SanityError(f"{RESULT} and {SUMMARY} are from different runs")
        if self.result.procs != self.num_tasks:
            raise SanityError(f"IO500 ran on {self.result.procs} ranks, expected {self.num_tasks}")
        self.judge_by_rules(self.result.broken_rules())
        return True


@rfm.simple_test
class Io500(Io500Check):
    descr = "Measures IO500's score and the score of each phase by its rules; finds slow bandwidth and metadata"
    modes = ("acceptance",)
    estimated_s = 3600
    failure_means = (
        "A phase or the score of IO500 is below the bound, or the result breaks IO500's rules and is no score. If only "
        "metadata phases are slow, look at the metadata server; if the rules are broken, see the case's note."
    )
    time_limit = "4h"
    stonewall_s = io500.STONEWALL_S
    # More than a node writes in 300 s: else a phase ends before its stonewall, and the result is not valid.
    node_mib = 3 * 2**20
    node_items = 10_000_000


@rfm.simple_test
class Io500Short(Io500Check):
    descr = "Measures a short form of IO500's phases, which is no score; finds slow bandwidth and metadata"
    modes = ("nightly",)
    must_be_valid = False
    estimated_s = 75
    time_limit = "30m"
    stonewall_s = 5
    node_mib = 256
    least_mib = 1024
    node_items = 2000
    most_items = 16384
