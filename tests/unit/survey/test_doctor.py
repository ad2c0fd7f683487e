"""Readings of `kappa doctor` of machines, quotas and MPI programs, and its conclusions."""

import os
import pathlib
import subprocess

import pytest

from kappa.app.survey.doctor import environments, nodes, partitions, results
from kappa.app.survey.doctor.environments import EnvironmentAnswers
from kappa.app.survey.doctor.nodes import AskedFolder, ClockOffset, FolderAnswers, JobAnswers
from kappa.app.survey.doctor.partitions import PartitionAnswers
from kappa.app.survey.doctor.results import NOT_APPLICABLE, RIGHT, UNTOLD, WRONG
from kappa.app.survey.slurm import SlurmFacts, parse_mpi_types, parse_nodes, parse_partitions
from kappa.core.sites.description import Cores, Partition
from tests.unit.survey.clusters import node, partition
from tests.waiting import PATIENCE_S

DATA = pathlib.Path(__file__).parents[2] / "data/survey"
TOKEN = "0123456789abcdef"
ASKED = [
    AskedFolder("work", "/w/kappa-doctor", ".kappa", "/w"),
    AskedFolder("own", "/scratch", "scratch", "/scratch"),
    AskedFolder("parallel", "/scratch", "shared", "/scratch"),
    AskedFolder("parallel", "/shared", "lustre_hdd", "/shared"),
    AskedFolder("any", "/missing", "nvme", "/missing"),
]
OPEN_MPI = "mpirun (Open MPI) 4.1.4"
RECORDED = (DATA / "doctor/embedded-nodes.txt").read_text().splitlines()


def recorded(change=lambda line: line):
    """Both nodes of the recorded job, each line after ``change``."""
    return [nodes.parse(change(line[3:]) for line in RECORDED if line.startswith(f"{task}: ")) for task in (0, 1)]


def judged(answers, here=("node1", "node2")):
    found = []
    for number, asked in enumerate(ASKED):
        by_node = {each.node: each.folders.get(number, nodes.Folder()) for each in answers}
        found += nodes.folder_results(FolderAnswers(asked, by_node, "0", TOKEN, here), ["cpu"])
    return {each.subject: each for each in found}


def only(found):
    [one] = found
    return one


def test_what_nodes_tell_of_folders():
    first, second = recorded()
    assert (first.node, second.node, first.ended) == ("node1", "node2", True)
    assert first.user == ("0", "0", "root")
    work, own = first.folders[0], first.folders[1]
    assert (work.token, work.runs, work.writes, own.mount[0], own.sees) == (TOKEN, "runs", "yes", "ext4", 1)
    found = judged([first, second])
    assert {subject: one.state for subject, one in found.items() if one.state != RIGHT} == {
        "storage shared": WRONG, "storage nvme": WRONG,
    }  # fmt: skip
    assert "node[1-2] does not see what other nodes write into /scratch (ext4)" in found["storage shared"].finding
    assert "node[1-2] has no folder /missing" in found["storage nvme"].finding


@pytest.mark.parametrize(
    ("was", "now", "words", "remedy"),
    [
        (f'token "{TOKEN}"', 'token "cannot open"', "what this machine wrote into /w (cannot open)", "HOME"),
        ('owner "0:0"', 'owner "65534:65534"', "belong to 65534", "root_squash"),
        ('runs "runs"', 'runs "Permission denied"', "does not run on node[1-2]: Permission", "noexec"),
        ('folder.0.writes "yes"', 'folder.0.writes "Read-only file system"', "cannot write into /w: ", "mount it"),
    ],
)
def test_a_work_folder_that_nodes_cannot_use(was, now, words, remedy):
    one = judged(recorded(lambda line: line.replace(was, now)))["folder .kappa"]
    assert one.state == WRONG and words in one.finding and remedy in one.remedy


def test_what_a_node_wrote_and_this_machine_does_not_see():
    one = judged(recorded(), here=["node1"])["folder .kappa"]
    assert one.state == WRONG and "what node2 wrote into /w" in one.finding


