"""Job scripts of the compute and NCCL checks, on a site that has GPUs and NUMA domains: written, not run."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S

REPOSITORY = Path(__file__).parents[2]


@pytest.fixture(scope="module")
def stage(tmp_path_factory):
    """``stage("Check", nodes)``: the stage folder of the case of a check on so many nodes."""
    root = tmp_path_factory.mktemp("paper")
    checks = REPOSITORY / "reframe_checks"
    done = subprocess.run(
        [
            Path(sys.executable).with_name("reframe"), "-C", REPOSITORY / "tests/data/sites/compute.py",
            "-c", checks / "compute", "-c", checks / "network/nccl_tests.py",
            "--dry-run", "--prefix", root, "--keep-stage-files", "-x", "NodeSweep",
        ],
        cwd=root, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert "WARNING" not in done.stdout

    def find(check, nodes):
        scripts = root.rglob(f"{check}_*/rfm_job.sh")
        (found,) = [script.parent for script in scripts if f"#SBATCH --nodes={nodes}\n" in script.read_text()]
        return found

    return find


@pytest.fixture(scope="module")
def commands(stage):
    """``commands("Check", nodes)``: what the job script, and the series that it sources, do for the check."""

    def of(check, nodes):
        text = (stage(check, nodes) / "rfm_job.sh").read_text()
        *lines, look = text[text.index("/record_provenance.sh ") :].splitlines()[1:]
        assert "node_watch.sh ]] || srun " in look
        if lines[0] == ". ./series.sh":
            lines[:1] = (stage(check, nodes) / "series.sh").read_text().splitlines()
        return lines

    return of


def test_hpl_runs_on_one_node_and_then_on_more(commands, stage):
    assert commands("HplScaling", 6) == [
        *(
            f"cp {nodes}-nodes.in HPL.dat; srun --nodes={nodes} --ntasks={16 * nodes} --ntasks-per-node=16 xhpl"
            f" > {nodes}-nodes.out"
            for nodes in (1, 2, 4)
        ),
        "cp 6-nodes.in HPL.dat",
        "srun xhpl",
    ]
    inputs = [(stage("HplScaling", 6) / f"{nodes}-nodes.in").read_text().splitlines() for nodes in (1, 6)]
    assert [lines[5] for lines in inputs] == ["41280 82752 165696 Ns"] * 2
    assert [[int(line.split()[0]) for line in lines[10:12]] for lines in inputs] == [[4, 4], [8, 12]]


def test_hpl_on_gpus_runs_in_the_container(commands, stage):
    (command,) = commands("HplNvidia", 2)
    folder = stage("HplNvidia", 2)
    assert command == (
        f'srun --cpus-per-task=4 apptainer exec -B"{folder}:/rfm_workdir" --nv --pwd /rfm_workdir --no-home '
        "/images/hpc.sif /workspace/hpl.sh --dat /rfm_workdir/HPL.dat --gpu-affinity 0:1:2:3"
    )
    assert "--dat /rfm_workdir/HPL.dat --no-multinode --gpu-affinity" in commands("HplNvidia", 1)[0]
    script = (folder / "rfm_job.sh").read_text()
    assert "#SBATCH --ntasks=8\n" in script
    assert "#SBATCH --gres=gpu:4\n" in script
    lines = (folder / "HPL.dat").read_text().splitlines()
    assert [int(lines[number].split()[0]) for number in (5, 7, 10, 11)] == [164864, 1024, 2, 4]


def test_stream_pairs_each_domain_with_each(commands, stage):
    assert commands("StreamNuma", 1) == [
        f"srun --cpus-per-task=16 numactl --cpunodebind={cores} --membind={memory} stream"
        f" > cores-{cores}-memory-{memory}.txt"
        for cores in (0, 1)
        for memory in (0, 1)
    ]
    assert "export OMP_NUM_THREADS=8\n" in (stage("StreamNuma", 1) / "rfm_job.sh").read_text()


def test_babelstream_measures_one_gpu_after_the_other(commands):
    assert commands("BabelStream", 1) == [
        f"srun --cpus-per-task=16 cuda-stream --device {gpu} --arraysize 67108864" for gpu in range(4)
    ]


@pytest.mark.parametrize(
    ("check", "tests"),
    [
        ("NvBandwidthHost", ["host_to_device_memcpy_ce", "device_to_host_memcpy_ce"]),
        ("NvBandwidthPeers", ["device_to_device_memcpy_read_ce", "device_to_device_memcpy_write_ce"]),
    ],
)
def test_nvbandwidth_sees_every_gpu_of_the_node(commands, check, tests):
    assert commands(check, 1) == [f"srun --cpus-per-task=16 nvbandwidth -b 512 -t {tests[0]} -t {tests[1]}"]


def test_nccl_has_a_rank_for_each_gpu_and_checks_the_data(commands, stage):
    command = "srun --cpus-per-task=4 all_reduce_perf -b 1048576 -e 1073741824 -f 2 -g 1 -c 1 -n 20 -w 5"
    assert commands("NcclAllReduce", 6) == [command]
    script = (stage("NcclAllReduce", 6) / "rfm_job.sh").read_text()
    assert "#SBATCH --ntasks=24\n" in script
    assert "#SBATCH --ntasks-per-node=4\n" in script
