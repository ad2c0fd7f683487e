"""Compare a site's description with this machine, Slurm and a few nodes."""

import os
import pathlib
import secrets
import shutil
import socket
import subprocess
from collections.abc import Callable, Collection, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from kappa.app.conduct.doctor.nodes import Talk, places, seen_here, talk, work_folders
from kappa.app.conduct.doctor.trial import (
    BUILT,
    PartitionGroup,
    Settings,
    builders,
    compile_here,
    compilers,
    groups,
    load_launchers,
    run_trial,
    wanted,
)
from kappa.app.conduct.node_commands import CommandError, NodeCommands
from kappa.app.conduct.preflight import AT_ONCE, no_accounting, refusal, remedy_at
from kappa.app.survey.doctor import nodes as judged
from kappa.app.survey.doctor import worlds
from kappa.app.survey.doctor.matters import Matter, merged, not_applicable, right, untold, wrong
from kappa.app.survey.doctor.nodes import Asked, room
from kappa.app.survey.doctor.promises import (
    accounting_matters,
    described_matters,
    limit_matters,
    nodes_of,
    reservations_of,
    submit_matter,
)
from kappa.app.survey.records import SurveyError
from kappa.app.survey.slurm import MPI_TYPES, SlurmFacts
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import results_folder
from kappa.core.ground.node_lists import folded
from kappa.core.ground.processes import Stop, ask, user_name
from kappa.core.sites.description import Partition
from kappa.core.sites.site_file import SiteDescription
from kappa.core.vocabulary.reservations import RESERVATIONS, named_reservation
from reframe_checks.base.site_settings import settings_of
from spack_envs.installer.reframe_settings import environment_names, installed_environments

_HERE_S = 120.0
_WHY = ("squeue", "--noheader", "--format=%r")
_SIMULATION = "smpirun"
THIS_MACHINE = "this machine"


