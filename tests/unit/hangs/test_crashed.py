"""The nodes on which a measurement crashed, from messages of launchers and loader; and crashes without a named node."""

import os
import pathlib
import shutil
import socket
import subprocess
import sys

import pytest

from kappa.node import meeting
from kappa.node.watch import job
from kappa.node.watch.crashed import crashed as findings
from tests.mpi_environment import MPI_ENVIRONMENT
from tests.waiting import until

NODES = ["node1", "node2", "node3", "node4"]
KILLED = """\
srun: Job step aborted: Waiting up to 32 seconds for job step to finish.
slurmstepd: error: *** STEP 7.0 ON node1 CANCELLED AT 2026-11-22T19:40:02 ***
srun: error: node1: task 0: Terminated
srun: error: node[3-4]: tasks 2-3: Killed
"""
FIO = "fio: error while loading shared libraries: libaio.so.1: file too short"
EXECVE = "slurmstepd: error: execve(): ./stream: No such file or directory"
# As Open MPI 4.1.4, PRRTE 3, Hydra of MPICH 4.0.2 and of Intel MPI 2021.19 write it, but for the nodes' names.
OPEN_MPI_4 = """\
[node2:15878] *** Process received signal ***
[node2:15878] Signal: Segmentation fault (11)
[node2:15878] Signal code:  (-6)
[node2:15878] *** End of error message ***
--------------------------------------------------------------------------
Primary job  terminated normally, but 1 process returned
a non-zero exit code. Per user-direction, the job has been aborted.
--------------------------------------------------------------------------
--------------------------------------------------------------------------
mpirun noticed that process rank 1 with PID 0 on node node2 exited on signal 11 (Segmentation fault).
--------------------------------------------------------------------------
"""
OPEN_MPI_5 = """\
--------------------------------------------------------------------------
prterun noticed that process rank 2 with PID 1617008 on node node2 exited on
signal 4 (Illegal instruction).
--------------------------------------------------------------------------
"""
MPICH = """\

===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   PID 9948 RUNNING AT node2
=   EXIT CODE: 11
=   CLEANING UP REMAINING PROCESSES
=   YOU CAN IGNORE THE BELOW CLEANUP MESSAGES
===================================================================================
[proxy:0:3@node4] HYD_pmcd_pmip_control_cmd_cb (pm/pmiserv/pmip_cb.c:899): assert (!closed) failed
[mpiexec@node1] main (ui/mpich/mpiexec.c:325): process manager error waiting for completion
"""
INTEL_MPI = """\

===================================================================================
=   BAD TERMINATION OF ONE OF YOUR APPLICATION PROCESSES
=   RANK 2 PID 22166 RUNNING AT node2
=   KILLED BY SIGNAL: 11 (Segmentation fault)
===================================================================================
"""
OPEN_MPI_4_EXIT = """\
mpirun detected that one or more processes exited with non-zero status, thus causing
the job to be terminated. The first process to do so was:

  Process name: [[21329,1],1]
  Exit code:    127
"""
OPEN_MPI_4_NOT_RUN = """\
--------------------------------------------------------------------------
mpirun was unable to launch the specified application as it could not access
or execute an executable:

Executable: ./stream
Node: node2

while attempting to start process rank 1.
--------------------------------------------------------------------------
2 total processes failed to start
"""
OPEN_MPI_5_NOT_RUN = """\
prterun was unable to find the specified executable file, and therefore did
not launch the job.  This error was first reported for process rank
1; it may have occurred for other processes as well.

NOTE: A common cause for this error is misspelling a prterun command
   line parameter option (remember that prterun interprets the first
   unrecognized command line token as the executable).

   Node:       node2
   Executable: ./stream
"""
MPICH_NOT_RUN = """\
[proxy:0:1@node2] HYDU_create_process (utils/launch/launch.c:73): execvp error on file ./stream \
(No such file or directory)
"""
# Processes that write at the same time.
INTEL_MPI_NOT_RUN = """\
[proxy:0:1@node1] [proxy:0:2@node2] HYD_spawn (libhydra/spawn/intel/hydra_spawn.c:177): execvp error on file ./stream (\
No such file or directory)
"""


