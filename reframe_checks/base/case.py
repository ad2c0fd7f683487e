"""The case of a check: where it runs, how large it is, and what it takes."""

import hashlib
import itertools
import math
import os
import pathlib
from dataclasses import dataclass

import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import ReframeError
from reframe.core.runtime import runtime, valid_sysenv_comb

from kappa.core.fabrics.description import load_fabric
from kappa.core.fabrics.simgrid_platform import host_slots, platform_xml
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from kappa.core.record.evidence import LinkUse, Simulation, written
from kappa.core.sites.launchers import HOSTS_FILE, PLATFORM_FILE
from kappa.core.vocabulary.features import SIMULATED
from kappa.core.vocabulary.modes import MODES, modes_here
from kappa.core.vocabulary.tunables import Tunable
from reframe_checks.base.job_files import sourced
from reframe_checks.base.reframe_internals import DescribedVariable, given_by_user
from reframe_checks.parsers import transport

# The default modes of a check; a check tags itself for other modes.
EVERY_MODE = ("nightly", "acceptance")
LINK_USE_FILE = "link_use.json"
LINK_USE = pathlib.Path(__file__).parents[1] / "src/link_use"
# Type of a ``Tunable`` -> the types of ReFrame's variable.
_TYPES = {
    "whole number": (int,), "number": (float, int), "text": (str,), "yes or no": (typ.Bool,),
    "whole numbers": (typ.List[int],), "numbers": (typ.List[float],), "auto or message": (str,),
    "text, or one for each scale": (str, typ.Dict[str, str]),
}


def feature_choices(needs):
    """Return each tuple of features that satisfies ``needs``; ``a|b`` in ``needs`` means one of the two."""
    return list(itertools.product(*(need.split("|") for need in needs)))


class SiteVariable(DescribedVariable):
    """A variable that a site may set: ``NAME = SiteVariable(DEFAULT, TYPE, UNIT, MEANING)``, as in ``Tunable``."""

    def __init__(self, value, *tunable):
        self.described = Tunable(*tunable)
        super().__init__(*_TYPES[self.described.type], value=value)


