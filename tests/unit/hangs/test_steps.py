"""What a launcher's output says of whether MPI starts: a world of all ranks, of whom one is enough to say so."""

import importlib

import pytest


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
    steps = importlib.import_module("steps")
    assert steps.starts_of_mpi([["node1", "node2"]], 1, "libmpi.so", [str(launcher)]) == [starts]