def test_a_folder_that_hangs_is_named():
    lines = [line[3:] for line in RECORDED if line.startswith("0: ")]
    cut = [line for line in lines if not line.startswith("folder.1.")]
    found = judged([nodes.parse(cut), recorded()[1]])
    assert found["folder .kappa"].state == RIGHT
    assert "node1 did not answer in time for /scratch" in found["storage scratch"].finding


@pytest.mark.parametrize(
    "planted", ["link", pytest.param("folder", marks=pytest.mark.skipif(os.geteuid() != 0, reason="needs root"))]
)
def test_place_that_another_user_made_first_is_not_written_to(tmp_path, planted):
    target, victim = tmp_path / "scratch", tmp_path / "home"
    target.mkdir()
    victim.mkdir()
    (victim / "node-n1").write_text("thesis\n")
    place = target / "kappa-doctor-token-job-0"
    if planted == "link":
        place.symlink_to(victim)
    else:
        place.mkdir()
        (place / "node-n1").symlink_to(victim / "node-n1")
        os.chown(place, 65534, 65534)
    command, given = nodes.question("token", "job", 1, [AskedFolder("own", str(target), "scratch", str(target))])
    done = subprocess.run(
        command, env={**os.environ, "SLURMD_NODENAME": "n1"}, input=f"{given}end\n", capture_output=True, text=True,
        check=True, timeout=PATIENCE_S,
    )  # fmt: skip
    assert (victim / "node-n1").read_text() == "thesis\n"
    assert "belongs to another user" in nodes.parse(done.stdout.splitlines()).folders[0].writes


@pytest.mark.parametrize(
    ("offsets", "state", "words"),
    [
        ({"n1": ClockOffset(-0.01, 0.02), "n2": ClockOffset(-0.4, 0.5)}, RIGHT, "within 1 s"),
        (
            {"n1": ClockOffset(0.0, 0.1), "n2": ClockOffset(1.2, 1.3)},
            WRONG,
            "n2 is 1.2 s or more ahead of this machine",
        ),
        ({"n1": ClockOffset(-65.0, -64.0)}, WRONG, "n1 is 64.0 s or more behind this machine"),
        ({"n1": ClockOffset(0.8, 0.9), "n2": ClockOffset(-0.9, -0.8)}, WRONG, "n1 is 1.6 s or more ahead of n2"),
        # However slowly a node answers it is not blamed for that.
        ({"n1": ClockOffset(-9.0, 0.1)}, UNTOLD, "n1 answered too slowly"),
        ({"n1": ClockOffset()}, UNTOLD, "n1 answered too slowly"),
    ],
)
def test_clocks(offsets, state, words):
    one = only(nodes.CLOCK.results(JobAnswers([], ("0", "0", "root"), offsets), ["cpu"]))
    assert one.state == state and words in one.finding


def user_result(answers, number):
    return only(nodes.USER.results(JobAnswers(answers, (number, "100", "root")), ["cpu"]))


def test_a_user_of_another_number():
    there = recorded(lambda line: line.replace('user ["0", "0"', 'user ["1005", "100"'))
    one = user_result(there, "1004")
    assert one.state == WRONG and "root 1005:100 on node1, but root 1004:100 on this machine" in one.finding
    assert user_result(there, "1005").state == RIGHT
    silent = [there[0], nodes.parse(['node "node2"'])]
    one = user_result(silent, "1005")
    assert one.state == UNTOLD and "node2 did not answer" in one.finding


def room(folder):
    found = nodes.room_results(FolderAnswers(ASKED[1]._replace(name="results"), {"n1": folder}), ["cpu"])
    return {each.subject: each for each in found}


def space_result(*space):
    return room(nodes.Folder("own", True, space=nodes.Space(*space)))["space in results"]


