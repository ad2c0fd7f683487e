"""OSU start-up: the time of MPI_Init over the scales, and that every rank of a job takes part."""

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from reframe_checks.base.check import KappaCheck
from reframe_checks.base.scaled import Scaled
from reframe_checks.parsers import osu


class OsuStartup(Scaled, KappaCheck):
    family = "network/osu-startup"
    needs_partition = ["collectives"]
    needs_environ = ["osu-suite"]
    scale = rfmb.parameter(["one_node", "two_nodes", "whole_partition"], loggable=True)
    repeats = 3
    #: The rank that looks at its node would come later than the others, which is what is measured.
    watch_load = False
    hint = "look at the PMI of the launcher, name resolution, and the file system that holds MPI's libraries"

    def read_processes(self):
        """The tables of all repeats, each of which counted every rank of the job."""
        tables = self.parsed(osu.parse, self.output_text(), expect_tables=self.repeats)
        for table in tables:
            processes = table.rows[0][[column.name for column in table.columns].index("Processes")]
            if processes != self.num_tasks:
                raise SanityError(f"{self.num_tasks} ranks were started, {processes:g} found each other")
        return tables


@rfm.simple_test
class OsuInit(OsuStartup):
    descr = "OSU time of MPI_Init"
    estimated_s = 30
    executable = "osu_init"

    @rfmb.sanity_function
    def read_times(self):
        self.slowest_ms = min(table.rows[0][2] for table in self.read_processes())
        return True

    @rfmb.performance_function("ms")
    def init_slowest_rank(self):
        return self.slowest_ms


@rfm.simple_test
class OsuHello(OsuStartup):
    descr = "OSU hello: every rank takes part"
    estimated_s = 10
    executable = "osu_hello"

    informational = ["processes"]

    @rfmb.sanity_function
    def every_rank(self):
        return bool(self.read_processes())

    @rfmb.performance_function("count")
    def processes(self):
        return self.num_tasks
