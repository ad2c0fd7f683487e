"""Job scripts of the OSU checks on a composed site that has every feature: what Slurm and UCX are asked for."""

import pathlib
import re
import shlex
import subprocess
import sys
from dataclasses import dataclass

import pytest

from kappa.core.vocabulary import programs
from tests.waiting import PATIENCE_S

REPOSITORY = pathlib.Path(__file__).parents[2]
CASE = re.compile(
    r"OK\S* *\] \( *\d+/\d+\) (?P<name>\w+) (?P<parameters>%.*) /(?P<hash>\w+)"
    r" @composed:(?P<part>\w+)\+(?P<environ>\S+)"
)
CHECKS = (
    r"^OsuDevice|^OsuLatency\b|^OsuReduce\b"
    r"|^Osu(Init|Hello|MultiLatency|MessageRate|AtomicLatency|OneSided\w+)\b"
    r"|^Osu(Blocking|NonBlocking|Persistent|Neighbour)Collective\b|^OsuCollectiveOnRanks\b"
)


@dataclass(frozen=True)
class Case:
    check: str
    parameters: dict[str, str]
    script: str

    def lines(self, start):
        return [line for line in self.script.splitlines() if line.startswith(start)]

    @property
    def launches(self):
        """Arguments of each ``srun`` that measures."""
        return [shlex.split(line) for line in self.lines("srun ") if "placement.txt" not in line]

    @property
    def ucx(self):
        return dict(line.removeprefix("export ").split("=", 1) for line in self.lines("export UCX_"))


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    root = tmp_path_factory.mktemp("composed")
    command = [
        pathlib.Path(sys.executable).with_name("reframe"), "-C", REPOSITORY / "tests/data/sites/gpu.py",
        "-c", REPOSITORY / "reframe_checks/network", "-R", "--prefix", root, "--dry-run", "-n", CHECKS,
    ]  # fmt: skip
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False)
    assert done.returncode == 0, done.stdout
    found = []
    for match in CASE.finditer(done.stdout):
        stage = root / "stage/composed" / match["part"] / match["environ"] / f"{match['name']}_{match['hash']}"
        parameters = dict(word[1:].split("=", 1) for word in match["parameters"].split())
        found.append(
            Case(
                match["name"], {**parameters, "part": match["part"]}, (stage / "rfm_job.sh").read_text(encoding="utf-8")
            )
        )
    assert f"Ran {len(found)}/{len(found)} test case(s)" in done.stdout
    return found


def chosen(cases, check, **parameters):
    return [
        case
        for case in cases
        if case.check == check and parameters.items() <= {"part": "gpu", **case.parameters}.items()
    ]


def only(cases, check, **parameters):
    (case,) = chosen(cases, check, part="gpu", **parameters)
    return case


WITHIN = {
    "D_D": {"default", "gdrcopy_off", "cuda_ipc_off", "all_off"},
    "H_D": {"default", "gdrcopy_off"},
    "D_H": {"default", "gdrcopy_off"},
    "H_H": {"default"},
}
BETWEEN = {
    "D_D": {
        "default", "rdma_on", "rdma_off", "gdrcopy_off", "all_off", "rendezvous_get", "rendezvous_put",
    },
    "H_D": {"default", "rdma_on", "rdma_off", "gdrcopy_off"},
    "D_H": {"default", "rdma_on", "rdma_off", "gdrcopy_off"},
    "H_H": {"default"},
}  # fmt: skip


@pytest.mark.parametrize(
    ("placement", "rows"), [("same_node", WITHIN), ("gpus_other_socket", WITHIN), ("two_nodes", BETWEEN)]
)
def test_latency_matrix_has_the_rows_that_say_something(cases, placement, rows):
    found = {}
    for case in chosen(cases, "OsuDeviceLatencyMatrix", placement=placement, part="gpu"):
        found.setdefault(case.parameters["buffers"], set()).add(case.parameters["transport"])
    assert found == rows


def test_bandwidth_matrix_leaves_gdrcopy_to_latency(cases):
    pairs = {
        check: {tuple(sorted(case.parameters.items())) for case in chosen(cases, check)}
        for check in ("OsuDeviceLatencyMatrix", "OsuDeviceBandwidthMatrix")
    }
    missing = pairs["OsuDeviceLatencyMatrix"] - pairs["OsuDeviceBandwidthMatrix"]
    assert pairs["OsuDeviceBandwidthMatrix"] < pairs["OsuDeviceLatencyMatrix"]
    assert {dict(row)["transport"] for row in missing} == {"gdrcopy_off"}