@pytest.mark.parametrize(
    ("kind", "options", "said", "state", "words"),
    [
        ("ext4", "rw,relatime", None, RIGHT, "no quota is active"),
        ("xfs", "rw,usrquota", None, UNTOLD, "no command `quota`"),
        ("lustre", "rw", None, UNTOLD, "no command `lfs`"),
        ("nfs4", "rw", "Disk quotas for user ann (uid 1004): none", RIGHT, "no quota"),
        # Linux quota tools, quotasys.c.
        ("ext4", "rw,relatime", "quota: Mountpoint (or device) /p not found or has no quota enabled. quota: Not all"
         " specified mountpoints are using quota.", RIGHT, "no quota is active"),
        # As of a server of quotas that does not answer.
        ("nfs4", "rw", "", UNTOLD, "answered nothing"),
        # quota(1), repquota's raw grace: blocks and files, each used, quota, limit, grace.
        ("nfs4", "rw", "Disk quotas for user ann (uid 1004):  Filesystem blocks quota limit grace files quota limit"
         " grace server:/home 98000 100000 110000 0 512 0 0 0", WRONG, "98000 of 100000 KiB"),
        # Lustre manual, `lfs quota -q`: the same columns, with a star at an exceeded value.
        ("lustre", "rw", "/lustre 300 0 2048 - 10001* 10000 11000 6d23h", WRONG, "10001 of 10000 files"),
        ("lustre", "rw", "/lustre 300 0 2048 - 10 0 0 -", RIGHT, "not used up"),
        ("lustre", "rw", "quotactl failed: Operation not permitted", UNTOLD, "quotactl failed"),
    ],
)  # fmt: skip
def test_quotas(kind, options, said, state, words):
    one = room(nodes.Folder("own", True, mount=(kind, "s", "/p", options), quota=said))["quota in results"]
    assert one.state == state and words in one.finding


@pytest.mark.parametrize(
    ("space", "words"),
    [((1 << 41, 1 << 30, 0, 0), "1 GiB free of 2 TiB"), ((1 << 40, 1 << 39, 1000, 3), "only 3 of 1000 inodes")],
)
def test_a_full_file_system(space, words):
    one = space_result(*space)
    assert one.state == WRONG and words in one.finding


def test_a_hundredth_of_petabytes_is_room():
    assert space_result(5 << 50, 50 << 40, 10**10, 10**8).state == RIGHT


def test_the_space_that_a_node_does_not_tell():
    assert space_result(0, 0, 0, 0).state == UNTOLD


def world(ranks, status=0, version=OPEN_MPI, offers="embedded-mpi", plug_in="pmix", launcher="srun", words=""):
    text = "\n".join(
        ["## system", f"mpirun|{version}", *(f"kappa-rank|{'|'.join(map(str, one))}" for one in ranks), words,
         *([f"status|{status}"] if status is not None else []), "## end"]
    )  # fmt: skip
    offered = parse_mpi_types((DATA / f"{offers}.txt").read_text())
    answers = EnvironmentAnswers(
        environments.parse(text)["system"], launcher=launcher, command=launcher, offered=offered, plug_in=plug_in,
        nodes=2, ranks=4,
    )  # fmt: skip
    return only(environments.MPI.results(answers, ["cpu+system"]))


TOGETHER = [(rank, 4, 4, f"n{rank // 2}") for rank in range(4)]
ALONE = [(0, 1, 1, f"n{rank // 2}") for rank in range(4)]


def test_ranks_in_one_world():
    one = world(TOGETHER)
    assert one.state == RIGHT and "srun connects 4 ranks on 2 nodes (mpirun (Open MPI) 4.1.4)" in one.finding


