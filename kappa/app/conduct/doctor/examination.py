"""Compare a site's description with this machine, Slurm and a few nodes."""

import itertools
import os
import pathlib
import secrets
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

from kappa.app.conduct.doctor import trial
from kappa.app.conduct.doctor.node_job import THIS_MACHINE, folder_answers, room_here, run_step, work_folders
from kappa.app.conduct.node_commands import CommandError, NodeCommands
from kappa.app.conduct.preflight import AT_ONCE, no_accounting, refusal, remedy_at
from kappa.app.survey.doctor import environments, nodes
from kappa.app.survey.doctor.environments import EnvironmentAnswers, ShellAnswers
from kappa.app.survey.doctor.partitions import JOBS, LOCAL_TESTS, TESTS, PartitionAnswers, reservation_of
from kappa.app.survey.doctor.results import RIGHT, UNTOLD, WRONG, DoctorResult, merged, result, results_of
from kappa.app.survey.records import SurveyError
from kappa.app.survey.slurm import MPI_TYPES, SlurmFacts
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import results_folder
from kappa.core.ground.node_lists import folded
from kappa.core.ground.processes import Stop, user_name
from kappa.core.sites.description import Partition
from kappa.core.sites.site_file import SiteDescription
from kappa.core.vocabulary.reservations import RESERVATIONS
from reframe_checks.base.site_settings import settings_of
from spack_envs.installer.reframe_settings import environment_names, installed_environments

_BUILT = {"emt-build", "sweep-build", "mumps"}
_NODES_OF_JOB = "nodes of a job"
_REASON = ("squeue", "--noheader", "--format=%r")
_CORRECT_ACCESS = "correct `access` of the partition"


@dataclass(frozen=True)
class Examination:
    """The tests of a site on ``most_nodes`` nodes of each partition (``None``: all), waiting ``wait_s`` for them."""

    site: SiteDescription
    most_nodes: int | None
    wait_s: float
    stop: Stop
    tell: Callable[[str], object]

    def results(self) -> list[DoctorResult]:
        """Run all tests and return their results.

        :raises StoppedError: there is a reason to stop. No job and no file remains.
        """
        found: list[DoctorResult] = []
        by_slurm: dict[str, Partition] = {}
        for name, partition in self.site.described.partitions.items():
            if partition.scheduler == "local":
                found += results_of(LOCAL_TESTS, PartitionAnswers(name, partition), (name,))
            else:
                by_slurm[name] = partition
        if by_slurm:
            found += self._by_slurm(by_slurm, NodeCommands(self.site))
        return merged(found)

    def _by_slurm(self, partitions: Mapping[str, Partition], commands: NodeCommands) -> Iterator[DoctorResult]:
        try:
            # Before Slurm 21.08, `srun --mpi=list` prints to standard error.
            mpi_types = ["sh", "-c", f"{MPI_TYPES} 2>&1"]
            slurm = SlurmFacts.asked(lambda asked: commands.run(mpi_types if asked == MPI_TYPES else asked.split()))
        except (CommandError, SurveyError) as err:
            remedy = remedy_at(self.site, str(err)) or f"try `sinfo`; {nodes.ADMINISTRATOR}"
            yield result(UNTOLD if isinstance(err, SurveyError) else WRONG, "Slurm", (), str(err), remedy)
            yield result(UNTOLD, "all other tests", tuple(partitions), "Slurm does not answer")
            return
        version, cluster = (slurm.config.get(key, "?") for key in ("SLURM_VERSION", "ClusterName"))
        yield result(RIGHT, "Slurm", (), f"{version}, cluster {cluster}, answers")
        of_spack, installed = environment_names(self.site.name), installed_environments(self.site.name)
        missing = {env: name for env, name in of_spack.items() if name not in {each["name"] for each in installed}}
        associations = commands.said(["sacctmgr", "--noheader", "--parsable2", "show", "associations",
                                      f"user={user_name()}", "format=Account,MaxSubmitJobs"])  # fmt: skip
        needs_accounting = any(partition.scheduler == "slurm" for partition in partitions.values())
        problem = no_accounting(commands.run, commands.sacct) if needs_accounting else ""
        with ThreadPoolExecutor(AT_ONCE) as pool:
            refusals = pool.map(lambda named: refusal(commands, *named), partitions.items())
        accepted: dict[str, PartitionAnswers] = {}
        for (name, partition), refused in zip(partitions.items(), refusals, strict=True):
            answers = PartitionAnswers(
                name, partition, slurm, *reservation_of(partition, lambda: commands.run(RESERVATIONS.split())),
                associations, problem, refused, remedy_at(self.site, refused),
                ", ".join(env for env in partition.environments if env in missing),
                self.site.described.spack.installed_only,
            )  # fmt: skip
            yield from results_of((*TESTS, JOBS), answers, (name,))
            if refused:
                yield result(UNTOLD, _NODES_OF_JOB, (name,), "Slurm accepts no job here")
            else:
                accepted[name] = answers
        yield from self._in_jobs(accepted, {*missing.values()}, commands)

    def _in_jobs(
        self, partitions: Mapping[str, PartitionAnswers], missing: set[str], commands: NodeCommands
    ) -> list[DoctorResult]:
        """Run jobs in the partitions. ``missing``: environments of ReFrame that are not installed."""
        settings = settings_of(self.site, results_folder(self.site.name))
        by_name = {
            each["name"]: {**each, "environs": [env for env in each["environs"] if env not in missing]}
            for each in settings["systems"][0]["partitions"]
        }
        described = {name: answers.described for name, answers in partitions.items()}
        of_slurm = trial.groups(described, by_name, {each["name"]: each for each in settings["environments"]})
        token = secrets.token_hex(8)
        try:
            with work_folders(self.site, token) as work, ThreadPoolExecutor(AT_ONCE) as pool:
                found = room_here(work, token, commands)
                trial.load_launchers()

                def tested(group: trial.PartitionGroup) -> list[DoctorResult]:
                    jobs = _GroupJobs(self, group, partitions[group.names[0]], commands, work, token)
                    return [*jobs.results()]

                return [*found, *itertools.chain.from_iterable(pool.map(tested, of_slurm))]
        except InputError as err:
            remedy = "set KAPPA_HOME and KAPPA_RESULTS to other folders"
            return [result(WRONG, "folders", (THIS_MACHINE,), str(err), remedy)]


