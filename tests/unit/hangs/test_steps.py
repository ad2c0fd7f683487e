"""MPI starts if one rank reports a world of all ranks in the launcher's output."""

import pytest

from kappa.node.watch import steps


@pytest.mark.parametrize(
    ("printed", "starts"),
    [
        ("kappa-mpi 0 of 2\nkappa-mpi 1 of 2\n", True),
        ("kappa-mpi 1 of 2\n", True),
        ("kappa-mpi 0 of 1\nkappa-mpi 0 of 1\n", False),
        ("", False),
    ],
    ids=["both ranks", "a line is lost", "each alone", "nothing"],
)
def test_one_rank_that_met_all_others_is_enough(tmp_path, printed, starts):
    launcher = tmp_path / "mpirun"
    launcher.write_text(f"#!/bin/sh\nprintf '{printed}'\n")
    launcher.chmod(0o755)
    assert steps.starts_of_mpi([["node1", "node2"]], 1, "libmpi.so", [str(launcher)]) == [starts]


def test_srun_works_on_a_node_if_a_step_inside_a_step_prints(monkeypatch):
    asked = []

    def step(nodes, mpi):
        asked.append((*nodes, mpi))
        return ["false"] if (*nodes, mpi) == ("node1", "pmix") else ["env"]

    monkeypatch.setattr(steps, "_step", step)
    mpi = steps.type_of_mpi(["srun", "--mpi=pmix"])
    assert steps.launches([("node1", "node1"), ("node2", "node2")], 1, mpi) == [False, True]
    assert asked == [("node1", "none"), ("node1", "pmix"), ("node2", "none"), ("node2", "pmix")]


def test_a_program_runs_where_it_is_and_finds_its_libraries(tmp_path, monkeypatch):
    """On this machine, with the step's own command."""
    monkeypatch.setattr(steps, "_step", lambda nodes, _: ["env", f"SLURMD_NODENAME={nodes[0]}"])
    assert steps.runs_on(["node1"], "ls") == ["node1"]
    assert steps.runs_on(["node1"], "no-such-program") == []
    (tmp_path / "script").write_text("#!/bin/sh\n")
    (tmp_path / "script").chmod(0o755)
    assert steps.runs_on(["node1"], str(tmp_path / "script")) == ["node1"]
