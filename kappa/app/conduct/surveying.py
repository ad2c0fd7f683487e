"""Survey a cluster with Slurm's commands and one short job for each kind of node."""

import contextlib
import grp
import os
import pathlib
import shlex
import subprocess
from collections.abc import Callable, Mapping, Sequence

from kappa.app.conduct.preflight import no_accounting
from kappa.app.survey import slurm
from kappa.app.survey.accounts import ASSOCIATIONS, parse_user_accounts
from kappa.app.survey.features import PROGRAMS
from kappa.app.survey.found import HEADERS, FoundPart, NodeKind, Survey, found_part, login_of, node_kind
from kappa.app.survey.kinds import Part, kinds, parts
from kappa.app.survey.partition_table import partition_table
from kappa.app.survey.probe import Probe, parse, parse_labelled, question
from kappa.app.survey.records import SurveyError
from kappa.core.ground.clean_text import clean, one_line
from kappa.core.ground.errors import InputError
from kappa.core.ground.node_lists import folded
from kappa.core.ground.processes import Stop, ask, user_name
from kappa.core.vocabulary.reservations import RESERVATIONS, Identity, named_reservation, parse_reservation
from kappa.core.vocabulary.sbatch_options import option_value
from kappa.core.vocabulary.slurm_refusals import remedy_of

ANSWER_S = 60.0
#: Two nodes show whether they see the same files.
NODES_OF_A_PROBE = 2
_JOB_MINUTES = 3