@pytest.mark.parametrize(
    ("given", "found", "remedy"),
    [
        ({"ranks": ALONE, "plug_in": "none"}, "4 single ranks instead of 4", "SLURM_MPI_TYPE: pmix"),
        ({"ranks": ALONE, "version": "HYDRA build details:"}, "MPICH does not find", "SLURM_MPI_TYPE: pmi2"),
        (
            {"ranks": ALONE, "offers": "mpi-list/without-pmi", "plug_in": "none"},
            "4 single ranks", "launcher: mpirun-openmpi",
        ),
        ({"ranks": ALONE, "version": "HYDRA build details:", "offers": "mpi-list/without-pmi", "plug_in": "none"},
         "4 single ranks", "launcher: mpiexec.hydra"),
        ({"ranks": [], "status": 124}, "hangs with Open MPI", "srun --mpi=list"),
        ({"ranks": [], "status": 1, "words": "OMPI was not built with SLURM's PMI support"}, "status 1, 0 of 4 ranks "
         "answered: OMPI was not built", "srun --mpi=list"),
        ({"ranks": [(rank % 2, 2, 2, f"n{rank // 2}") for rank in range(4)]}, "groups of 2 ranks", "srun"),
        ({"ranks": [(rank, 4, 4, "n0") for rank in range(4)], "launcher": "mpirun-openmpi"}, "all ranks ran on n0",
         "does not know Slurm's nodes"),
    ],
)  # fmt: skip
def test_ranks_that_are_not(given, found, remedy):
    one = world(**given)
    assert one.state == WRONG and found in one.finding and remedy in one.remedy


def test_where_no_mpi_program_could_be_made_nothing_is_right():
    assert world([], status=None).state == UNTOLD


def test_modules_and_programs_of_an_environment():
    lmods = "Lmod has detected the following error: unknown module gcc/99"
    text = f"## a\nmodule|gcc/99\n{lmods}\nprogram|fio|\nprogram|x|/x\n"
    shell = environments.parse(text)["a"]
    answers = EnvironmentAnswers(shell, shell, builders=BUILDERS, builds_here=True, modules=["gcc/99"])

    def found(programs):
        tests = (environments.COMPILERS, *environments.NODE_TESTS)
        return {each.subject: each for each in results.results_of(tests, answers._replace(programs=programs), ["a"])}

    one = found({"fio": ["fio"]})
    assert one["modules"].state == WRONG and "unknown module" in one["modules"].finding
    assert "no fio on PATH" in one["programs"].finding and "do not load" in one["compilers"].finding
    assert found({"one": ["fio", "x"]})["programs"].state == RIGHT


@pytest.mark.parametrize(
    ("lines", "words"),
    [
        (None, "did not end in time"),
        ("program|mpicc|/bin/mpicc\nprogram|mpicxx|", "there is no mpicxx, cmake on this machine"),
        ("{all}mpi.h: No such file or directory", "mpicc does not compile an MPI program: mpi.h: No such file"),
        ("{all}compiled|", "mpicc compiles an MPI program on this machine; mpicxx and cmake are on PATH"),
    ],
)
def test_compilers_of_this_machine(lines, words):
    every = "".join(f"program|{name}|/bin/{name}\n" for name in BUILDERS)
    here = lines and environments.parse(f"## a\n{lines.format(all=every)}\n")["a"]
    answers = EnvironmentAnswers(here=here, builders=BUILDERS, builds_here=True)
    assert words in only(environments.COMPILERS.results(answers, ["a"])).finding


BUILDERS = ("mpicc", "mpicxx", "cmake")


def heard(name, change=lambda text: text):
    return environments.parse(change((DATA / f"doctor/embedded-{name}.txt").read_text()))


def of_compilers(change=lambda text: text, to_build=False, env="system", builders=BUILDERS):
    there, here = heard("trial", change)[env], heard("compilers-here")[env]
    answers = EnvironmentAnswers(there, here, builders=builders, builds_here=True, builds_on_nodes=to_build)
    return only(environments.NODE_TESTS[0].results(answers, [f"cpu+{env}"]))


def test_compilers_that_a_node_has_as_this_machine():
    there = heard("trial")["system"]
    assert (there.programs["cmake"], there.compilers["cmake"]) == ("/usr/bin/cmake", "cmake version 3.25.1")
    assert of_compilers(to_build=True).line == (
        "✔ compilers on nodes (cpu+system): mpicc, mpicxx, cmake are on PATH of a node"
    )