UCX = {
    "default": {},
    "rdma_on": {"UCX_IB_GPU_DIRECT_RDMA": "y"},
    "rdma_off": {"UCX_IB_GPU_DIRECT_RDMA": "n"},
    "gdrcopy_off": {"UCX_TLS": "^gdr_copy"},
    "cuda_ipc_off": {"UCX_TLS": "^cuda_ipc"},
    "all_off": {"UCX_IB_GPU_DIRECT_RDMA": "n", "UCX_TLS": "^cuda_ipc,gdr_copy"},
    "rendezvous_get": {"UCX_RNDV_SCHEME": "get_zcopy"},
    "rendezvous_put": {"UCX_RNDV_SCHEME": "put_zcopy"},
}


def test_each_transport_sets_its_ucx_variables_and_no_others(cases):
    seen = set()
    for case in cases:
        transport = case.parameters.get("transport", "default")
        assert case.ucx == UCX[transport], case
        seen.add(transport)
    assert seen == set(UCX)


def test_buffers_are_the_last_words_and_validation_comes_before_them(cases):
    for check, program in (("OsuDeviceLatencyMatrix", "osu_latency"), ("OsuDeviceBandwidthMatrix", "osu_bw")):
        for case in chosen(cases, check):
            assert len(case.launches) == 3
            for words in case.launches:
                assert program in words
                assert words[-4:] == ["-d", "cuda", *case.parameters["buffers"].split("_")]
                assert "-c" in words[:-4]


@pytest.mark.parametrize(
    ("placement", "tasks_per_node", "gpus_per_node"),
    [("same_node", 2, 2), ("two_nodes", 1, 1), ("other_switch", 1, 1), ("gpus_other_socket", 2, 4)],
)
def test_ranks_and_gpus_of_a_placement(cases, placement, tasks_per_node, gpus_per_node):
    case = only(cases, "OsuDeviceLatency", placement=placement)
    asked = case.lines("#SBATCH")
    assert {
        "#SBATCH --ntasks=2", f"#SBATCH --ntasks-per-node={tasks_per_node}",
        f"#SBATCH --gpus-per-node={gpus_per_node}", "#SBATCH --exclusive", "#SBATCH --partition=gpu",
    } <= set(asked)  # fmt: skip


def test_gpus_of_two_sockets_are_chosen_with_their_cores(cases):
    for words in only(cases, "OsuDeviceBandwidth", placement="gpus_other_socket").launches:
        assert words[:5] == ["srun", "--cpu-bind=map_cpu:0,16", "env", "CUDA_VISIBLE_DEVICES=0,2", "osu_bw"]


@pytest.mark.parametrize(
    ("placement", "binding"),
    [
        ("same_node", []),
        ("two_nodes", []),
        ("same_numa", ["--cpu-bind=map_cpu:0,1"]),
        ("other_numa", ["--cpu-bind=map_cpu:0,8"]),
        ("other_socket", ["--cpu-bind=map_cpu:0,16"]),
    ],
)
def test_host_placement_binds_and_reports_where_ranks_are(cases, placement, binding):
    case = only(cases, "OsuLatency", placement=placement)
    expected = ["srun", *binding, "osu_latency", "-i", "200", "-x", "20", "-c", "-m", "1:1048576"]
    assert case.launches == [expected] * 3
    assert ("> placement.txt" in case.script) == bool(binding)
    assert "show topology" not in case.script


@pytest.mark.parametrize(
    ("placement", "option"), [("same_switch", "--switches=1"), ("other_switch", "--nodelist=gpu1,gpu8")]
)
def test_switch_placement_is_asked_of_slurm(cases, placement, option):
    case = only(cases, "OsuLatency", placement=placement)
    assert f"#SBATCH {option}" in case.script
    assert "> placement.txt" in case.script
    assert "\nscontrol show topology > topology.txt 2> /dev/null || true\n" in case.script


def test_collectives_on_gpus_take_a_gpu_for_each_rank(cases):
    layouts = {}
    for case in chosen(cases, "OsuDeviceCollective", part="gpu", transport="default", program="osu_bcast"):
        tasks, gpus = (re.search(rf"--{what}=(\d+)", case.script)[1] for what in ("ntasks", "gpus-per-node"))
        layouts[case.parameters["ranks"]] = (int(tasks), int(gpus))
        assert all(words[-2:] == ["-d", "cuda"] and "-c" in words for words in case.launches)
    assert layouts == {f"{n}_ranks": (n, n) for n in (2, 3, 4)} | {f"{n}_nodes": (n, 1) for n in (2, 3, 4)}


