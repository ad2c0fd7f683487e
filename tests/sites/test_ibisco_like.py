"""Job scripts for 32 nodes with four GPUs, InfiniBand and two Lustre file systems: GPUs, UCX, striping."""

import math
import re

import pytest

from kappa.core.record.load import load_session
from reframe_checks.storage.emt_io import CHANNELS_OF_COPY
from reports.acceptance.contract import load_contract
from tests.sites.dry_run import SITES

TRANSPORTS = {
    "default": {},
    "rdma_on": {"UCX_IB_GPU_DIRECT_RDMA": "y"},
    "rdma_off": {"UCX_IB_GPU_DIRECT_RDMA": "n"},
    "gdrcopy_off": {"UCX_TLS": "^gdr_copy"},
    "all_off": {"UCX_IB_GPU_DIRECT_RDMA": "n", "UCX_TLS": "^cuda_ipc,gdr_copy"},
    "rendezvous_get": {"UCX_RNDV_SCHEME": "get_zcopy"},
    "rendezvous_put": {"UCX_RNDV_SCHEME": "put_zcopy"},
}


@pytest.mark.parametrize(
    ("check", "transport"),
    [
        *(("OsuDeviceLatencyMatrix", transport) for transport in TRANSPORTS),
        *(("OsuDeviceBandwidthMatrix", transport) for transport in TRANSPORTS if transport != "gdrcopy_off"),
    ],
)
def test_transports_between_gpus_of_two_nodes(ibisco_like, check, transport):
    script = ibisco_like.one(check, placement="two_nodes", buffers="D_D", transport=transport)
    assert {"--nodes=2", "--ntasks=2", "--ntasks-per-node=1", "--gres=gpu:1", "--exclusive"} <= script.sbatch
    assert {name: value for name, value in script.exports.items() if "UCX" in name} == TRANSPORTS[transport]
    assert len(script.srun) == 3
    assert all(re.fullmatch(r"srun osu_(latency|bw) .* -c .* -d cuda D D", line) for line in script.srun)


def test_all_data_that_gpus_exchange_is_checked(ibisco_like):
    scripts = [script for script in ibisco_like.scripts if script.check.startswith("OsuDevice")]
    assert scripts
    for script in scripts:
        assert all(" -c " in line for line in script.srun if "placement.txt" not in line), script.path


@pytest.mark.parametrize("transport", ["default", "cuda_ipc_off", "gdrcopy_off", "all_off"])
def test_transports_between_gpus_of_one_node(ibisco_like, transport):
    script = ibisco_like.one("OsuDeviceLatencyMatrix", placement="same_node", buffers="D_D", transport=transport)
    assert {"--nodes=1", "--ntasks=2", "--gres=gpu:2"} <= script.sbatch
    expected = {**TRANSPORTS, "cuda_ipc_off": {"UCX_TLS": "^cuda_ipc"}}[transport]
    assert {name: value for name, value in script.exports.items() if "UCX" in name} == expected


@pytest.mark.parametrize("buffers", ["H_H", "H_D", "D_H", "D_D"])
@pytest.mark.parametrize("placement", ["same_node", "two_nodes"])
def test_buffers_in_host_and_device_memory(ibisco_like, placement, buffers):
    script = ibisco_like.one("OsuDeviceBandwidthMatrix", placement=placement, buffers=buffers, transport="default")
    assert all(line.endswith(f"-d cuda {buffers.replace('_', ' ')}") for line in script.srun)


@pytest.mark.parametrize(
    ("placement", "nodes", "transports"),
    [
        ("same_node", 1, {"default", "cuda_ipc_off"}),
        ("gpus_other_socket", 1, {"default", "cuda_ipc_off"}),
        ("two_nodes", 2, {"default", "rdma_off"}),
    ],
)
def test_both_ways_between_two_gpus(ibisco_like, placement, nodes, transports):
    scripts = ibisco_like.find("OsuDeviceBidirectionalBandwidth", placement=placement)
    assert {script.parameters["transport"] for script in scripts} == transports
    for script in scripts:
        assert {f"--nodes={nodes}", "--ntasks=2", "--exclusive"} <= script.sbatch
        measuring = [line for line in script.srun if "placement.txt" not in line]
        assert len(measuring) == 3
        assert all(re.fullmatch(r"srun .*osu_bibw .* -c .* -d cuda D D", line) for line in measuring)


