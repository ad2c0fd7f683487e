"""Health, uniformity and cleanness of the nodes of a partition."""

import os
import pathlib
import pwd
import statistics

import msgspec
import reframe as rfm
import reframe.core.builtins as rfmb
import reframe.utility.typecheck as typ
from reframe.core.exceptions import SanityError

from kappa.core.vocabulary.features import parallel
from kappa.core.vocabulary.node_facts import Bound, Value, kinds_not_told
from kappa.node.facts import names
from kappa.node.table import fact_of
from reframe_checks.base.check import SystemCheck
from reframe_checks.base.job_files import runs_in_slurm
from reframe_checks.base.node_program import ask_nodes
from reframe_checks.base.scaled import OncePerPartition, OnEachNode
from reframe_checks.node.odd_nodes import figures, oddities
from reframe_checks.parsers import job_scripts, slurm

SAMPLE = 20
#: The compared facts: all but those of software, which SoftwareInventory compares, and of a site's description.
FACTS = [
    f"{subject}.*" for subject in (
        "identity", "kernel", "system", "firmware", "cpu", "module", "memory", "limit", "task", "setting", "variable",
        "program", "net", "tcp", "conntrack", "ib", "pcie", "error", "power", "left", "file", "network_mount", "disk",
        "mount", "account", "user", "lookup", "way", "taken", "host",
    )
] + ["preloaded", "interpreter", "network_mounts.more"]  # fmt: skip


def users_that_matter(listed: list[str]) -> list[str]:
    """Return the user of the suite, the site's listed users, and some owners of folders beside the user's home."""
    own = pwd.getpwuid(os.getuid())
    return list(dict.fromkeys([own.pw_name, *listed, *_neighbours(pathlib.Path(own.pw_dir).parent)]))


def _neighbours(homes: pathlib.Path) -> list[str]:
    if homes == homes.parent:  # beside /root lie the system's folders
        return []
    try:
        owners = {entry.stat(follow_symlinks=False).st_uid for entry in os.scandir(homes)}
    except OSError:
        return []
    known = []
    for number in sorted(owners):
        try:
            known.append(pwd.getpwuid(number).pw_name)
        except KeyError:
            continue  # of a user who is gone
    return known[:SAMPLE]


def facts_of_login_node(users: list[str], nodes: list[str]) -> dict[str, Value]:
    """Return the accounts of users, and the addresses of nodes that the login node can resolve: fact -> value."""
    addresses = {f"host.{node}": names.address(node) for node in nodes}
    return {**names.accounts(users), **{name: address for name, address in addresses.items() if address is not None}}


# If free space is out of bounds, a node with less than this share of the median node's free space is a suspect.
SUSPECT_FREE_SHARE = 0.5
SLURM_FILE = "slurm_nodes.txt"
# The step gets these variables alone, and what each node adds (TaskProlog, SPANK). With the script's environment, a
# variable that the first node adds would reach all nodes. A python3 of a module or of the user may need these.
EXPORTED = "HOME,LD_LIBRARY_PATH,PATH"
SHOW_NODES = f'timeout 60 scontrol --oneliner show node "$SLURM_JOB_NODELIST" > {SLURM_FILE} || true'
# Facts of the machine that virtual nodes share.
OF_THE_MACHINE = ("identity.boot_id",)


