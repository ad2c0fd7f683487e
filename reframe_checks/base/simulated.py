"""A plug-in for checks that also run on a fabric that SimGrid simulates.

It writes the case's platform and hosts beside the job script. No bound judges the predicted figures here: the run
passes if the payloads are right and every figure was extracted. Other code compares predictions with measurements.
"""

import hashlib
import os
import pathlib

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import ReframeError

from kappa.core.fabrics.description import load_fabric
from kappa.core.fabrics.simgrid_platform import host_slots, platform_xml
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from kappa.core.record.evidence import LinkUse, Simulation, written
from kappa.core.sites.launchers import HOSTS_FILE, PLATFORM_FILE
from kappa.core.vocabulary.features import SIMULATED
from reframe_checks.base.job_files import sourced
from reframe_checks.parsers import transport

LINK_USE_FILE = "link_use.json"
LINK_USE = pathlib.Path(__file__).parents[1] / "src/link_use"


class Simulated(rfm.RegressionTestPlugin):
    """Give a check the simulated fabric of its partition."""

    #: True if the check also runs on simulated partitions.
    on_fabrics = rfmb.variable(bool, value=False)
    simulation = rfmb.variable(dict, type(None), value=None, loggable=True)

    @property
    def simulated(self):
        return "fabric" in self.current_partition.extras

    @rfmb.run_after("setup")
    def read_fabric(self):
        if not self.simulated:
            return
        self.tags |= {SIMULATED}
        place = self.current_partition.extras["fabric"]
        try:
            self.fabric, self.fabric_variant = load_fabric(pathlib.Path(place["file"])), place["variant"]
        except InputError as err:
            raise ReframeError(str(err)) from None

    @rfmb.run_before("run")
    def write_platform(self):
        if not self.simulated:
            return
        self.informational = sorted(self.perf_variables)
        stage = pathlib.Path(self.stagedir)
        try:
            platform = platform_xml(self.fabric, self.fabric_variant, self.num_nodes_used)
            write_atomically(stage / PLATFORM_FILE, platform)
            hosts = self.hosts(self.num_nodes_used, self.num_tasks_per_node or 1)
            write_atomically(stage / HOSTS_FILE, "".join(f"{host}\n" for host in hosts))
        except InputError as err:
            raise ReframeError(f"fabric {self.fabric.name}: {err}") from None
        self.keep_files = [*self.keep_files, PLATFORM_FILE, HOSTS_FILE]
        build_dir = self.stated("extras/build_dir of the environment", self.current_environ.extras.get("build_dir"))
        self.prerun_cmds = [
            sourced(self, "build_link_use.sh", LINK_USE, pathlib.Path(build_dir, "link_use")), *self.prerun_cmds,
        ]  # fmt: skip
        digest = hashlib.sha256(platform.encode()).hexdigest()
        self.simulation = written(Simulation(self.fabric.name, self.fabric_variant, self.fabric.kind, digest))

    @rfmb.run_before("performance")
    def read_link_use(self):
        """Record the traffic of the busiest links in the job's last step."""
        if not self.simulated or LINK_USE_FILE not in os.listdir(self.stagedir):
            return
        found = self.parsed(transport.LinkUseResult.read, self.output_text(LINK_USE_FILE))
        busiest = tuple(LinkUse(one.link, one.bytes, one.bandwidth_bytes_s / 1e9, one.use) for one in found.busiest)
        self.simulation = {**self.simulation, "busiest": [written(one) for one in busiest]}

    def hosts(self, nodes, ranks_per_node):
        """Return the host of each rank, node by node."""
        return host_slots(self.fabric, nodes, ranks_per_node)