@pytest.mark.parametrize(("scale", "nodes"), [("one_node", 1), ("two_nodes", 2)])
def test_message_rate_of_all_gpus(ibisco_like, scale, nodes):
    script = ibisco_like.one("OsuDeviceMessageRate", scale=scale)
    assert {
        f"--nodes={nodes}", f"--ntasks={4 * nodes}", "--ntasks-per-node=4", "--cpus-per-task=12", "--gres=gpu:4",
    } <= script.sbatch  # fmt: skip
    assert script.srun == ["srun --cpus-per-task=12 osu_mbw_mr -i 10 -x 2 -c -m 8:1048576 -d cuda D D"] * 3
    assert not {name for name in script.exports if "UCX" in name}


@pytest.mark.parametrize(
    ("ranks", "nodes", "per_node"),
    [("2_ranks", 1, 2), ("3_ranks", 1, 3), ("4_ranks", 1, 4), ("2_nodes", 2, 1), ("3_nodes", 3, 1), ("4_nodes", 4, 1)],
)
@pytest.mark.parametrize(
    ("program", "messages"),
    [("osu_bcast", "1:1048576"), ("osu_gather", "1:1048576"), ("osu_reduce", "4:1048576 -T mpi_float")],
)
def test_collectives_on_few_gpus(ibisco_like, program, messages, ranks, nodes, per_node):
    script = ibisco_like.one("OsuDeviceCollective", ranks=ranks, program=program, transport="default")
    assert {
        f"--nodes={nodes}", f"--ntasks={nodes * per_node}", f"--ntasks-per-node={per_node}", f"--gres=gpu:{per_node}",
    } <= script.sbatch  # fmt: skip
    assert script.srun == [f"srun {program} -i 50 -x 5 -c -m {messages} -d cuda"] * 3


@pytest.mark.parametrize(("ranks", "path"), [("2_ranks", "cuda_ipc_off"), ("2_nodes", "rdma_off")])
def test_transports_of_collectives(ibisco_like, ranks, path):
    found = ibisco_like.find("OsuDeviceCollective", ranks=ranks, program="osu_reduce")
    assert {script.parameters["transport"] for script in found} == {"default", "gdrcopy_off", path}


def test_gpus_of_both_sockets_are_chosen(ibisco_like):
    script = ibisco_like.one("OsuDeviceBandwidth", placement="gpus_other_socket")
    assert {"--nodes=1", "--ntasks=2", "--gres=gpu:4"} <= script.sbatch
    launch = "srun --cpu-bind=map_cpu:0,24 env CUDA_VISIBLE_DEVICES=0,2 "
    assert all(line.startswith(launch) for line in script.srun)


def test_all_gpus_of_all_nodes_are_counted(ibisco_like):
    assert {"--nodes=32", "--ntasks=32", "--gres=gpu:4"} <= ibisco_like.one("GpuInventory").sbatch


def test_every_gpu_meets_every_gpu_of_the_neighbours(ibisco_like):
    script = ibisco_like.one("GpuPairs")
    assert {"--nodes=32", "--ntasks=32", "--gres=gpu:4"} <= script.sbatch
    pairs = [re.search(r" --gpus (\d) (\d)$", line).groups() for line in script.srun]
    assert sorted(pairs) == sorted(2 * [(str(g), str(h)) for g in range(4) for h in range(4)])


def test_openfoam_of_spack_has_its_settings(ibisco_like):
    script = ibisco_like.one("OpenFoam", series="strong")
    assert script.environ == "openfoam"
    assert re.search(r"^\. \S+/ibisco-like/openfoam/view/etc/bashrc \|\| true$", script.text, re.MULTILINE)


@pytest.mark.parametrize("check", ["GpuInventory", "PartitionHealth"])
def test_nodes_are_looked_at_in_the_first_environment_only(ibisco_like, check):
    assert ibisco_like.one(check).environ == "system"
    assert len({script.environ for script in ibisco_like.find("PartitionState")}) == 8