def tasks(node, end, number=1):
    return f"srun: error: {node}: task {number}: {end}\n"


def crashed(said, nodes=NODES):
    known = {"node[1-4]": NODES, "node[1-2]": NODES[:2], "node[1-3]": NODES[:3], "node[2-3]": NODES[1:3]}
    found = findings(nodes, said, known.__getitem__)
    return {each["node"]: each["said"] for each in found if each["reason"] == "crashed"}


@pytest.mark.parametrize(
    "end",
    ["Segmentation fault", "Segmentation fault (core dumped)", "Bus error", "Illegal instruction", "Aborted",
     "Floating point exception", "Exited with exit code 127", "Exited with exit code 126"],
)  # fmt: skip
def test_the_first_crash_names_its_node_with_the_line(end):
    first = tasks("node2", end)
    assert crashed("lots of other output\n" + first + KILLED) == {"node2": first.strip()}


def test_what_ended_as_a_consequence_names_nobody_else():
    assert list(crashed(tasks("node2", "Bus error") + tasks("node[1-3]", "Exited with exit code 143"))) == ["node2"]
    assert list(crashed(tasks("node[2-3]", "Bus error") + KILLED)) == ["node2", "node3"]


def test_a_library_that_cannot_be_loaded_is_told_with_the_node():
    said = crashed(f"{FIO}\n" + tasks("node3", "Exited with exit code 127") + KILLED)
    assert said == {"node3": f"srun: error: node3: task 1: Exited with exit code 127; {FIO}"}
    assert crashed(f"{FIO}\n" + tasks("node3", "Exited with exit code 15"))["node3"].endswith(FIO)


def test_a_program_that_srun_does_not_find_names_its_node():
    assert crashed(f"{EXECVE}\n" + tasks("node3", "Exited with exit code 2"))["node3"].endswith(EXECVE)
    assert crashed(tasks("node3", "Exited with exit code 2")) == {}


@pytest.mark.parametrize(
    "line",
    ["slurmstepd-node3: error: run_command: user task_prolog can not be executed (/w/p.sh) Permission denied",
     "slurmstepd: error: TaskProlog failed status=5", "slurmstepd: error: --task-prolog failed status=1"],
)  # fmt: skip
def test_a_prolog_of_tasks_that_fails_names_its_node(line):
    ended = "Exited with exit code 1"
    said = crashed(f"{tasks('node3', ended)}{line}\n{tasks('node[1-2]', ended)}")
    assert said == {"node3": f"srun: error: node3: task 1: Exited with exit code 1; {line}"}


@pytest.mark.parametrize("end", ["Exited with exit code 1", "Killed", "Terminated", "Out Of Memory"])
def test_another_end_names_nobody_nor_does_what_crashes_after_it(end):
    assert crashed(tasks("node2", end)) == {}
    assert crashed(tasks("node2", end) + tasks("node3", "Aborted")) == {}


def test_prologs_that_ended_because_the_step_did_not_start_on_a_node_name_nobody():
    """Recorded on the embedded cluster, with Slurm 22.05; the first node had no route to node4."""
    said = (
        "srun: error: Task launch for StepId=63.0 failed on node node4: Communication connection failure\n"
        "srun: error: Application launch failed: Communication connection failure\n"
        "srun: Job step aborted: Waiting up to 7 seconds for job step to finish.\n"
        "srun: error: node3: task 2: Exited with exit code 1\n"
        "srun: launch/slurm: _step_signal: Terminating StepId=63.0\n"
        "slurmstepd-node3: error: user task_prolog did not exit normally. reason: \n"
        "slurmstepd-node3: error: --task-prolog failed status=1\n"
    )
    assert crashed(said) == {}


