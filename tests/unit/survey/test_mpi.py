"""The launcher of each MPI library, by the options of srun."""

import pathlib
from types import SimpleNamespace

import pytest

from kappa.app.survey.mpi import CRAY, HYDRA, INTEL, OPEN_MPI, starting
from kappa.app.survey.slurm import parse_mpi_types

DATA = pathlib.Path(__file__).parents[2] / "data/survey"
OPEN_MPI_4, OPEN_MPI_5 = "mpirun (Open MPI) 4.1.4", "mpirun (Open MPI) 5.0.3"
MPICH = "HYDRA build details:"
INTELS = "Intel(R) MPI Library for Linux* OS, Version 2021.13 Build 20240701 (id: 179630a)"
# As the probe says it by the module cray-mpich.
CRAYS = "CRAY MPICH version 8.1.28"
SRUN = ""
SCRIPT = "mpiexec.hydra -n 8 -ppn 4"


@pytest.mark.parametrize(
    ("version", "offers", "default", "library", "launcher", "variables"),
    [
        (OPEN_MPI_4, "embedded-mpi", "pmix", OPEN_MPI, SRUN, {}),
        (OPEN_MPI_4, "embedded-mpi", "none", OPEN_MPI, SRUN, {"SLURM_MPI_TYPE": "pmix"}),
        (OPEN_MPI_4, "mpi-list/slurm-20.11", "none", OPEN_MPI, SRUN, {"SLURM_MPI_TYPE": "pmi2"}),
        (OPEN_MPI_5, "mpi-list/slurm-20.11", "pmi2", OPEN_MPI, "mpirun-openmpi", {}),
        (OPEN_MPI_5, "mpi-list/slurm-25.05", "pmix_v5", OPEN_MPI, SRUN, {}),
        (MPICH, "mpi-list/slurm-23.11-pmix", "pmix", HYDRA, SRUN, {"SLURM_MPI_TYPE": "pmi2"}),
        (MPICH, "mpi-list/slurm-23.11-pmix", "pmi2", HYDRA, SRUN, {}),
        (MPICH, "mpi-list/without-pmi", "none", HYDRA, "mpiexec.hydra", {}),
        (INTELS, "mpi-list/slurm-23.11-pmix", "pmi2", INTEL, "mpiexec.hydra",
         {"I_MPI_JOB_RESPECT_PROCESS_PLACEMENT": "0"}),
        (CRAYS, "mpi-list/cray-ex", "cray_shasta", CRAY, SRUN, {}),
        (CRAYS, "mpi-list/cray-ex", "none", CRAY, SRUN, {"SLURM_MPI_TYPE": "cray_shasta"}),
        ("", "mpi-list/slurm-25.05", "none", "", SRUN, {}),
    ],
)  # fmt: skip
def test_launcher_and_what_it_is_told(version, offers, default, library, launcher, variables):
    mpi = starting(version, parse_mpi_types((DATA / f"{offers}.txt").read_text()), default)
    assert (mpi.library, mpi.launcher, mpi.variables) == (library, launcher, variables)
    assert mpi.why or not (launcher or variables), "an entry of a site gives its reason"


def test_the_command_line_of_hydra():
    from kappa.core.sites.launchers import HydraLauncher  # noqa: PLC0415 (ReFrame)
    from reframe_checks.base.measure import PER_NODE  # noqa: PLC0415

    launcher = HydraLauncher()
    launcher.options = [PER_NODE["mpiexec.hydra"].format(4)]
    assert launcher.run_command(SimpleNamespace(num_tasks=8)) == SCRIPT
    launcher.env_vars = {"UCX_TLS": "rc,self"}
    assert launcher.run_command(SimpleNamespace(num_tasks=8)) == "mpiexec.hydra -n 8 -genv UCX_TLS rc,self -ppn 4"