def test_a_variable_of_the_first_node_does_not_reach_the_others(ibisco_like):
    facts = [line for line in ibisco_like.one("PartitionHealth").srun if "kappa-node" in line]
    assert len(facts) == 1 and re.match(r"srun --export=HOME,LD_LIBRARY_PATH,PATH sh /\S+/kappa-node facts ", facts[0])


@pytest.mark.parametrize(("placement", "cpus"), [("same_numa", "0,1"), ("other_socket", "0,24")])
def test_ranks_are_bound(ibisco_like, placement, cpus):
    script = ibisco_like.one("OsuBandwidth", placement=placement)
    assert all(line.startswith(f"srun --cpu-bind=map_cpu:{cpus} ") for line in script.srun)


STRIPING = {
    "lustre_hdd": ("/lustre/home/kappa", "lfs setstripe --stripe-count 1 --stripe-size 1048576"),
    "lustre_ssd": ("/lustre/scratch/kappa", "lfs setstripe --stripe-count -1 --stripe-size 4194304"),
}


@pytest.mark.parametrize("target", STRIPING)
@pytest.mark.parametrize("check", ["IorNode", "IorEasy", "IorHard", "Mdtest", "Iozone", "BtIo", "EmtIo", "Fio"])
def test_striping_is_set_and_read_back_before_the_benchmark(ibisco_like, check, target):
    path, setstripe = STRIPING[target]
    scripts = ibisco_like.find(check, target=target)
    assert scripts
    for script in scripts:
        steps = [
            f"/storage_folder.sh {path}\n",
            f'{setstripe} "$folder"\n',
            'lfs getstripe --directory "$folder" > striping.txt\n',
            "\nsrun ",
        ]
        places = [script.text.index(step) for step in steps]
        assert places == sorted(places), script.path
        assert script.text.count("lfs ") == 2
        assert '"$folder' in script.srun[0] or "$folder" in script.text[places[-1] :]


def test_local_nvme_has_no_striping_and_one_node(ibisco_like):
    scripts = [script for script in ibisco_like.scripts if script.parameters.get("target") == "nvme"]
    checks = {"IorNode", "Mdtest", "Iozone", "IozoneBuffered", "BtIo", "BtIoShare", "EmtIoNode", "Fio"}
    assert {script.check for script in scripts} == checks | {"EmtIoEachNode"}
    for script in scripts:
        if script.check == "EmtIoEachNode":
            continue
        assert "--nodes=1" in script.sbatch
        assert "/storage_folder.sh /nvme\n" in script.text
        assert "lfs" not in script.text


def test_waveforms_of_every_node_go_to_its_own_disk_and_are_read_there(ibisco_like):
    script = ibisco_like.one("EmtIoEachNode", target="nvme")
    assert {"--nodes=32", "--ntasks=32", "--ntasks-per-node=1"} <= script.sbatch
    assert "/node_folder.sh /nvme\n" in script.text
    assert len(script.srun) == 2
    for number, step in enumerate(script.srun, 1):
        for word in ("$folder/waves.cff", "--waveform-files=rank", "--verify-waveforms=own", f"result-{number}.json"):
            assert word in step
    shared = ibisco_like.one("EmtIoEachNode", target="lustre_ssd")
    assert "--verify-waveforms=other" in shared.srun[0] and "/storage_folder.sh" in shared.text


@pytest.mark.parametrize("files", ["shared", "rank"])
def test_waveforms_of_all_ranks_are_of_a_network_that_has_work_for_them(ibisco_like, files):
    script = ibisco_like.one("EmtIo", target="lustre_ssd", scale="whole_partition", files=files)
    assert "--ntasks=1536" in script.sbatch
    assert "generate hq --network-only --scale 48 " in script.text
    # 4 GiB of records of all channels.
    bytes_of_steps = 4 * CHANNELS_OF_COPY * 48 * int(re.search(r"--steps=(\d+)", script.srun[0])[1])
    assert 0.99 * 2**32 < bytes_of_steps <= 2**32
    assert f"--waveform-buffer={4 * 1536}" in script.srun[0] and f"--waveform-files={files}" in script.srun[0]