@dataclass(frozen=True)
class Examination:
    """The tests of a site on ``most_nodes`` nodes of each partition (``None``: all), waiting ``wait_s`` for them."""

    site: SiteDescription
    most_nodes: int | None
    wait_s: float
    stop: Stop
    tell: Callable[[str], object]

    def matters(self) -> list[Matter]:
        """Run all tests and return their results.

        :raises StoppedError: there is a reason to stop. No job and no file remains.
        """
        described = self.site.described.partitions
        by_slurm = {name: one for name, one in described.items() if one.scheduler != "local"}
        found = [*self._elsewhere({name: one for name, one in described.items() if name not in by_slurm})]
        if not by_slurm:
            return merged(found)
        commands = NodeCommands(self.site)
        slurm = self._slurm(commands)
        if isinstance(slurm, Matter):
            return merged([*found, slurm, untold("all other tests", tuple(by_slurm), "Slurm does not answer")])
        version = slurm.config.get("SLURM_VERSION", "?")
        found.append(right("Slurm", (), f"{version}, cluster {slurm.config.get('ClusterName', '?')}, answers"))
        of_access = {name: named_reservation(one.access) for name, one in by_slurm.items()}
        reservations, absent = reservations_of(of_access, lambda: commands.run(RESERVATIONS.split()))
        slurm = slurm._replace(reservations=reservations)
        found += absent
        found += self._promises(by_slurm, slurm, commands)
        refused = self._refused(by_slurm, commands)
        found += refused.values()
        settings = settings_of(self.site, results_folder(self.site.name))
        [system] = settings["systems"]
        environments = {one["name"]: one for one in settings["environments"]}
        of_spack, there = environment_names(self.site.name), installed_environments(self.site.name)
        missing = {env: name for env, name in of_spack.items() if name not in {one["name"] for one in there}}
        found += self._not_installed(by_slurm, missing)
        by_name = {
            one["name"]: {**one, "environs": [env for env in one["environs"] if env not in missing.values()]}
            for one in system["partitions"]
        }
        accepted = {name: one for name, one in by_slurm.items() if refused[name].state == "right"}
        found += self._of_jobs(groups(accepted, by_name, environments), slurm, commands)
        for name in by_slurm.keys() - accepted.keys():
            found.append(untold("nodes of a job", (name,), "Slurm accepts no job here"))
        return merged(found)

    def _elsewhere(self, partitions: Mapping[str, Partition]) -> Iterator[Matter]:
        for name, one in partitions.items():
            if one.launcher != _SIMULATION:
                yield not_applicable("nodes", (name,), "its jobs run on this machine, as ReFrame does")
            elif shutil.which(_SIMULATION):
                yield right("SimGrid", (name,), "smpirun is installed; the partition is simulated, without Slurm")
            else:
                yield wrong("SimGrid", (name,), "smpirun, which simulates the partition, is not on PATH",
                            "`apt install libsimgrid-dev`, or `spack install simgrid`")  # fmt: skip

    def _slurm(self, commands: NodeCommands) -> SlurmFacts | Matter:
        try:
            # Before Slurm 21.08, `srun --mpi=list` prints to standard error.
            mpi_types = ["sh", "-c", f"{MPI_TYPES} 2>&1"]
            return SlurmFacts.asked(lambda asked: commands.run(mpi_types if asked == MPI_TYPES else asked.split()))
        except CommandError as err:
            remedy = remedy_at(self.site, str(err)) or "try `sinfo`; ask the cluster's administrator"
            return wrong("Slurm", (), str(err), remedy)
        except SurveyError as err:
            return untold("Slurm", (), str(err))

    def _promises(
        self, partitions: Mapping[str, Partition], slurm: SlurmFacts, commands: NodeCommands
    ) -> Iterator[Matter]:
        by_name = {one.name: one for one in slurm.partitions}
        for name, one in partitions.items():
            yield from described_matters(name, one, nodes_of(name, one, slurm))
            if mine := by_name.get(one.slurm_partition or name):
                yield from limit_matters(name, one, mine)
        associations = commands.said(["sacctmgr", "--noheader", "--parsable2", "show", "associations",
                                      f"user={user_name()}", "format=Account,MaxSubmitJobs"])  # fmt: skip
        yield submit_matter(slurm.config, associations, partitions)
        yield from accounting_matters(partitions, lambda: no_accounting(commands.run, commands.sacct))

    def _refused(self, partitions: Mapping[str, Partition], commands: NodeCommands) -> dict[str, Matter]:
        def asked(name: str) -> Matter:
            words = refusal(commands, name, partitions[name])
            if not words:
                return right("jobs", (name,), "Slurm accepts your jobs (sbatch --test-only)")
            remedy = remedy_at(self.site, words)
            if remedy is None:
                return untold("jobs", (name,), f"Slurm refuses a small job: {words}", "try it by hand with sbatch")
            return wrong("jobs", (name,), f"Slurm refuses your jobs: {words}", remedy)

        with ThreadPoolExecutor(AT_ONCE) as pool:
            return dict(zip(partitions, pool.map(asked, partitions), strict=True))

    def _not_installed(self, partitions: Mapping[str, Partition], missing: Collection[str]) -> Iterator[Matter]:
        """Yield a result for each partition with environments that Spack has not installed.

        :param missing: these environments, by their names in the site.
        """
        for name, one in partitions.items():
            without = ", ".join(env for env in one.environments if env in missing)
            if without and self.site.described.spack.installed_only:
                yield not_applicable(
                    "environments", (name,), f"{without}: not installed, and `installed_only` in site.yaml"
                )
            elif without:
                remedy = "the first run installs it; so does `kappa spack install`"
                yield untold("environments", (name,), f"{without}: not yet installed", remedy)

    def _of_jobs(self, of_slurm: Sequence[PartitionGroup], slurm: SlurmFacts, commands: NodeCommands) -> list[Matter]:
        token = secrets.token_hex(8)
        try:
            with work_folders(places(self.site), token) as folders:
                work = [Asked(judged.WORK, str(path), name, str(path.parent)) for name, path in folders.items()]
                found = [*_here(work, token, commands)]

                def look(group: PartitionGroup) -> list[Matter]:
                    return [*self._group(group, slurm, commands, folders, work, token)]

                load_launchers()
                with ThreadPoolExecutor(AT_ONCE) as pool:
                    for one in pool.map(look, of_slurm):
                        found += one
                return found
        except InputError as err:
            return [wrong("folders", (THIS_MACHINE,), str(err), "set KAPPA_HOME and KAPPA_RESULTS to other folders")]

    def _group(
        self, group: PartitionGroup, slurm: SlurmFacts, commands: NodeCommands, folders: Mapping[str, pathlib.Path],
        work: Sequence[Asked], token: str,
    ) -> Iterator[Matter]:  # fmt: skip
        names = tuple(group.names)
        nodes = nodes_of(names[0], group.first, slurm)
        usable = [node for node in nodes if node.condition.takes_jobs]
        if not usable:
            yield untold("nodes of a job", names, "no node accepts jobs now", "`sinfo -R` states the reasons")
            return
        limits = next(one for one in slurm.partitions if one.name == (group.first.slurm_partition or names[0]))
        count = min(len(usable), self.most_nodes or len(usable), limits.most_nodes or len(usable))
        shared = yield from self._node_job(group, count, commands, work, token)
        compiled = compile_here(folders["results"], group, self.site.described.modules_system, commands)
        for env, settings in group.environments.items():
            if BUILT & set(settings["features"]):
                yield worlds.compiler_matter(compiled.get(env), *compilers(settings), [env])
        if not shared:
            for env in group.environments:
                yield untold(
                    "MPI",
                    [f"{name}+{env}" for name in group.offered[env]],
                    "nodes do not see the folder of results, or did not answer",
                )
            return
        self.tell(f"{names[0]}: testing MPI of {', '.join(group.environments)} on {count} nodes")
        trial = run_trial(
            folders["results"], group, self.site.described.modules_system, count, self.wait_s, commands, self.stop
        )
        for env, settings in group.environments.items():
            offered = group.offered[env]
            place = [f"{name}+{env}" for name in offered]
            heard = trial.heard.get(env)
            if heard is None:
                if trial.refused:
                    found = f"Slurm refuses a job of {trial.ranks} ranks on {count} nodes: {trial.why}"
                    remedy = remedy_at(self.site, trial.why) or "correct `access` of the partition"
                    yield wrong("MPI", place, found, remedy)
                else:
                    yield untold("MPI", place, trial.why or "the job's output does not mention it")
                continue
            yield from _of_environment(heard, compiled.get(env), settings, offered, env)
            variables = dict(settings.get("env_vars", ()))
            plug_in = str(variables.get("SLURM_MPI_TYPE") or os.environ.get("SLURM_MPI_TYPE")
                          or slurm.config.get("MpiDefault", ""))  # fmt: skip
            started = worlds.Started(group.launcher, trial.command, slurm.mpi_types, plug_in, count, trial.ranks)
            yield worlds.world_matter(heard, started, place)

    def _node_job(
        self, group: PartitionGroup, count: int, commands: NodeCommands, work: Sequence[Asked], token: str
    ) -> Generator[Matter, None, bool]:
        """Test the nodes of a job. Return whether all nodes that answered see the folder of results."""
        names, asked = tuple(group.names), [*work, *group.storage.values()]
        title, minutes = f"kappa-doctor-{token[:6]}-{names[0]}", 1 + len(asked)
        asking, given = judged.question(token, names[0], count, asked)
        command = [
            "srun", "--label", "--quiet", "--mpi=none", f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1",
            f"--time={minutes + 2}", f"--job-name={title}", *group.job_options(), *asking,
        ]  # fmt: skip
        self.tell(f"{', '.join(names)}: running a job on {count} nodes")
        reasons: list[str] = []
        heard = talk(
            command, given, commands.environment, count, self.wait_s, minutes * 60, self.stop,
            # Ask why Slurm lets the job wait.
            lambda: reasons.append((commands.said([*_WHY, f"--name={title}"]) or "").strip()),
        )  # fmt: skip
        if not heard.began:
            yield self._silence(names, count, heard, reasons)
            return False
        machines = [judged.parse(heard.said.get(task, [])) for task in range(count)]
        silent = [one.node for one in machines if not one.ended]
        if silent and heard.in_time:
            why = heard.problem or "no reason given"
            yield untold("nodes of a job", names, f"the job ended early on {folded(silent)}: {why}")
            return False
        here = {
            one.path: seen_here(pathlib.Path(one.path), judged.wrote(machines, number, token), token, self.stop)
            for number, one in enumerate(work)
        }
        user = (str(os.getuid()), str(os.getgid()), user_name())
        yield right("nodes of a job", names, f"{folded(one.node for one in machines)} answered")
        yield judged.user_matter(machines, user, names)
        yield judged.clock_matter({one.node: heard.offsets.get(task) for task, one in enumerate(machines)}, names)
        matters = list(judged.folder_matters(asked, machines, user[0], here, token, names))
        yield from matters
        return not any(one.state == "wrong" and one.subject == "folder results" for one in matters)

    def _silence(self, names: Sequence[str], count: int, heard: Talk, reasons: Sequence[str]) -> Matter:
        subject = "nodes of a job"
        if reasons:
            why = f" (Slurm: {reasons[0]})" if reasons[0] else ""
            return untold(subject, names, f"{count} nodes did not become free within {self.wait_s:g} s{why}",
                          "`--wait S` waits longer, `--nodes 1` needs fewer nodes")  # fmt: skip
        remedy = remedy_at(self.site, heard.problem)
        if remedy:
            return wrong(subject, names, f"srun: {heard.problem}", remedy)
        return untold(subject, names, f"srun said: {heard.problem or 'nothing'}")


