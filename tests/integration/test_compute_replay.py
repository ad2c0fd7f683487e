"""The checks that need a GPU or several NUMA domains, on recorded output: programs that print it, run by ReFrame."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.waiting import PATIENCE_S

REPOSITORY = Path(__file__).parents[2]
DATA = REPOSITORY / "tests/data"
CHECKS = ("BabelStream", "HplNvidia", "NcclAllReduce", "NvBandwidthHost", "NvBandwidthPeers", "StreamNuma")


def replay(folder, program, script):
    path = folder / program
    path.write_text(f"#!/bin/bash\n{script}\n")
    path.chmod(0o755)


@pytest.fixture(scope="module")
def cases(tmp_path_factory):
    """The report's entry of each case, by class and partition."""
    root = tmp_path_factory.mktemp("replay")
    replay(root, "cuda-stream", f"cat {DATA}/babelstream/cuda_a100.txt")
    replay(root, "srun", 'while [[ $1 == -* ]]; do shift; done; exec "$@"')
    # On one node alone, what half of the GPUs would print: twice the time, and as much for each GPU.
    half = "s/2     4        52.88       3.370e+05/2     2       105.76       1.685e+05/"
    replay(
        root,
        "apptainer",
        f"[[ $* == *--no-multinode* ]] && half='{half}'; sed \"$half\" {DATA}/hpl/nvidia_eight_gpus.txt",
    )
    replay(root, "all_reduce_perf", f"cat {DATA}/nccl/all_reduce_version_2_18.txt")
    replay(root, "numactl", f"cat {DATA}/stream/two_threads.txt")
    replay(root, "stream", "false")
    # The version, and then the tests that were asked for.
    replay(
        root,
        "nvbandwidth",
        f"""awk -v asked="$*" '
        /^Running/ {{ wanted = index(asked, substr($2, 1, length($2) - 1)) }} NR == 1 || wanted
    ' {DATA}/nvbandwidth/seven_gpus.txt""",
    )
    report = root / "report.json"
    done = subprocess.run(
        [
            Path(sys.executable).with_name("reframe"), "-C", DATA / "sites/replay.py",
            "-c", REPOSITORY / "reframe_checks", "-R", "-r",
            "--prefix", root, f"--report-file={report}", "-n", "|".join(CHECKS),
        ],
        env={**os.environ, "PATH": f"{root}:{os.environ['PATH']}"},
        cwd=root, capture_output=True, text=True, timeout=2 * PATIENCE_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(report.read_text())["runs"][-1]["testcases"]
    return {case["check_class"]: case for case in found}


def metrics(case):
    return {key.rsplit(":", 1)[1]: value for key, (value, *_) in case["perfvalues"].items()}


def test_babelstream(cases):
    assert metrics(cases["BabelStream"]) == {"slowest_gpu_triad": 1724827.354, "spread": 0}
    assert cases["BabelStream"]["hint"].startswith("GPU 0 (NVIDIA A100-SXM4-80GB) is the slowest;")


def test_hpl_on_gpus(cases):
    found = metrics(cases["HplNvidia"])
    assert found["gflops"] == 337000
    assert found["fraction_of_peak"] == pytest.approx(337000 / (2 * (4 * 60000 + 4 * 50)))


def test_hpl_on_gpus_over_nodes(cases):
    case = cases["HplNvidiaScaling"]
    peak_of_node = 4 * 60000 + 4 * 50
    found = metrics(case)
    assert (found["time"], found["speedup"], found["gflops"]) == (pytest.approx(52.88, abs=0.005), 2, 337000)
    assert found["fraction_of_peak"] == pytest.approx(337000 / (2 * peak_of_node))
    curves = {name: curve["points"] for name, curve in case["curves"].items()}
    assert curves == {
        "T(P, 299008)": [[1, pytest.approx(105.76, abs=0.01)], [2, pytest.approx(52.88, abs=0.005)]],
        "S(P, 299008)": [[1, 1], [2, 2]],
        "SP(1, N)": [[299008, 168500]],
        "SPF(1, N)": [[299008, pytest.approx(168500 / peak_of_node)]],
        "SP(2, N)": [[299008, 337000]],
        "SPF(2, N)": [[299008, pytest.approx(337000 / (2 * peak_of_node))]],
    }


def test_nccl(cases):
    assert metrics(cases["NcclAllReduce"]) == {"bus_bandwidth": 2.30}
    curve = cases["NcclAllReduce"]["curves"]["bus_bandwidth"]
    assert curve["points"][0] == [1 << 20, 0.24]
    assert curve["gated"] == {str(1 << 27): "bus_bandwidth"}


def test_nvbandwidth(cases):
    assert metrics(cases["NvBandwidthHost"]) == {"host_to_device": 55.58, "device_to_host": 56.92}
    assert metrics(cases["NvBandwidthPeers"]) == {"peer_read": 764.16, "peer_write": 774.15}
    assert len(cases["NvBandwidthPeers"]["heat_maps"]["device_to_device_memcpy_read_ce"]["points"]) == 42


def test_stream_on_numa_domains(cases):
    found = metrics(cases["StreamNuma"])
    assert found["remote_share"] == 1
    assert found["local_triad"] == found["remote_triad"] > 0
    assert len(cases["StreamNuma"]["heat_maps"]["triad"]["points"]) == 4