@pytest.mark.parametrize(("stripes", "count"), [("1", "1"), ("4", "4"), ("all", "-1")])
def test_a_shared_file_of_waveforms_has_the_stripes_of_its_case(ibisco_like, stripes, count):
    script = ibisco_like.one("EmtIoStriped", target="lustre_hdd", stripes=stripes)
    assert f"lfs setstripe --stripe-count {count} --stripe-size 1048576" in script.text
    assert "--waveform-files=shared" in script.srun[0] and "--waveform-io=collective" in script.srun[0]


@pytest.mark.parametrize("target", STRIPING)
def test_btio_has_the_class_of_its_scale_and_a_square_number_of_ranks(ibisco_like, target):
    classes = {"one_node": "C", "two_nodes": "C", "whole_partition": "D"}
    scripts = ibisco_like.find("BtIo", target=target)
    assert {script.parameters["scale"] for script in scripts} == set(classes)
    for script in scripts:
        ranks = next(int(option.split("=")[1]) for option in script.sbatch if option.startswith("--ntasks="))
        assert math.isqrt(ranks) ** 2 == ranks
        program = f"bt.{classes[script.parameters['scale']]}.x.mpi_io_{script.parameters['subtype']}"
        assert script.srun == [f'srun env --chdir="$folder" {program} > btio-{run}.txt' for run in (1, 2, 3)]


@pytest.mark.parametrize("target", STRIPING)
def test_btio_over_nodes_has_a_rank_on_each_of_squares_of_them(ibisco_like, target):
    for script in ibisco_like.find("BtIoSeries", target=target):
        assert {"--nodes=25", "--ntasks=25", "--ntasks-per-node=1"} <= script.sbatch
        program = f'env --chdir="$folder" bt.D.x.mpi_io_{script.parameters["subtype"]}'
        assert script.srun == [
            f"srun --nodes={nodes} --ntasks={nodes} --ntasks-per-node=1 {program} > {nodes}-nodes-1.txt"
            for nodes in (9, 16, 25)
        ]


def test_ior_runs_before_each_btio_with_its_sizes(ibisco_like):
    script = ibisco_like.one("BtIoShare", target="lustre_ssd", scale="whole_partition", subtype="simple")
    steps = [line.split()[1] for line in script.srun]
    assert steps == ["ior", "env"] * 3
    # Class B on 1024 ranks: 102^3 points of 40 bytes at each of 40 outputs.
    assert all(" -a MPIIO -w -t 41448 -b 41448 -s 40 " in line for line in script.srun[::2])


@pytest.mark.parametrize(("target", "osts"), [("lustre_hdd", 8), ("lustre_ssd", 16)])
def test_each_object_storage_target_is_written_by_a_few_nodes(ibisco_like, target, osts):
    script = ibisco_like.one("OstSweep", target=target)
    assert {"--nodes=8", "--ntasks-per-node=1"} <= script.sbatch
    step = f"; do srun {script.path.parent}/ost_on_node.sh "
    plan, sweep = (script.text.index(part) for part in ('./ost_rounds.sh "$folder" 3', step))
    assert plan < sweep
    case = next(
        case for run in load_session(ibisco_like.report).runs for case in run
        if case.check_class == "OstSweep" and case.parameters["target"] == target
    )  # fmt: skip
    assert case.stated_bytes == osts * 3 * 2 << 30
    assert case.stated_s == 4 + 3 * osts / 4 * 11


@pytest.mark.parametrize(("scale", "nodes"), [("one_node", 1), ("two_nodes", 2), ("whole_partition", 32)])
def test_hpl_on_gpus_runs_in_the_container(ibisco_like, scale, nodes):
    script = ibisco_like.one("HplNvidia", scale=scale)
    assert {
        f"--nodes={nodes}", f"--ntasks={4 * nodes}", "--ntasks-per-node=4", "--cpus-per-task=12", "--gres=gpu:4",
    } <= script.sbatch  # fmt: skip
    (command,) = script.srun
    assert command.startswith("srun --cpus-per-task=12 apptainer exec ")
    assert re.search(r" --nv .*/hpc-benchmarks\.sif /workspace/hpl\.sh ", command)
    assert command.endswith(" --gpu-affinity 0:1:2:3")
    assert ("--no-multinode" in command) == (nodes == 1)