def test_another_version_of_a_compiler_on_a_node_is_told():
    other = of_compilers(lambda text: text.replace("g++ (Debian 12.2.0-14+deb12u1) 12.2.0", "g++ (GCC) 8.5.0"))
    assert other.state == RIGHT
    versions = "mpicxx is g++ (GCC) 8.5.0 on the node, g++ (Debian 12.2.0-14+deb12u1) 12.2.0 on this machine"
    assert versions in other.finding and "mpicc is" not in other.finding


def test_a_node_needs_no_compiler_but_where_users_build_on_it():
    def without(text):
        return text.replace("program|cmake|/usr/bin/cmake", "program|cmake|").replace("cmake version 3.25.1", "")

    one = of_compilers(without)
    assert one.state == NOT_APPLICABLE and "a node has no cmake" in one.finding
    assert of_compilers(without, to_build=True).state == NOT_APPLICABLE
    builders = ("mpicc.none", *BUILDERS[1:])
    one = of_compilers(env="mpich", builders=builders, to_build=True)
    assert one.state == WRONG and "there is no mpicc.none on PATH of a node" in one.finding and "`path`" in one.remedy


def described(**more):
    return Partition(features=["scale_whole_partition"], environments=["system"], **{"nodes": 3, **more})


def of_partition(name, stated, **more):
    found = results.results_of(partitions.TESTS, PartitionAnswers(name, stated, **more), (name,))
    return {each.subject: each for each in found}


def test_a_partition_against_slurm():
    text = "\n".join([node("n1"), node("n2", state="IDLE+DRAIN"), node("n3", cores=16)])
    slurm = parse_partitions(partition("batch", "n[1-3]", MaxTime="00:05:00", MaxNodes="2"))
    facts = SlurmFacts({}, parse_nodes(text), slurm, ())
    stated = described(cores=Cores(per_node=64), memory_gib_per_node=512, gpus_per_node=4)
    found = of_partition("batch", stated, slurm=facts)
    assert found["nodes"].state == RIGHT and "out of service: n2" in found["nodes"].finding
    assert "Slurm has 32 on n3" in found["cores"].finding
    assert {one.subject for one in found.values() if one.state == WRONG} == {
        "cores", "memory", "GPUs", "largest job", "longest job",
    }  # fmt: skip
    gone = of_partition("other", stated, slurm=facts)["nodes"]
    assert gone.state == WRONG and "`slurm_partition`" in gone.remedy


@pytest.mark.parametrize(
    ("limit", "most", "state", "found", "remedy"),
    [
        ("UNLIMITED", "30m", RIGHT, "Slurm's limit: none", ""),
        ("00:10:00", None, RIGHT, "Slurm's limit: 10m", ""),
        ("00:05:00", "4m", RIGHT, "Slurm's limit: 5m; jobs ask for 4m at most (`max_time`)", ""),
        ("00:05:00", "5m", RIGHT, "jobs ask for 5m", ""),
        ("00:05:00", "5m1s", WRONG, "`max_time` lets jobs ask for 5m1s", "`max_time: 5m`"),
        ("01:00:00", "1h30m", WRONG, "`max_time` lets jobs ask for 1h30m", "`max_time: 1h`"),
        ("00:05:00", None, WRONG, "Slurm's limit is 5m (scontrol", "set `max_time: 5m` in site.yaml"),
        ("00:01:30", None, WRONG, "checks ask for 10m", "set `max_time: 90s`"),
    ],
)
def test_what_jobs_may_ask_for_against_slurms_limit(limit, most, state, found, remedy):
    [mine] = parse_partitions(partition("batch", "n1", MaxTime=limit))
    one = of_partition("batch", described(max_time=most), slurm=SlurmFacts({}, [], [mine], ()))["longest job"]
    assert one.state == state and found in one.finding and one.remedy.startswith(remedy)


def test_accounting_is_asked_where_jobs_are_asked_for_with_it():
    denied = "`sacct` ended with status 1 and said: sacct: error: Access/permission denied"
    wrong = of_partition("cpu", described(), no_accounting=denied)["accounting"]
    assert wrong.state == WRONG and denied in wrong.finding and "`scheduler: squeue` in site.yaml" in wrong.remedy
    assert of_partition("cpu", described())["accounting"].state == RIGHT
    off = of_partition("gpu", described(scheduler="squeue"), no_accounting=denied)["accounting"]
    assert off.state == NOT_APPLICABLE