class Asker:
    """Run the commands of a survey. ``path``: folders that go first on PATH, as in the written site.

    ``job_s``: longest time, in seconds, for a probe job to wait for its nodes and run.
    """

    def __init__(self, stop: Stop, path: Sequence[str], access: Sequence[str], job_s: float) -> None:
        self._stop, self._job_s = stop, job_s
        self._access = [word for option in access for word in shlex.split(option)]
        folders = [str(pathlib.Path(folder).absolute()) for folder in path]
        self._environment = {**os.environ, "PATH": os.pathsep.join([*folders, os.environ.get("PATH", os.defpath)])}

    def slurm(self, command: str) -> str:
        """Run a Slurm command and return its output.

        :raises InputError: the command does not exist, fails, or does not answer.
        """
        return self._said(command.split(), ANSWER_S)

    def no_accounting(self) -> str:
        """Return why sacct does not tell the states of jobs; empty if it does."""
        return no_accounting(self._said)

    def _said(self, command: Sequence[str], patience_s: float) -> str:
        output, problem, status = self._run(command, "", patience_s)
        if status:
            said = one_line(clean(f"{problem} {output}"), 300) or "nothing"
            remedy = remedy_of(said)
            raise InputError(
                f"`{' '.join(command)}` ended with status {status} and said: {said}{f'; {remedy}' if remedy else ''}"
            )
        # Before Slurm 21.08, `srun --mpi=list` prints to standard error.
        return output or problem

    def probed(self, part: Part) -> list[Probe]:
        """Run a probe job on nodes of the part, and return their answers.

        :raises SurveyError: no node answered. The message says why.
        """
        nodes = part.to_probe(NODES_OF_A_PROBE)
        if not nodes:
            reasons = sorted({node.reason for node in part.nodes if node.reason})
            why = f" ({one_line(clean(reasons[0]), 80)})" if reasons else ""
            least = part.partition.least_nodes
            few = f"fewer than {least} nodes accept jobs now, but a job needs as many (MinNodes)"
            raise SurveyError(f"{few if least > 1 else 'no node accepts jobs now'}{why}")
        gpus = [str(gres) for gres in nodes[0].gres if gres.name == "gpu"]
        longest_s = part.partition.longest_s
        minutes = _JOB_MINUTES if longest_s is None else max(1, min(_JOB_MINUTES, longest_s // 60))
        asking, given = question(PROGRAMS, HEADERS)
        command = [
            "srun", "--label", "--quiet", f"--partition={part.partition.name}",
            f"--nodelist={folded(node.name for node in nodes)}", f"--nodes={len(nodes)}", f"--ntasks={len(nodes)}",
            f"--time={minutes}", "--job-name=kappa-site", "--mpi=none",
            *([f"--gres={','.join(gpus)}"] if gpus else []), *self._access, *asking,
        ]  # fmt: skip
        output, problem, status = self._run(command, given, self._job_s)
        if status:
            said = one_line(clean(problem), 200) or f"status {status}"
            raise SurveyError(f"the job on {folded(node.name for node in nodes)} failed: {said}")
        return parse_labelled(output)

    def here(self) -> Probe | None:
        """Probe this machine; return ``None`` if the program does not finish."""
        output, _, _ = self._run(*question(PROGRAMS, HEADERS), ANSWER_S)
        try:
            return parse(clean(output))
        except SurveyError:
            return None

    def _run(self, command: Sequence[str], given: str, patience_s: float) -> tuple[str, str, int]:
        try:
            # srun cancels its job on SIGTERM.
            answer = ask(command, self._environment, patience_s, given, end_s=5.0)
        except FileNotFoundError:
            raise InputError(
                f"there is no `{command[0]}` on PATH: load Slurm's module, or use a login node of the cluster"
            ) from None
        except subprocess.TimeoutExpired:
            return "", f"it did not end within {patience_s:g} s", 1
        self._stop.check()
        return answer


def _switches(asker: Asker, config: Mapping[str, str]) -> list[slurm.Switch]:
    """Return Slurm's switches. With a ``topology.yaml`` (25.05), even TopologyPlugin=topology/flat may have some."""
    try:
        switches = asker.slurm(slurm.TOPOLOGY)
    except InputError:
        if "tree" in config.get("TopologyPlugin", ""):
            raise
        return []
    return slurm.parse_topology(switches)


def _of_accounting(asker: Asker, command: str, *, needed: bool) -> str:
    """Return the answer of accounting; nothing if it is not needed, or if accounting refuses it."""
    with contextlib.suppress(InputError):
        return asker.slurm(command) if needed else ""
    return ""


def _caller(
    asker: Asker, access: Sequence[str], partitions: Sequence[slurm.SlurmPartition], cluster: str
) -> slurm.Caller:
    """Return this user's groups, accounts and QOS, and the account, QOS and reservation that ``access`` names."""
    groups = set()
    for number in {os.getegid(), *os.getgroups()}:
        with contextlib.suppress(KeyError):
            groups.add(grp.getgrgid(number).gr_name)
    reservation = named_reservation(access)
    needed = bool(reservation) or any({*one.allowed} - {"AllowGroups"} for one in partitions)
    accounts, all_qos = parse_user_accounts(_of_accounting(asker, ASSOCIATIONS, needed=needed), user_name(), cluster)
    account, qos = option_value(access, "account", "A"), option_value(access, "qos", "q")
    return slurm.Caller(frozenset(groups), account, qos, reservation, accounts, all_qos)


def _of_reservation(asker: Asker, nodes: list[slurm.SlurmNode], caller: slurm.Caller) -> list[slurm.SlurmNode]:
    """Return the nodes that jobs of the caller's reservation get, in the state that they see; all nodes without one.

    :raises InputError: the reservation does not exist, is not active, or does not admit the caller.
    """
    if not caller.reservation:
        return nodes
    accounts = frozenset[str]().union(*caller.of_jobs("Accounts").values())
    # Slurm admits root to every reservation.
    mine = Identity(user_name(), caller.groups, accounts) if os.geteuid() else Identity()
    return slurm.nodes_of_jobs(nodes, parse_reservation(asker.slurm(RESERVATIONS), caller.reservation, mine))


def survey(asker: Asker, path: Sequence[str], access: Sequence[str], tell: Callable[[str], None]) -> Survey:
    """Survey the cluster.

    :raises InputError: Slurm does not answer, or its answer cannot be read.
    """
    config, nodes, partitions, mpi_types = slurm.SlurmFacts.asked(asker.slurm)
    accounting = config.get("AccountingStorageType", "")
    switches = _switches(asker, config)
    caller = _caller(asker, access, partitions, config.get("ClusterName", ""))
    needed = bool(caller.qos) or any("QoS" in one.settings for one in partitions)
    qos = slurm.parse_qos(_of_accounting(asker, slurm.QOS, needed=needed))
    partitions = slurm.bounded(partitions, qos, caller.qos, nodes)
    of_jobs = _of_reservation(asker, nodes, caller)
    choice = parts(kinds(of_jobs, switches), nodes, partitions, caller)
    for line in partition_table(partitions, of_jobs, choice, caller):
        tell(line)
    if not choice.parts:
        raise InputError(f"Slurm has {len(nodes)} nodes, but no partition that you may use: see the table above")
    login = asker.here()
    probes: list[Probe] = []
    described: dict[str, FoundPart] = {}
    for part in choice.parts:
        tell(f"{part.name}: {len(part.nodes)} nodes, {folded(node.name for node in part.nodes)}")
        seen: NodeKind | str
        try:
            of_part = asker.probed(part)
            probes += of_part
            seen = node_kind(of_part, login, part.nodes[0])
        except SurveyError as err:
            seen = str(err)
            tell(f"{part.name}: not probed: {seen}")
        described[part.name] = found_part(part, switches, seen, caller)
    return Survey(
        cluster=config.get("ClusterName", ""),
        slurm=config.get("SLURM_VERSION", ""),
        mpi_default=config.get("MpiDefault", ""),
        mpi_types=list(mpi_types),
        task_plugin=config.get("TaskPlugin", ""),
        accounting=accounting,
        sacct_fails=asker.no_accounting() if slurm.keeps_accounting(accounting) else "",
        leaf_switches=sum(switch.level == 0 for switch in switches),
        unreachable=folded(node.name for node in choice.unreachable),
        login=login_of(login, probes, os.environ),
        access=list(access),
        path=list(path),
        parts=described,
    )
