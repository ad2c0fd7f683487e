"""Job scripts for 16 nodes with two CPUs of 20 cores: binding, NUMA domains, switches, shares of nodes."""

import re

import pytest


@pytest.mark.parametrize(
    ("placement", "cpus"), [("same_numa", "0,1"), ("other_numa", "0,10"), ("other_socket", "0,20")]
)
def test_ranks_are_bound_to_numa_domains(cpu_infiniband, placement, cpus):
    script = cpu_infiniband.one("OsuLatency", placement=placement)
    assert {"--nodes=1", "--ntasks=2", "--ntasks-per-node=2", "--exclusive"} <= script.sbatch
    first, *benchmark = script.srun
    program = script.path.parent / "place_of_rank.sh"
    assert first == f"srun --cpu-bind=map_cpu:{cpus} bash {program} > placement.txt"
    assert benchmark == [f"srun --cpu-bind=map_cpu:{cpus} osu_latency -i 200 -x 20 -c -m 1:1048576"] * 3


@pytest.mark.parametrize(
    ("placement", "option"), [("same_switch", "--switches=1"), ("other_switch", "--nodelist=cn08,cn09")]
)
def test_switches_are_asked_of_slurm(cpu_infiniband, placement, option):
    script = cpu_infiniband.one("OsuBandwidth", placement=placement)
    assert {f"{option} --no-kill", "--nodes=2", "--ntasks=2", "--ntasks-per-node=1"} <= script.sbatch
    assert script.srun[0].endswith("> placement.txt")
    assert "\nscontrol show topology > topology.txt 2> /dev/null || true\n" in script.text


def test_collectives_take_all_cores_of_all_nodes(cpu_infiniband):
    script = cpu_infiniband.one("OsuAllreduce", scale="whole_partition")
    assert {"--nodes=16", "--ntasks=640", "--ntasks-per-node=40"} <= script.sbatch


def test_each_node_sweeps_have_a_task_on_every_node(cpu_infiniband):
    assert {"--nodes=16", "--ntasks=16"} <= cpu_infiniband.one("PairSweep").sbatch
    script = cpu_infiniband.one("NodeSweep")
    assert {"--nodes=16", "--ntasks=16", "--cpus-per-task=40"} <= script.sbatch
    assert script.exports["SRUN_CPUS_PER_TASK"] == "40"
    for check in ("NodeSweep", "EmtBits"):
        assert "--hint=nomultithread" in cpu_infiniband.one(check).sbatch


def test_hpl_fills_the_memory_on_a_square_grid(cpu_infiniband):
    script = cpu_infiniband.one("Hpl", scale="whole_partition")
    assert {"--nodes=16", "--ntasks=640"} <= script.sbatch
    assert script.srun == ["srun xhpl"]
    dat = (script.path.parent / "HPL.dat").read_text(encoding="utf-8")
    order, rows, columns = (int(re.search(rf"^(\d+) +{name}$", dat, re.MULTILINE)[1]) for name in ("Ns", "Ps", "Qs"))
    assert (rows, columns) == (20, 32)
    assert 0.79 < 8 * order**2 / (16 * 192 * 2**30) <= 0.8


def test_hpc_challenge_runs_from_the_environment_that_has_it_beside_hpl(cpu_infiniband):
    script = cpu_infiniband.one("Hpcc", scale="one_node")
    assert script.environ == "mpi-io"
    assert script.srun == ["srun hpcc"]
    assert (script.path.parent / "hpccinf.txt").is_file()


def test_stream_of_every_numa_domain_on_every_other(cpu_infiniband):
    script = cpu_infiniband.one("StreamNuma")
    assert script.srun == [
        f"srun --cpus-per-task=40 numactl --cpunodebind={cores} --membind={memory} stream"
        f" > cores-{cores}-memory-{memory}.txt"
        for cores in range(4)
        for memory in range(4)
    ]
    assert script.exports["OMP_NUM_THREADS"] == "10"


def test_emt_runs_on_one_core_up_to_all(cpu_infiniband):
    tasks = {
        scale: cpu_infiniband.one("EmtScaling", scale=scale, exchange="step").sbatch
        for scale in ("one_core", "one_node", "two_nodes", "whole_partition")
    }
    assert [next(option for option in options if option.startswith("--ntasks=")) for options in tasks.values()] == [
        "--ntasks=1",
        "--ntasks=40",
        "--ntasks=80",
        "--ntasks=640",
    ]


def test_no_gpu_and_no_lustre_is_asked_for(cpu_infiniband):
    of_ucx = r"UCX_(?!LOG_LEVEL|(RC|DC)_MLX5|RNDV_SCHEME|TLS=ud)"
    for script in cpu_infiniband.scripts:
        assert not re.search(rf"\bgres|gpus|-d cuda|{of_ucx}|\blfs\b", script.text), script.path


def test_node_local_disk_is_used_from_one_node_only(cpu_infiniband):
    for script in cpu_infiniband.scripts:
        # Every node writes to its own, and each has a folder there.
        if script.parameters.get("target") == "scratch" and script.check != "EmtIoEachNode":
            assert "--nodes=1" in script.sbatch
            assert "/storage_folder.sh /scratch\n" in script.text
    shared = cpu_infiniband.one("IorEasy", target="shared", scale="whole_partition", pattern="collective")
    assert "--nodes=16" in shared.sbatch


def test_a_setting_is_set_for_every_second_pair_of_steps(cpu_infiniband):
    script = cpu_infiniband.one("ShortQueues")
    assert {"--nodes=2", "--ntasks=2", "--ntasks-per-node=1"} <= script.sbatch
    assert ["UCX_RC_MLX5_TX_QUEUE_LEN=16" in step for step in script.srun] == [False, False, True, True] * 3
    assert all("--bandwidth-bytes=" in step for step in script.srun)


def test_mpi_is_asked_which_lanes_it_takes_with_datagrams(cpu_infiniband):
    lines = cpu_infiniband.one("UnreliableDatagrams").srun
    assert ["UCX_TLS=ud_mlx5,sm,self" in line and "UCX_LOG_LEVEL=info" in line for line in lines[:2]] == [False, True]
    assert lines[1].endswith(" > lanes-under-setting.txt 2>&1")