@rfm.simple_test
class PartitionHealth(OncePerPartition, OnEachNode, SystemCheck):
    """Compare the nodes of a partition with each other and with the site's values, and check that they are clean.

    One job runs a task on each node, which reports the node's facts. Slurm reports its own values for all nodes.
    ``kappa.node.table`` defines how each fact is compared.
    The site's ``node_facts`` give values that every node must have. Clocks are compared with their median (Cristian
    1989: half of the shortest round trip bounds the error).
    """

    descr = (
        "Compares facts of all nodes (hardware, software, mounts, clocks, leftovers) with each other and with the "
        "site's values; finds odd nodes"
    )
    family = "node/health"
    measured_s = 2
    tags = {"smoke"}
    programs = ["./kappa-node"]
    steady = ["memory_spread", "free_space_min"]
    not_provided = rfmb.variable(typ.List[str], value=[], loggable=True)
    hint = "check the named node: memory modules, kernel and image, mounts (`df`), time (`chronyc tracking`)"
    failure_means = (
        "A node differs from the others or from what the site promises: hardware, kernel, limits, mounts, clock, "
        "leftovers or free space. The failure names each difference and its node; make the nodes alike."
    )

    @rfmb.run_after("setup")
    def command_line(self):
        if runs_in_slurm(self):
            self.prerun_cmds = [*self.prerun_cmds, SHOW_NODES]
        if self.job.launcher.registered_name == "srun":
            self.job.launcher.options += [f"--export={EXPORTED}"]
        files = self.extra("uniform_files", [])
        ask_nodes(self, FACTS, mount=self.mounts(), user=self.users(), file=files)

    def extra(self, name, default):
        return self.current_partition.extras.get(name, default)

    def users(self):
        return users_that_matter(self.extra("users", []))

    def mounts(self):
        return [*self.extra("storage", {"root": "/"}).values()]

    def shared_mounts(self):
        """Return the paths of storage targets on which all nodes see the same files."""
        features = self.current_partition.features
        return [path for target, path in self.extra("storage", {}).items() if parallel(target) in features]

    @rfmb.sanity_function
    def nodes_agree(self):
        nodes = self.parsed(job_scripts.node_facts, self.output_text(), expect_nodes=self.num_tasks)
        self.facts = {node.host: node.facts for node in nodes}
        believed = self.believed_by_slurm()
        for node, told in believed.items():
            self.facts[node].update(told)
        self.clocks = {node.host: node for node in nodes}
        usual_us = statistics.median(node.clock_offset_us for node in nodes)
        self.clock_offsets_us = {node.host: node.clock_offset_us - usual_us for node in nodes}
        self.record_per_node("clock_offset", "us", self.clock_offsets_us)
        self.record_per_node("memory", "KiB", self.told("memory.total_kib"))
        for name, unit, values in figures(self.facts):
            self.record_per_node(name, unit, values)
        told = {name for facts in self.facts.values() for name, value in facts.items() if value is not None}
        self.not_provided = kinds_not_told(told)
        on_login = facts_of_login_node(self.users(), [*self.facts])
        odd_facts = oddities(self.facts, self.expected(), on_login, self.shared_mounts())
        found = [odd for odd in odd_facts if not self.is_the_machines(odd)]
        if found:
            self.suspects = sorted({node for odd in found for node in odd.nodes})
            hints = dict.fromkeys(fact.hint for odd in found if (fact := fact_of(odd.name)) and fact.hint)
            self.hint = "; ".join(hints) or self.hint
            raise SanityError("; ".join(map(str, found)))
        if not believed and runs_in_slurm(self):
            # ReFrame records no reason for a skip.
            self.hint = "Slurm does not report its values for the nodes (`scontrol show node`)"
            self.skip(self.hint)
        return True

    def believed_by_slurm(self):
        """Return Slurm's values: node -> facts; empty if Slurm did not answer, which is no node's fault."""
        text = self.output_text(SLURM_FILE) if runs_in_slurm(self) else ""
        return self.parsed(slurm.node_facts, text, expect_nodes=[*self.facts]) if text else {}

    @rfmb.run_before("performance")
    def nodes_out_of_bounds(self):
        """Make only nodes out of bounds suspects: a disk that is fuller than most but within bounds is no fault."""
        if not self.is_dry_run():
            self.suspects = sorted({*self.fullest_nodes(), *self.odd_clocks()})

    def expected(self):
        """Return the facts that the site expects: name -> value, or bound of a number."""
        return msgspec.convert(self.extra("node_facts", {}), dict[str, int | float | str | bool | Bound | None])

    def is_the_machines(self, odd):
        return odd.name in OF_THE_MACHINE and self.extra("shared_host", None) is not None

    def told(self, name):
        """Return a fact of the nodes that report it: node -> value."""
        return {node: facts[name] for node, facts in self.facts.items() if facts.get(name) is not None}

    def free_shares(self):
        """Return the free fraction of each file system: (node, path) -> fraction."""
        sizes = {path: self.told(f"mount.{path}.size_bytes") for path in self.mounts()}
        return {
            (node, path): self.facts[node][f"mount.{path}.free_bytes"] / size
            for path, of_node in sizes.items()
            for node, size in of_node.items()
            if size
        }

    def fullest_nodes(self):
        free = self.free_shares()
        usual = {path: statistics.median(free[key] for key in free if key[1] == path) for _, path in free}
        return {
            name
            for (name, path), share in free.items()
            if share < SUSPECT_FREE_SHARE * usual[path] and self.out_of_bounds("free_space_min", share)
        }

    def odd_clocks(self):
        """Return nodes whose clock is off by more than the round trip; none if this is half of the nodes or more."""
        off = {
            name
            for name, offset_us in self.clock_offsets_us.items()
            if abs(offset_us) > self.clocks[name].clock_rtt_us
            and self.out_of_bounds("clock_offset_max", abs(offset_us))
        }
        return off if 2 * len(off) < len(self.clocks) else set()

    def memory_spread(self):
        """Return the largest memory divided by the smallest, minus one."""
        memory = self.told("memory.total_kib").values()
        return max(memory) / min(memory) - 1

    metrics = {
        # Largest offset from the median clock of the nodes.
        "clock_offset_max": ("us", lambda self: max(map(abs, self.clock_offsets_us.values()))),
        "memory_spread": ("", memory_spread),
        # Smallest free fraction of the storage targets over all nodes; of `/` if there is no target.
        "free_space_min": ("", lambda self: min(self.free_shares().values())),
    }