@pytest.mark.parametrize(("scale", "series"), [("two_nodes", [1, 2]), ("whole_partition", [1, 2, 4, 8, 16, 32])])
def test_hpl_on_gpus_runs_on_one_node_and_then_on_more(ibisco_like, scale, series):
    script = ibisco_like.one("HplNvidiaScaling", scale=scale)
    most = series[-1]
    assert {f"--nodes={most}", f"--ntasks={4 * most}", "--ntasks-per-node=4", "--gres=gpu:4"} <= script.sbatch
    *fewer, most_prepared, last = re.findall(r"^(?:cp|srun) .*$", script.series, re.MULTILINE)
    steps = [line.split("; ") for line in fewer] + [[most_prepared, last]]
    assert [prepared for prepared, _ in steps] == [f"cp {nodes}-nodes.in HPL.dat" for nodes in series]
    for nodes, (_, command) in zip(series, steps, strict=True):
        step = f"--nodes={nodes} --ntasks={4 * nodes} --ntasks-per-node=4 " if nodes != most else ""
        assert command.startswith(f"srun --cpus-per-task=12 {step}apptainer exec ")
        assert command.count("/rfm_workdir") == len([" -B", " --pwd", " --dat"])
        assert ("--no-multinode" in command) == (nodes == 1)
        assert command.endswith(" --gpu-affinity 0:1:2:3" + (f" > {nodes}-nodes.out" if nodes != most else ""))
        lines = (script.path.parent / f"{nodes}-nodes.in").read_text(encoding="utf-8").splitlines()
        # The smallest and the largest fill a twentieth and eight tenths of 4 x 32 GiB.
        assert lines[5].split() == ["28672", "58368", "116736", "Ns"]
        rows, columns = (int(line.split()[0]) for line in lines[10:12])
        assert rows * columns == 4 * nodes


def test_stream_has_the_whole_node(ibisco_like):
    script = ibisco_like.one("Stream")
    assert {"--nodes=1", "--ntasks=1", "--cpus-per-task=48"} <= script.sbatch
    assert script.srun == ["srun --cpus-per-task=48 stream"]
    assert script.exports["OMP_NUM_THREADS"] == "48"


@pytest.mark.parametrize(
    ("check", "parameters"),
    [
        ("OsuDeviceBandwidth", {"placement": "same_node"}),
        ("OsuDeviceBandwidth", {"placement": "two_nodes"}),
        ("OsuDeviceLatency", {"placement": "same_node"}),
        ("OsuDeviceLatency", {"placement": "two_nodes"}),
        ("OsuBandwidth", {"placement": "two_nodes"}),
        ("BtIo", {"target": "lustre_ssd", "scale": "whole_partition", "subtype": "simple"}),
        ("BtIo", {"target": "lustre_hdd", "scale": "whole_partition", "subtype": "simple"}),
        ("EmtScaling", {"scale": "two_nodes", "exchange": "step"}),
    ],
)
def test_one_case_answers_what_the_study_reports(ibisco_like, check, parameters):
    ibisco_like.one(check, **parameters)


def test_the_contract_says_with_which_class_and_on_how_many_ranks_bt_io_runs(ibisco_like):
    contract = load_contract(SITES / "ibisco-like/acceptance.yaml")
    clauses = [clause for clause in contract.clauses if clause.selector.check == "BtIo"]
    assert clauses
    for clause in clauses:
        script = ibisco_like.one("BtIo", **dict(clause.selector.parameters))
        problem_class = re.search(r"bt\.(.)\.x", script.srun[0])[1]
        ranks = next(option.split("=")[1] for option in script.sbatch if option.startswith("--ntasks="))
        assert f"class {problem_class} on {ranks} ranks" in clause.text