def test_a_crash_on_most_nodes_is_the_programs_fault():
    assert crashed(tasks("node[1-4]", "Segmentation fault")) == {}
    assert crashed(tasks("node2", "Segmentation fault") + KILLED + tasks("node[1-3]", "Segmentation fault")) == {}
    assert crashed(tasks("node1", "Segmentation fault"), nodes=["node1"]) == {}


@pytest.mark.parametrize("end", ["Segmentation fault", "Exited with exit code 127"])
def test_a_crash_on_all_nodes_of_a_step_is_the_programs_fault(end):
    """A step of two of the job's four nodes."""
    assert crashed(tasks("node[2-3]", end)) == {}
    assert crashed(tasks("node2", end) + tasks("node3", end)) == {}
    assert list(crashed(tasks("node2", end) + tasks("node3", "Terminated"))) == ["node2"]


def test_who_gives_up_because_the_other_end_is_gone_is_not_named():
    gone = "UCX ERROR Transport retry count exceeded on mlx5_0:1/IB\n"
    assert crashed(gone + tasks("node2", "Aborted")) == {}
    assert list(crashed(gone + tasks("node2", "Segmentation fault"))) == ["node2"]


def test_no_node_of_another_job_is_named_and_no_control_character_told():
    assert crashed(tasks("login", "Aborted")) == {}
    assert crashed(f"\x1b[1m{FIO}\n" + tasks("node2", "Exited with exit code 127"))["node2"].endswith(f"?[1m{FIO}")


@pytest.mark.parametrize(
    ("said", "words"),
    [
        (OPEN_MPI_4, "mpirun noticed that process rank 1 with PID 0 on node node2 exited on signal 11"),
        (OPEN_MPI_5, "on node node2 exited on signal 4 (Illegal instruction)."),
        (MPICH, "= PID 9948 RUNNING AT node2 = EXIT CODE: 11"),
        (MPICH.replace("CODE: 11", "CODE: 139"), "EXIT CODE: 139"),
        (INTEL_MPI, "= RANK 2 PID 22166 RUNNING AT node2 = KILLED BY SIGNAL: 11 (Segmentation fault)"),
        (OPEN_MPI_4_NOT_RUN, "Executable: ./stream Node: node2"),
        (OPEN_MPI_5_NOT_RUN, "prterun was unable to find the specified executable file"),
        (MPICH_NOT_RUN, "[proxy:0:1@node2] HYDU_create_process (utils/launch/launch.c:73): execvp error on file"),
    ],
)
def test_the_first_crash_under_mpirun_names_its_node(said, words):
    found = crashed(f"lots of other output\n{said}")
    assert list(found) == ["node2"] and words in found["node2"]
    assert list(crashed(said.replace("node2", "node2.cluster.example"))) == ["node2"]


def test_what_srun_says_of_the_daemons_of_mpirun_counts_for_nothing():
    assert list(crashed(tasks("node3", "Exited with exit code 1") + OPEN_MPI_4 + KILLED)) == ["node2"]


@pytest.mark.parametrize("end", ["9 (Killed)", "15 (Terminated)"])
def test_what_was_killed_first_names_nobody_under_mpirun(end):
    assert crashed(OPEN_MPI_4.replace("11 (Segmentation fault)", end)) == {}
    assert crashed(INTEL_MPI.replace("11 (Segmentation fault)", end)) == {}
    # Where Hydra ended it after the crash.
    killed = INTEL_MPI.replace("11 (Segmentation fault)", end).replace("node2", "node1")
    assert list(crashed(killed + INTEL_MPI)) == ["node2"]


@pytest.mark.parametrize("said", [OPEN_MPI_4_EXIT, MPICH.replace("CODE: 11", "CODE: 3"), FIO + OPEN_MPI_4_EXIT])
def test_an_exit_code_under_mpirun_names_nobody(said):
    assert crashed(said) == {}