@dataclass(frozen=True)
class _GroupJobs:
    """The two jobs of a group of partitions. ``partition``: the first one. ``work``: the work folders of the jobs."""

    examination: Examination
    group: trial.PartitionGroup
    partition: PartitionAnswers
    commands: NodeCommands
    work: Sequence[nodes.AskedFolder]
    token: str

    def results(self) -> Iterator[DoctorResult]:
        group, most, names = self.group, self.examination.most_nodes, self.group.names
        usable = [node for node in self.partition.nodes if node.condition.takes_jobs]
        if not usable:
            remedy = "`sinfo -R` states the reasons"
            yield result(UNTOLD, _NODES_OF_JOB, names, "no node accepts jobs now", remedy)
            return
        limits = self.partition.limits
        count = min(len(usable), most or len(usable), (limits and limits.most_nodes) or len(usable))
        sees_results = yield from self._of_nodes(count)
        modules_system = self.examination.site.described.modules_system
        folder = pathlib.Path(self.work[0].path)
        compiled = trial.compile_here(folder, group, modules_system, self.commands)
        if sees_results:
            self.examination.tell(f"{names[0]}: testing MPI of {', '.join(group.environments)} on {count} nodes")
            tried = trial.run_trial(
                folder, group, modules_system, count, self.examination.wait_s, self.commands, self.examination.stop
            )
        else:
            tried = trial.Trial({}, silence="nodes do not see the folder of results, or did not answer")
        for env, settings in group.environments.items():
            yield from self._of_environment(env, settings, compiled.get(env), tried, count)

    def _of_nodes(self, count: int) -> Generator[DoctorResult, None, bool]:
        """Test ``count`` nodes in a job. Return whether all answered and see the folder of results."""
        names, asked, wait_s = self.group.names, [*self.work, *self.group.storage.values()], self.examination.wait_s
        title, minutes = f"kappa-doctor-{self.token[:6]}-{names[0]}", 1 + len(asked)
        on_node, given = nodes.question(self.token, names[0], count, asked)
        command = [
            "srun", "--label", "--quiet", "--mpi=none", f"--nodes={count}", f"--ntasks={count}", "--ntasks-per-node=1",
            f"--time={minutes + 2}", f"--job-name={title}", *self.group.job_options(), *on_node,
        ]  # fmt: skip
        self.examination.tell(f"{', '.join(names)}: running a job on {count} nodes")
        reasons: list[str] = []
        step = run_step(
            command, given, self.commands.environment, count, wait_s, minutes * 60, self.examination.stop,
            # Ask why Slurm lets the job wait.
            lambda: reasons.append((self.commands.said([*_REASON, f"--name={title}"]) or "").strip()),
        )  # fmt: skip
        machines = [nodes.parse(step.lines.get(task, [])) for task in range(count)]
        silent = [machine.node for machine in machines if not machine.ended]
        problem = step.problem or "no reason given"
        if reasons:
            why = f" (Slurm: {reasons[0]})" if reasons[0] else ""
            remedy = "`--wait S` waits longer, `--nodes 1` needs fewer nodes"
            yield result(
                UNTOLD, _NODES_OF_JOB, names, f"{count} nodes did not become free within {wait_s:g} s{why}", remedy
            )
        elif not step.began and (remedy := remedy_at(self.examination.site, problem) or ""):
            yield result(WRONG, _NODES_OF_JOB, names, f"srun: {problem}", remedy)
        elif not step.began:
            yield result(UNTOLD, _NODES_OF_JOB, names, f"srun ended: {problem}")
        elif silent and step.in_time:
            yield result(UNTOLD, _NODES_OF_JOB, names, f"the job ended early on {folded(silent)}: {problem}")
        else:
            yield result(RIGHT, _NODES_OF_JOB, names, f"{folded(machine.node for machine in machines)} answered")
            unknown = nodes.ClockOffset()
            offsets = {machine.node: step.offsets.get(task, unknown) for task, machine in enumerate(machines)}
            job = nodes.JobAnswers(machines, (str(os.getuid()), str(os.getgid()), user_name()), offsets)
            yield from results_of((nodes.USER, nodes.CLOCK), job, names)
            found = [each for folder in folder_answers(asked, machines, self.token, self.examination.stop)
                     for each in nodes.folder_results(folder, names)]  # fmt: skip
            yield from found
            return (WRONG, "folder results") not in {(each.state, each.subject) for each in found}
        return False

    def _of_environment(
        self, env: str, settings: trial.Settings, here: ShellAnswers | None, tried: trial.Trial, count: int
    ) -> Iterator[DoctorResult]:
        """Test the environment ``env``. ``here``: the answers of this machine."""
        variables = dict(settings.get("env_vars", ()))
        default = os.environ.get("SLURM_MPI_TYPE") or self.partition.slurm.config.get("MpiDefault", "")
        silence = tried.silence or ("" if env in tried.answers else "the job's output does not mention it")
        if tried.refused:
            silence = f"Slurm refuses a job of {tried.ranks} ranks on {count} nodes: {silence}"
        answers = EnvironmentAnswers(
            node=tried.answers.get(env, ShellAnswers()),
            here=here,
            silence=silence,
            silence_remedy=(remedy_at(self.examination.site, silence) or _CORRECT_ACCESS) if tried.refused else "",
            builders=trial.builders(settings),
            builds_here=not _BUILT.isdisjoint(settings["features"]),
            builds_on_nodes=bool(settings.get("extras", {}).get("to_build")),
            modules=settings.get("modules", ()),
            launcher=self.group.first.launcher,
            command=tried.command,
            offered=self.partition.slurm.mpi_types,
            plug_in=str(variables.get("SLURM_MPI_TYPE") or default),
            nodes=count,
            ranks=tried.ranks,
        )
        yield from environments.COMPILERS.results(answers, (env,))
        tests = (environments.MPI,) if silence else (*environments.NODE_TESTS, environments.MPI)
        for name, features in self.group.offered[env].items():
            of_partition = answers._replace(programs=trial.needed_programs(settings, features))
            yield from results_of(tests, of_partition, (f"{name}+{env}",))