class CheckCase(rfm.RegressionTestPlugin):
    """One case: parameters, needs, layout of ranks, tunables, simulated fabric, and cost.

    ``scaled.py`` and ``on_storage.py`` have the parameters that most checks share: scale, placement, storage target.

    ==============  ==================================================  ==============================================
    phase           what happens                                        what a check may set or override
    ==============  ==================================================  ==============================================
    after init      ``require_features`` selects partitions and         ``family``, ``needs_partition``,
                    environments; ``register_case`` notes the case      ``needs_environ``, ``modes``, ``tags``,
                    for the census, after all other hooks               ``chosen_features``, ``SiteVariable``
    after setup     ``read_fabric``, ``apply_site_tuning``, then        ``chosen_scale``, ``most_nodes``,
                    ``lay_out_ranks`` sets ``num_tasks``                ``without_nodes``; a check's own hooks follow
    before run      ``state_cost`` skips a case that is too long;       ``measured_s`` or ``estimated_s``,
                    ``write_platform`` for a fabric                     ``expected_s``, ``most_bytes``
    after sanity    ``record_written``                                  ``wrote_bytes``
    ==============  ==================================================  ==============================================

    On a simulated fabric, no bound judges the predicted figures: the run passes if the payloads are right and every
    figure was extracted. Other code compares predictions with measurements.
    """

    #: The subject of the check, as ``folder/subject``; a site's expectations name families.
    family = rfmb.variable(str, loggable=True)
    check_class = rfmb.variable(str, value="", loggable=True)
    #: Features that a partition must have (scales add theirs).
    needs_partition = rfmb.variable(typ.List[str], value=[])
    #: Features that an environment must have: the programs to run. ``a|b`` means one of the two.
    needs_environ = rfmb.variable(typ.List[str], value=[])
    #: All features that a partition needs for this case, for the catalogue.
    case_features = rfmb.variable(typ.List[str], value=[])
    #: Modes in which the check runs, besides those in its tags.
    modes = EVERY_MODE
    #: name -> value as in the case's name, so that a report can compare cases with equal parameters; parameters of a
    #: fixture have the name ``fixture.name``.
    parameters = rfmb.variable(typ.Dict[str, str], value={}, loggable=True)
    #: The variables that a site may set, besides each ``SiteVariable`` of the class and its bases: name -> ``Tunable``.
    tunable = rfmb.variable(typ.Dict[str, Tunable], value={})
    #: Names of each inherited ``SiteVariable`` that this class does not use.
    not_tunable: tuple[str, ...] = ()
    #: Nodes of the partition that the check leaves out; the check must exclude them from its job, too.
    without_nodes = rfmb.variable(typ.List[str], value=[])
    #: The largest number of nodes that a case on the whole partition takes; 0: no limit.
    most_nodes = rfmb.variable(int, value=0)
    #: Number of nodes of the partition, from the site.
    partition_size = rfmb.variable(int, value=0, loggable=True)
    #: True if the check also runs on simulated partitions.
    on_fabrics = rfmb.variable(bool, value=False)
    simulation = rfmb.variable(dict, type(None), value=None, loggable=True)
    #: Time of a case from the start of its job to its end, s: measured on the embedded site, …
    measured_s = rfmb.variable(float, int, value=0, loggable=True)
    #: … or, for a check that cannot run there, an estimate for its intended hardware. A leaf sets one of the two.
    estimated_s = rfmb.variable(float, int, value=0, loggable=True)
    #: Expected time of the job, s, and the most that the case writes to the storage that it measures, bytes: `kappa
    #: validate --plan` adds them up.
    stated_s = rfmb.variable(float, int, value=0, loggable=True)
    stated_bytes = rfmb.variable(int, value=0, loggable=True)
    #: The amount that the case wrote there, bytes.
    written_bytes = rfmb.variable(int, value=0, loggable=True)

    @rfmb.run_after("init")
    def list_tunable(self):
        variables = type(self).var_space.items()
        own = {name: one.described for name, one in variables if isinstance(one, DescribedVariable)}
        self.tunable = {name: one for name, one in own.items() if name not in self.not_tunable} | self.tunable

    @rfmb.run_after("init")
    def require_features(self):
        cls = type(self)
        self.check_class = cls.__name__
        self.parameters = formatted(cls, cls.get_variant_info(self.variant_num, recurse=True))
        self.tags = {*self.tags - {*MODES}, self.family.split("/")[0], *self.modes_here()}
        self.case_features = [*self.needs_partition, *self.chosen_features()]
        wanted = [f"+{feature}" for feature in self.case_features]
        self.valid_systems = [" ".join(wanted if self.on_fabrics else [*wanted, f"-{SIMULATED}"]) or "*"]
        self.valid_prog_environs = [
            " ".join(f"+{feature}" for feature in choice) or "*" for choice in feature_choices(self.needs_environ)
        ]

    @rfmb.run_after("init", always_last=True)
    def register_case(self):
        # Cases that --distribute, --repeat and -P derive from a case have the same name.
        made = MadeCase(
            self.name, tuple(self.case_features), tuple(self.valid_systems), tuple(self.valid_prog_environs)
        )
        _made.setdefault(type(self).__name__, {}).setdefault(made.name, made)

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

    @rfmb.run_after("setup")
    def apply_site_tuning(self):
        """Set the partition's ``extras/tuning/CLASS``: sizes that depend on the machine.

        :raises ReframeError: the site sets a variable that is not in ``tunable``.
        """
        for variable, value in self.site_tuning(self.current_partition).items():
            if variable not in self.tunable:
                name = type(self).__name__
                raise ReframeError(
                    f"partition {self.current_partition.fullname}: extras/tuning/{name}/{variable} is not a tunable; "
                    f"remove it. Tunables of {name}: {', '.join(self.tunable) or 'none'}"
                )
            setattr(self, variable, value)

    @rfmb.run_after("setup")
    def lay_out_ranks(self):
        extras = self.current_partition.extras
        self.partition_size = extras.get("nodes", 0)
        if "max_pending_time" in extras:
            self.max_pending_time = extras["max_pending_time"]
        if "max_time" in extras:
            asked_s = self.time_limit or math.inf
            self.time_limit = extras["max_time"]
            self.time_limit = min(asked_s, self.time_limit)
        scale = self.chosen_scale()
        if scale is None:
            return
        at_hand = min(self.partition_nodes, self.most_nodes or self.partition_nodes)
        nodes, ranks = scale.layout(at_hand, self.cores_per_node)
        self.num_tasks, self.num_tasks_per_node = nodes * ranks, ranks

    # Sizes depend on tunables and on the layout of ranks.
    @rfmb.run_before("run")
    def state_cost(self):
        self.stated_s, self.stated_bytes = self.expected_s(), self.most_bytes()
        max_time = self.current_partition.extras.get("max_time")
        if max_time and self.stated_s > self.time_limit:
            # ReFrame records no reason for a skip.
            self.hint = f"the case takes about {self.stated_s:.0f} s, but `max_time` of the partition is {max_time}"
            self.skip(self.hint)

    @rfmb.run_before("run")
    def write_platform(self):
        """Write the platform and the hosts of a simulated case beside the job script."""
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

    @rfmb.run_before("run")
    def keep_out_other_kinds(self):
        keep_out_nodes_of(self.current_partition.access, self.job)

    @rfmb.run_after("sanity")
    def record_written(self):
        if not self.is_dry_run():
            self.written_bytes = self.wrote_bytes()

    @rfmb.run_before("performance")
    def read_link_use(self):
        """Record the traffic of the busiest links in the job's last step."""
        if not self.simulated or LINK_USE_FILE not in os.listdir(self.stagedir):
            return
        found = self.parsed(transport.LinkUseResult.read, self.output_text(LINK_USE_FILE))
        busiest = tuple(LinkUse(one.link, one.bytes, one.bandwidth_bytes_s / 1e9, one.use) for one in found.busiest)
        self.simulation = {**self.simulation, "busiest": [written(one) for one in busiest]}

    @classmethod
    def modes_here(cls):
        """Return the modes in which the check runs on the current site.

        These are its own modes and ``full``, plus the modes in ``also_in`` and without those in ``not_in`` of the
        site's partitions.
        """
        also_in, not_in = (
            [partition.extras.get(extra, {}) for partition in runtime().system.partitions]
            for extra in ("also_in", "not_in")
        )
        return modes_here(cls.__name__, {*cls.modes, *cls.tags & {*MODES}}, also_in, not_in)

    def chosen_scale(self):
        """Return the row of the scale table that this case uses, or ``None``."""
        return None

    def chosen_features(self):
        """Return the partition features that this case needs besides ``needs_partition``."""
        scale = self.chosen_scale()
        return [scale.feature] if scale else []

    @classmethod
    def alternative_features(cls):
        """Return for each case of the class the partition features that it needs besides ``needs_partition``."""
        return [[]]

    def site_tuning(self, partition):
        """Return the site's tunables for ``partition``, name -> value, without variables that the user set."""
        settings = partition.extras.get("tuning", {}).get(type(self).__name__, {})
        return {name: value for name, value in settings.items() if not given_by_user(self, name)}

    def expected_s(self):
        """Return the job's expected time in s: by default the class's value; leaves compute it from their sizes."""
        return self.measured_s or self.estimated_s

    def most_bytes(self):
        """Return the most bytes that all ranks and repeats write."""
        return 0

    def wrote_bytes(self):
        """Return the bytes that the case wrote. A check with a stonewall learns this from its output only."""
        return self.most_bytes()

    @property
    def partition_nodes(self):
        """The number of nodes that the site states for the partition, without the nodes that the check leaves out."""
        return self.stated("extras/nodes", self.current_partition.extras.get("nodes")) - len(self.without_nodes)

    @property
    def cores_per_node(self):
        """The number of physical cores of a node, from the site's ``processor`` entry."""
        return self.stated("processor/num_cpus", self.current_partition.processor.num_cores or None)

    def stated(self, key, value):
        """Return ``value``.

        :raises ReframeError: it is ``None``: the site does not state ``key`` for the partition.
        """
        if value is None:
            raise ReframeError(f"partition {self.current_partition.fullname}: the site's settings must give {key}")
        return value

    @property
    def num_nodes_used(self):
        return self.num_tasks // (self.num_tasks_per_node or 1)

    @property
    def simulated(self):
        return "fabric" in self.current_partition.extras

    def hosts(self, nodes, ranks_per_node):
        """Return the simulated host of each rank, node by node."""
        return host_slots(self.fabric, nodes, ranks_per_node)