def test_no_transport_is_compared_where_a_partition_lacks_it(cases):
    plain = [case for case in cases if case.parameters["part"] == "plain" and "transport" in case.parameters]
    assert plain
    assert {(case.parameters["transport"], case.parameters["buffers"]) for case in plain} == {("default", "D_D")}


def test_all_validate_but_what_moves_no_data_or_refuses_and_reductions_need_floats(cases):
    for case in cases:
        for words in case.launches:
            (program,) = (word for word in words if word.startswith("osu_"))
            unchecked = case.check.startswith(("OsuOneSided", "OsuAtomic", "OsuInit", "OsuHello"))
            assert ("-c" in words) == (not unchecked and "barrier" not in program), words
            assert ("-T mpi_float" in " ".join(words)) == ("reduce" in program), words


@pytest.mark.parametrize(
    ("check", "command"),
    [
        ("OsuInit", "osu_init"),
        ("OsuHello", "osu_hello"),
        ("OsuMultiLatency", "osu_multi_lat -i 200 -x 20 -c -m 1:1048576"),
        ("OsuMessageRate", "osu_mbw_mr -i 10 -x 2 -c -m 8:1048576"),
        ("OsuAtomicLatency", "osu_fop_latency -i 200 -x 20"),
        ("OsuAtomicLatency", "osu_cas_latency -i 200 -x 20"),
        ("OsuOneSidedLatency", "osu_get_acc_latency -i 200 -x 20 -m 1:1048576"),
        ("OsuOneSidedBandwidth", "osu_put_bibw -i 10 -x 2 -m 8:1048576"),
        ("OsuBlockingCollective", "osu_alltoallw -i 50 -x 5 -c -m 1:1048576"),
        ("OsuNonBlockingCollective", "osu_ibarrier -i 50 -x 5"),
        ("OsuNonBlockingCollective", "osu_igatherv -i 50 -x 5 -c -m 1:1048576"),
        ("OsuNonBlockingCollective", "osu_ireduce_scatter -i 50 -x 5 -c -m 4:1048576 -T mpi_float"),
        ("OsuPersistentCollective", "osu_barrier_persistent -i 50 -x 5"),
        ("OsuPersistentCollective", "osu_bcast_persistent -i 50 -x 5 -c -m 1:1048576"),
        ("OsuPersistentCollective", "osu_allreduce_persistent -i 50 -x 5 -c -m 4:1048576 -T mpi_float"),
        ("OsuNeighbourCollective", "osu_neighbor_allgather -i 50 -x 5 -c -m 1:1048576"),
        ("OsuNeighbourCollective", "osu_ineighbor_alltoallw -i 50 -x 5 -c -m 1:1048576"),
        ("OsuCollectiveOnRanks", "osu_reduce -i 50 -x 5 -c -m 4:1048576 -T mpi_float"),
        ("OsuDeviceCollective", "osu_reduce -i 50 -x 5 -c -m 4:1048576 -T mpi_float -d cuda"),
    ],
)
def test_program_and_options(cases, check, command):
    expected = ["srun", *command.split()]
    found = [case for case in chosen(cases, check) if expected[1] in case.launches[0]]
    assert found
    for case in found:
        assert case.launches == [expected] * 3


@pytest.mark.parametrize(
    ("check", "programs"),
    [
        ("OsuBlockingCollective", programs.BLOCKING),
        ("OsuNonBlockingCollective", programs.NON_BLOCKING),
        ("OsuPersistentCollective", programs.PERSISTENT),
        ("OsuNeighbourCollective", programs.NEIGHBOUR),
        ("OsuAtomicLatency", ["osu_fop_latency", "osu_cas_latency"]),
        ("OsuOneSidedLatency", ["osu_put_latency", "osu_get_latency", "osu_acc_latency", "osu_get_acc_latency"]),
        ("OsuOneSidedBandwidth", ["osu_put_bw", "osu_get_bw", "osu_put_bibw"]),
        ("OsuCollectiveOnRanks", ["osu_bcast", "osu_gather", "osu_reduce"]),
        ("OsuDeviceCollective", ["osu_bcast", "osu_gather", "osu_reduce"]),
    ],
)
def test_every_program_of_a_kind_has_a_script(cases, check, programs):
    assert {case.launches[0][1] for case in chosen(cases, check)} == set(programs)


def test_blocks_of_a_reduction_have_an_element_for_each_rank(cases):
    (case,) = chosen(cases, "OsuBlockingCollective", program="osu_reduce_scatter_block")
    assert "#SBATCH --ntasks=64" in case.script
    assert all(words[words.index("-m") + 1] == "256:1048576" for words in case.launches)


def test_a_crashed_rank_ends_the_job(cases):
    assert all("/hold_nodes.sh " in case.script for case in cases)
