"""MPI libraries beside the one on PATH.

Lines are recorded where they name a file; others are composed after what mpi.h of Open MPI, MPICH, MVAPICH and Intel
MPI defines, the folders of RHEL, SUSE, MLNX_OFED, oneAPI, HPC-X and Cray's programming environment, and the first lines
of `ompi_info --version`, `mpichversion` and `mpirun --version`.
"""

import pytest

from kappa.app.survey.found import changes, facts
from kappa.app.survey.mpi import CRAY, HYDRA, INTEL, MVAPICH, OPEN_MPI, further_mpi
from kappa.app.survey.probe import parse
from tests.unit.survey.clusters import DATA, one_node, probe, with_facts


def libraries(lines):
    return [line.split("|", 2) for line in lines]


def found(*lines, modules=()):
    return further_mpi(parse(with_facts(probe("n1"), {"site.mpi": libraries(lines), "site.modules": [*modules]})))


def test_those_of_the_recorded_machine():
    [one] = further_mpi(parse((DATA / "machine-probe.txt").read_text()))
    assert (one.library, one.version, one.place) == (HYDRA, "4.0.2", "/usr/bin/mpirun.mpich")
    assert one.source == "update-alternatives"


@pytest.mark.parametrize(
    ("line", "library", "version"),
    [
        ("folder|OMPI_MAJOR_VERSION=4 OMPI_MINOR_VERSION=1 OMPI_RELEASE_VERSION=1 |/opt/openmpi", OPEN_MPI, "4.1.1"),
        ("folder|Open MPI v5.0.3  |/opt/openmpi", OPEN_MPI, "5.0.3"),
        ("folder|MPICH_VERSION=3.4.2 |/usr/lib64/mpich", HYDRA, "3.4.2"),
        ("folder|MPICH Version:    \t3.4.1 MPICH Release date:\tFri Jan 22 |/opt/mpich", HYDRA, "3.4.1"),
        ("folder|MVAPICH2_VERSION=2.3.7 MPICH_VERSION=3.2.1 |/usr/lib64/mvapich2", MVAPICH, "2.3.7"),
        ("folder|MVAPICH2 Version:     \t2.3.7 MVAPICH2 Release date:\tWed |/opt/mvapich2", MVAPICH, "2.3.7"),
        ("folder|I_MPI_VERSION=2021.13.0 |/opt/intel/oneapi/mpi/2021.13", INTEL, "2021.13.0"),
        ("folder||/opt/intel/oneapi/mpi/2021.13", INTEL, "2021.13"),
        ("folder||/opt/cray/pe/mpich/8.1.28", CRAY, "8.1.28"),
        ("folder||/usr/mpi/gcc/openmpi-4.1.7a1", OPEN_MPI, "4.1.7"),
        ("folder|mpirun (Open MPI) 4.1.5a1  |/opt/hpcx-v2.18-gcc-mlnx_ofed/ompi", OPEN_MPI, "4.1.5"),
        ("folder||/opt/nvidia/hpc_sdk/Linux_x86_64/24.5/comm_libs/mpi", OPEN_MPI, ""),
        ("ldconfig||/usr/lib64/libmpi.so.40.30.4", OPEN_MPI, ""),
        ("ldconfig||/usr/lib64/libmpich.so.12.2.2", HYDRA, ""),
    ],
)  # fmt: skip
def test_library_and_version(line, library, version):
    [one] = found(line)
    assert (one.library, one.version, one.place) == (library, version, line.rpartition("|")[2])


@pytest.mark.parametrize(
    "lines",
    [
        ["path|orterun (OpenRTE) 4.1.1 |/usr/lib64/openmpi/bin/orterun", "folder|Open MPI v4.1.1 |/usr/lib64/openmpi"],
        ["path|HYDRA build details:     Version: 4.0.2 |/usr/bin/mpiexec.hydra", "ldconfig||/usr/lib64/libmpich.so.12"],
        ["folder|something else |/usr/local"],
        [],
    ],
    ids=["on PATH", "of the one on PATH", "of no library", "none"],
)  # fmt: skip
def test_what_is_none(lines):
    assert found(*lines) == []


@pytest.mark.parametrize(
    ("line", "module", "other"),
    [
        ("folder|Open MPI v4.1.1 |/usr/lib64/openmpi", "mpi/openmpi-x86_64", "mpi/mpich-x86_64"),
        ("folder|Open MPI v4.1.5 |/opt/openmpi/4.1.5", "openmpi/4.1.5-gcc12", "openmpi/4.1.51"),
        ("folder||/opt/intel/oneapi/mpi/2021.13", "mpi/2021.13", "mpi/2021.12"),
        ("folder||/opt/cray/pe/mpich/8.1.28", "cray-mpich/8.1.28", "cray-libsci/8.1.28"),
    ],
)
def test_those_of_a_module_are_left_to_it(line, module, other):
    assert found(line, modules=[module]) == []
    assert len(found(line, modules=[other])) == 1


def test_a_second_build_of_one_version_is_another_library():
    lines = ["path|orterun (OpenRTE) 4.1.4 |/usr/bin/orterun", "folder|Open MPI v4.1.4 |/opt/openmpi-4.1.4"]
    assert [one.place for one in found(*lines)] == ["/opt/openmpi-4.1.4"]


def test_a_place_is_quoted_and_a_new_library_is_a_change():
    def of(*lines):
        text = with_facts(probe("NAME"), {"site.mpi": libraries(lines)})
        return one_node(text)

    now = of("folder|Open MPI v4.1.4 |/opt/open|mpi; x")
    [fact] = [fact for fact in facts(now) if "further_mpi" in fact.what]
    assert (fact.what, fact.source) == ("batch.further_mpi.'/opt/open|mpi; x'", "probe of n1")
    assert [line.partition(":")[0] for line in changes(of(), now)] == [f"+ {fact.what}"]