def keep_out_nodes_of(access, job):
    """Merge the excluded nodes of the partition's access options and of ``-J exclude=…``: Slurm takes the last only."""
    given, kept_out = _excluded(job.cli_options), _excluded(access)
    if given and kept_out:
        job.cli_options.append(f"--exclude={','.join([*given, *kept_out])}")


def _excluded(options):
    found = [option.partition("=")[2] for option in options if option.startswith("--exclude=")]
    return [*found, *(option.removeprefix("-x ") for option in options if option.startswith("-x "))]


def formatted(cls, variant):
    """Return the parameters of a variant of ``cls`` as text, without parameters that ReFrame's options added."""
    found = {
        name: cls.raw_params[name].format(value)
        for name, value in variant["params"].items()
        if not name.startswith(".")
    }
    for name, of_fixture in variant["fixtures"].items():
        fixture = cls.fixture_space[name]
        if fixture.action != "join":  # as ReFrame's names
            inner = formatted(fixture.cls, of_fixture)
            found |= {f"{name}.{key}": value for key, value in inner.items()}
    return found


@dataclass(frozen=True)
class MadeCase:
    """A case under its name in reports, and the conditions that decide where it can run."""

    name: str
    features: tuple[str, ...]
    systems: tuple[str, ...]
    environs: tuple[str, ...]

    def offered_on(self) -> tuple[tuple[str, str], ...]:
        """Return (partition, environment) of each place where the current site offers the case."""
        places = valid_sysenv_comb(self.systems, self.environs)
        return tuple((partition.name, environ.name) for partition, environs in places.items() for environ in environs)


# Every case that ReFrame made, selected or not: the census lists where the site offers each one.
_made: dict[str, dict[str, MadeCase]] = {}


def made_cases(check_class: str) -> list[MadeCase]:
    """Return the cases of a class, in the order in which ReFrame made them."""
    return list(_made.get(check_class, {}).values())