def _of_environment(
    heard: worlds.Heard, here: worlds.Heard | None, settings: Settings, offered: Mapping[str, Sequence[str]], env: str
) -> Iterator[Matter]:
    """Compare the environment ``env`` on a node with this machine.

    :param here: the answers of this machine. :param offered: the features of each partition.
    """
    place = [f"{name}+{env}" for name in offered]
    needed = compilers(settings) if settings.get("extras", {}).get("to_build") else ()
    if needed or BUILT & set(settings["features"]):
        yield worlds.node_compiler_matter(heard, here, builders(settings), needed, place)
    if modules := settings.get("modules"):
        yield worlds.module_matter(heard, modules, place)
    for name, features in offered.items():
        if programs := wanted(settings, features):
            yield worlds.program_matter(heard, programs, [f"{name}+{env}"])


def _here(work: Sequence[Asked], token: str, commands: NodeCommands) -> Iterator[Matter]:
    """Test the free space in the work folders, as this machine sees it."""
    command, given = judged.question(token, "login", 1, work)
    try:
        environment = {**commands.environment, "SLURMD_NODENAME": socket.gethostname()}
        told, _, _ = ask(command, environment, _HERE_S, f"{given}end\n")
    except subprocess.TimeoutExpired:
        yield wrong(
            "folders", (THIS_MACHINE,), f"{', '.join(one.path for one in work)} do not answer", "try `df` on them"
        )
        return
    folders = judged.parse(told.splitlines()).folders
    for number, one in enumerate(work):
        yield from room(folders.get(number, judged.Folder()), one.name, (THIS_MACHINE,))