@pytest.mark.parametrize(
    ("enforced", "associations", "access", "state", "remedy"),
    [
        ("none", None, ["--account=hpc"], NOT_APPLICABLE, ""),
        ("associations,limits", None, ["--account=hpc"], UNTOLD, "ask"),
        ("associations,limits", "hpc|4\nother|1\n", ["--account=hpc"], WRONG, "`max_jobs: 4`"),
        ("associations,limits", "hpc|\n", ["--account=hpc"], RIGHT, ""),
        ("associations,limits", "hpc|4\nother|1\n", ["-A", "other"], WRONG, "`max_jobs: 1`"),
        ("associations,limits", "hpc|4\nother|1\n", ["-A other"], WRONG, "`max_jobs: 1`"),
        ("associations,limits", "hpc|4\nother|1\n", ["--account other"], WRONG, "`max_jobs: 1`"),
        ("associations,limits", "hpc|0\n", ["--account=hpc"], WRONG, "`max_jobs: 0`"),
        # Either may be the user's own.
        ("associations,limits", "hpc|\nother|1\n", [], RIGHT, ""),
    ],
)
def test_more_jobs_than_an_account_may_have(enforced, associations, access, state, remedy):
    slurm = SlurmFacts({"AccountingStorageEnforce": enforced}, [], [], ())
    one = of_partition("cpu", described(access=access), slurm=slurm, associations=associations)["jobs at a time"]
    assert one.state == state and one.remedy.startswith(remedy)


@pytest.mark.parametrize(
    ("more", "subject", "state", "words"),
    [
        ({"refusal": "Invalid qos", "refusal_remedy": "set one"}, "jobs", WRONG, "refuses your jobs: Invalid qos"),
        ({"refusal": "Odd"}, "jobs", UNTOLD, "not tested: Slurm refuses a small job: Odd"),
        ({}, "jobs", RIGHT, "Slurm accepts your jobs"),
        ({"no_reservation": "no reservation 'gone'"}, "reservation", WRONG, "'gone'"),
        ({"not_installed": "a, b"}, "environments", UNTOLD, "a, b: not yet installed"),
        ({"not_installed": "a", "installed_only": True}, "environments", NOT_APPLICABLE, "a: not installed, and"),
    ],
)
def test_jobs_reservation_and_environments_of_a_partition(more, subject, state, words):
    answers = PartitionAnswers("cpu", described(), **more)
    found = results.results_of((*partitions.TESTS, partitions.JOBS), answers, ("cpu",))
    one = only(each for each in found if each.subject == subject)
    assert one.state == state and words in one.finding


@pytest.mark.parametrize(("on_path", "state"), [("/usr/bin/smpirun", RIGHT), (None, WRONG)])
def test_partitions_without_slurm(on_path, state, monkeypatch):
    monkeypatch.setattr(partitions.shutil, "which", lambda _: on_path)
    stated = [described(launcher="smpirun", scheduler="local"), described(scheduler="local")]
    found = [results.results_of(partitions.LOCAL_TESTS, PartitionAnswers("p", each), ("p",)) for each in stated]
    assert [(only(each).subject, only(each).state) for each in found] == [("SimGrid", state), ("nodes", NOT_APPLICABLE)]


def test_the_exit_status_and_the_line():
    good, bad, open_end = (
        results.result(RIGHT, "clock", ["cpu"], "fine"), results.result(WRONG, "clock", ["gpu"], "late", "see NTP"),
        results.result(UNTOLD, "quota", [], "no command"),
    )  # fmt: skip
    assert [results.status(one) for one in ([good], [good, bad], [good, open_end], [])] == [0, 1, 2, 2]
    assert bad.line == "✘ clock (gpu): late; see NTP"
    assert open_end.line == "◌ quota: not tested: no command"
    assert results.merged([good, bad, good._replace(places=("gpu",))])[0].places == ("cpu", "gpu")
