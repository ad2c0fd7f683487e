"""Applications with and without reductions in the network (SHARP), in one job: how much time does SHARP save?

The strong scaling of the application's own check runs with sums in the network. In each round, the largest layout also
runs with sums by the hosts. Before that, each kind runs once with libsharp's log. If SHARP's manager granted no tree,
the network did not compute the sums, and the check fails.
"""

import shlex
import statistics

import reframe as rfm
import reframe.core.builtins as rfmb
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.features import SHARP
from reframe_checks.application.lammps import Lammps
from reframe_checks.application.openfoam import OpenFoam
from reframe_checks.application.scaled_application import STRONG
from reframe_checks.network.offloaded_sums import HOST, NETWORK, logging_alone, tree_granted

PROOF = "proof"
FAMILY = "application/offloaded-sums"
NEEDS = ["applications", SHARP]
HINT = "compare with OffloadedSums: if its sums are faster but the application is not, sums are not its bottleneck"


class OffloadedApplication(rfm.RegressionTestPlugin):
    """Run an application's check with and without SHARP.

    A leaf derives from this and from the application's check. It repeats ``family`` and ``needs_*``, because ReFrame
    inherits variables from one base only.
    """

    def command_lines(self):
        proofs = [
            f"{{ {self.run_line(self.largest, name)}; }} > {name}.out 2>&1"
            for name in (f"{PROOF}-{HOST}", f"{PROOF}-{NETWORK}")
        ]
        return [*proofs, *super().command_lines()]

    def round_of(self, number):
        return [*super().round_of(number), (self.largest, self.of_host(number))]

    def of_host(self, number):
        return f"{HOST}-{self.name_of(self.largest, number)}"

    def command_of(self, layout, name):
        return [*self.settings_of(name), *super().command_of(layout, name)]

    def settings_of(self, name):
        """Return the words before the command of the run ``name``."""
        variables = [f"{key}={value}" for key, value in sorted(self.variables_of(name).items())]
        return ["env", *map(shlex.quote, variables)] if variables else []

    def variables_of(self, name):
        """Return the variables of the run ``name``. Only the proof runs have the log: it would mix with figures."""
        sharp = self.current_environ.extras["sharp"]
        log = logging_alone(sharp)
        network = {} if HOST in name else {key: value for key, value in sharp.items() if key not in log}
        return {**network, **(log if name.startswith(PROOF) else {})}

    @rfmb.sanity_function
    def read_both(self):
        for kind, expected in ((HOST, False), (NETWORK, True)):
            texts = [self.output_text(f"{PROOF}-{kind}.{end}") for end in ("out", "log")]
            if any(map(tree_granted, texts)) != expected:
                took = "SHARP granted no tree, so the network did not compute the sums"
                what = took if expected else "SHARP granted a tree, although sums by the hosts were expected"
                raise SanityError(f"{PROOF}-{kind}.out: {what}")
        self.read_series()
        runs = [self.measured(self.largest, self.of_host(number)) for number in range(self.rounds)]
        self.host_ms = 1e3 * statistics.median(run.step_s for run in runs)
        return True

    metrics = {
        # Time per step with sums in the network, divided by the time with sums by the hosts; below 1 is a gain.
        "ratio": ("", lambda self: self.step_ms(self.largest) / self.host_ms),
    }


@rfm.simple_test
class LammpsOffloaded(OffloadedApplication, Lammps):
    descr = (
        "Compares LAMMPS with sums in the network and by the hosts; finds a SHARP that is off or slower than the hosts"
    )
    family = FAMILY
    measured_s, estimated_s = 0, 60
    needs_partition = NEEDS
    needs_environ = ["lammps", "mpi-sharp"]
    series = rfmb.parameter([STRONG], loggable=True)
    hint = HINT
    failure_means = (
        "The network took no part in the sums, LAMMPS with such sums is slower than the bound allows, or its physics "
        "is wrong. Run OffloadedSums on the same nodes: if it fails too, repair the offload, not LAMMPS."
    )


@rfm.simple_test
class OpenFoamOffloaded(OffloadedApplication, OpenFoam):
    descr = (
        "Compares OpenFOAM with sums in the network and by the hosts; finds a SHARP that is off or slower than the "
        "hosts"
    )
    family = FAMILY
    measured_s, estimated_s = 0, 60
    needs_partition = NEEDS
    needs_environ = ["openfoam", "mpi-sharp"]
    series = rfmb.parameter([STRONG], loggable=True)
    hint = HINT
    failure_means = (
        "The network took no part in the sums, OpenFOAM with such sums is slower than the bound allows, or its physics "
        "is wrong. Run OffloadedSums on the same nodes: if it fails too, repair the offload, not OpenFOAM."
    )