def test_an_exit_code_under_hydra_counts_where_the_loader_says_why():
    assert crashed(f"{FIO}\n{MPICH.replace('CODE: 11', 'CODE: 15')}") == {}
    assert crashed(f"{FIO}\n{MPICH.replace('CODE: 11', 'CODE: 127')}")["node2"].endswith(FIO)


def test_a_crash_on_most_nodes_is_the_programs_fault_under_mpirun():
    handlers = (
        "[node{0}:15878] Signal: Segmentation fault (11)\n",
        "[node{0}:337:0:337] Caught signal 11 (Segmentation fault)\n",
    )
    for line in handlers:
        assert crashed("".join(map(line.format, (1, 3, 4))) + OPEN_MPI_4) == {}
        assert list(crashed(line.format(3) + OPEN_MPI_4)) == ["node2"]
    everywhere = [INTEL_MPI.replace("node2", node) for node in NODES]
    assert crashed("".join(everywhere)) == {}
    assert list(crashed(INTEL_MPI_NOT_RUN)) == ["node1", "node2"]
    assert crashed(INTEL_MPI_NOT_RUN + MPICH_NOT_RUN.replace("node2", "node3")) == {}
    assert crashed("".join(MPICH_NOT_RUN.replace("node2", node) for node in NODES)) == {}


def test_who_aborts_under_mpirun_because_the_other_end_is_gone_is_not_named():
    gone = "UCX ERROR Transport retry count exceeded on mlx5_0:1/IB\n"
    aborted = INTEL_MPI.replace("11 (Segmentation fault)", "6 (Aborted)")
    assert list(crashed(aborted)) == ["node2"]
    assert crashed(gone + aborted) == {}


@pytest.mark.skipif(not shutil.which("mpirun"), reason="not provided here: mpirun")
def test_what_mpirun_here_writes_of_a_crash_names_this_machine():
    program = 'test "$OMPI_COMM_WORLD_RANK$PMI_RANK" = 0 || { sleep 0.5; kill -SEGV $$; }; exec sleep 60'
    command = ["mpirun", "-n", "2", "sh", "-c", program]
    here = socket.gethostname()

    def told():
        done = subprocess.run(command, env=os.environ | MPI_ENVIRONMENT, check=False, capture_output=True, text=True)
        return crashed(done.stdout + "\n" + done.stderr, nodes=[here, "another"])

    # 2 s; 35 s on a busy machine, where Open MPI 4.1 at first said nothing of a task that ended at its start.
    found = until(told, "mpirun tells of the crash")
    assert list(found) == [here] and "Segmentation fault" in found[here]


def test_output_is_what_the_script_writes_to_whatever_its_names(tmp_path):
    program = "import sys; sys.stdin.read(); print('at the end'); print('gone wrong', file=sys.stderr)"
    with open(tmp_path / "a name.out", "w") as output, open(tmp_path / "a name.err", "w") as error:
        script = subprocess.Popen([sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=output, stderr=error)
    with job.output_of(script.pid, 1) as output, job.output_of(script.pid, 2) as error:
        script.communicate()
        assert (job.end_of(output), job.end_of(error)) == ("at the end\n", "gone wrong\n")


def test_only_the_end_of_much_output_is_read(tmp_path):
    path = pathlib.Path(tmp_path, "rfm_job.err")
    path.write_bytes(b"a" * (job.MOST_BYTES + 7))
    with path.open("rb") as file:
        assert len(job.end_of(file)) == job.MOST_BYTES


def test_where_output_is_no_file_nothing_is_read():
    script = subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    with job.output_of(script.pid, 2) as said, script:
        assert said.name == os.devnull
        assert job.end_of(said) == ""
        script.communicate()


def test_look_is_not_written_through_a_link(tmp_path):
    (tmp_path / "victim").write_text("of the user")
    for name in ("look", "look.part"):
        (tmp_path / name).symlink_to("victim")
    meeting.publish(str(tmp_path / "look"), "new")
    assert (tmp_path / "victim").read_text() == "of the user"
    assert (tmp_path / "look").read_text() == "new"
