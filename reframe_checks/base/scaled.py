"""Plug-ins that give a check its cases: over the table's scales, few ranks, or placements of two ranks."""

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError, SanityError

from kappa.core.vocabulary.scales import GPU_PLACEMENTS, LAYOUTS, PLACEMENTS, RANK_COUNTS, SCALES, SWITCH_PLACEMENTS
from reframe_checks.base.binding import BOUND_PLACEMENTS, cpus_of
from reframe_checks.base.job_files import in_stage
from reframe_checks.parsers import placement as placement_parser
from reframe_checks.parsers import topology as topology_parser

PLACEMENT_FILE, TOPOLOGY_FILE = "placement.txt", "topology.txt"
# Without a topology scontrol says so and fails.
SHOW_TOPOLOGY = f"scontrol show topology > {TOPOLOGY_FILE} 2> /dev/null || true"


class Scaled(rfm.RegressionTestPlugin):
    """A case for each scale; leaves narrow the list, or take few ranks of ``RANK_COUNTS`` into it."""

    scale = rfmb.parameter(SCALES, loggable=True)

    def chosen_scale(self):
        return LAYOUTS[self.scale]

    @classmethod
    def alternative_features(cls):
        return [[LAYOUTS[name].feature] for name in cls.raw_params["scale"].values]

    @rfmb.run_after("init")
    def tag_scale(self):
        self.tags |= {self.chosen_scale().feature}


class OnRanks(rfm.RegressionTestPlugin):
    """A case for each number of ranks: within one node, and one on each node."""

    ranks = rfmb.parameter(RANK_COUNTS, loggable=True)

    def chosen_scale(self):
        return RANK_COUNTS[self.ranks]

    @classmethod
    def alternative_features(cls):
        return [[RANK_COUNTS[name].feature] for name in cls.raw_params["ranks"].values]

    @rfmb.run_after("init")
    def tag_ranks(self):
        self.tags |= {self.chosen_scale().feature}


class Placed(rfm.RegressionTestPlugin):
    """A case for each placement of two ranks, of those that need no GPU unless leaves name others."""

    placement = rfmb.parameter([name for name in PLACEMENTS if name not in GPU_PLACEMENTS], loggable=True)
    reports_placement = False
    cpus: tuple[int, int] | None = None

    def chosen_scale(self):
        return PLACEMENTS[self.placement]

    @classmethod
    def alternative_features(cls):
        return [[PLACEMENTS[name].feature] for name in cls.raw_params["placement"].values]

    @rfmb.run_after("init")
    def tag_scale(self):
        self.tags |= {self.chosen_scale().feature, f"placement_{self.placement}"}

    @rfmb.run_after("setup")
    def request_placement(self):
        """Ask for the placement, and let the job report where its ranks are."""
        launcher_options = []
        if self.placement in BOUND_PLACEMENTS:
            topology = self.stated("processor/topology", self.current_partition.processor.topology)
            try:
                self.cpus = cpus_of(self.placement, topology)
            except ValueError as err:
                raise ReframeError(f"partition {self.current_partition.fullname}: {err}") from None
            launcher_options = [f"--cpu-bind=map_cpu:{','.join(map(str, self.cpus))}"]
        elif self.placement in SWITCH_PLACEMENTS:
            stated = self.current_partition.extras.get("placements", {}).get(self.placement)
            self.job.options += self.stated(f"extras/placements/{self.placement}", stated)
        else:
            return
        self.job.launcher.options += launcher_options
        self.reports_placement = True

    @rfmb.run_before("run")
    def report_placement(self):
        if self.reports_placement:
            launch = self.job.launcher.run_command(self.job)
            program = in_stage(self, "place_of_rank.sh")
            self.prerun_cmds = [*self.prerun_cmds, f"{launch} bash {program} > {PLACEMENT_FILE}"]
        if self.placement in SWITCH_PLACEMENTS:
            self.prerun_cmds = [*self.prerun_cmds, SHOW_TOPOLOGY]

    def require_placement(self):
        """For use in sanity functions: the ranks ran where they were asked to."""
        if not self.reports_placement:
            return
        ranks = self.parsed(placement_parser.parse, self.output_text(PLACEMENT_FILE), expect_ranks=2)
        nodes = len({rank.node for rank in ranks})
        if nodes != self.chosen_scale().nodes:
            raise SanityError(f"placement {self.placement}: two ranks ran on {nodes} node(s)")
        if self.placement in BOUND_PLACEMENTS and [rank.cpus for rank in ranks] != [str(cpu) for cpu in self.cpus]:
            found = ", ".join(rank.cpus for rank in ranks)
            raise SanityError(f"placement {self.placement}: ranks asked for CPUs {self.cpus} may run on {found}")
        if self.placement in SWITCH_PLACEMENTS:
            self.require_switches()

    def require_switches(self):
        """The job's nodes are on one leaf switch, or each on another, as Slurm's topology says."""
        text = self.output_text(TOPOLOGY_FILE)
        if not text.strip():
            raise SanityError(
                f"placement {self.placement}: Slurm knows no topology (`scontrol show topology`), so nothing tells on "
                f"which switches the job ran; configure one, or remove the feature {self.chosen_scale().feature}"
            )
        leaves = self.parsed(topology_parser.leaves_of, text, nodes=self.provenance["nodelist"])
        if len(set(leaves.values())) != (1 if self.placement == "same_switch" else len(leaves)):
            found = ", ".join(f"{node} on {leaf}" for node, leaf in leaves.items())
            raise SanityError(f"placement {self.placement}: the job ran with {found}")
