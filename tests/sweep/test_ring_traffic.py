import copy
import os
import pathlib
import subprocess

import pytest

from reframe_checks.parsers import transport
from reframe_checks.parsers.text import ParseError

RESULT = "ring_traffic.json"
OUTPUT = f"--output={RESULT}"


@pytest.fixture(scope="module")
def program(build):
    return build("ring-traffic")


def test_every_node_sends_around(program, tmp_path):
    program(OUTPUT, "--mib=2", ranks=3, cwd=tmp_path)
    traffic = transport.ring_traffic((tmp_path / RESULT).read_text(), expect_nodes=3)
    assert traffic.payload_bytes == 2 * (2 << 20)
    assert all(speed > 0 for speed in traffic.speeds_mb_s.values())
    assert list(traffic.sent_bytes) == list(traffic.received_bytes) == ["node0", "node1", "node2"]
    # Within one machine nothing goes over a network.
    assert all("lo" not in own for own in traffic.sent_bytes.values())


@pytest.mark.skipif(os.getuid() != 0, reason="not provided here: a /sys/class/net of its own, which only root mounts")
def test_ip_over_infiniband_is_told_by_the_kind_of_the_interface(program, tmp_path):
    for name, kind in (("eth0", 1), ("ib0", 32)):
        (tmp_path / "net" / name / "statistics").mkdir(parents=True)
        (tmp_path / "net" / name / "type").write_text(f"{kind}\n")
    there = copy.copy(program)
    there.path = tmp_path / "with_ib0"
    mounted = f'mount --bind "{tmp_path}/net" /sys/class/net && exec "$0" "$@"'
    there.path.write_text(f"#!/bin/sh\nexec unshare -m sh -c '{mounted}' {program.path} \"$@\"\n")
    there.path.chmod(0o755)
    there(OUTPUT, "--mib=1", ranks=2, cwd=tmp_path)
    traffic = transport.ring_traffic((tmp_path / RESULT).read_text(), expect_nodes=2)
    assert traffic.ip_over_infiniband == {"ib0"}
    assert set(traffic.sent_bytes["node1"]) >= {"eth0", "ib0"}


@pytest.fixture
def two_gpus(tmp_path, monkeypatch):
    """A driver of CUDA on this machine, which has two GPUs."""
    source = pathlib.Path(__file__).parent / "memory_as_cuda.c"
    subprocess.run(["cc", "-shared", "-fPIC", "-o", tmp_path / "libcuda.so.1", source], check=True)
    monkeypatch.setenv("LD_LIBRARY_PATH", str(tmp_path))


@pytest.mark.usefixtures("two_gpus")
def test_messages_lie_on_the_gpu_that_a_node_is_told(program, tmp_path):
    program(OUTPUT, "--mib=2", "--gpus", "1", "0", ranks=3, cwd=tmp_path)
    text = (tmp_path / RESULT).read_text()
    traffic = transport.ring_traffic(text, expect_nodes=3, expect_gpus=(1, 0))
    first, second = transport.GpuPlace(0, "0000:3b:00.0"), transport.GpuPlace(1, "0000:3c:00.0")
    assert traffic.gpus == {"node0": second, "node1": first, "node2": second}
    assert [(one, other) for one, other, rate in traffic.links_mb_s if rate > 0] == [
        ("node0", "node1"), ("node1", "node2"), ("node2", "node0"),
    ]  # fmt: skip
    for wrong in ((0, 1), None):
        with pytest.raises(ParseError):
            transport.ring_traffic(text, expect_nodes=3, expect_gpus=wrong)


@pytest.mark.usefixtures("two_gpus")
def test_a_gpu_that_is_not_there_is_told(program, tmp_path):
    done = program("--gpus", "0", "2", ranks=2, cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert "cuDeviceGet of the CUDA driver: error 101" in done.stderr


def test_a_node_without_a_driver_is_told(program, tmp_path):
    done = program("--gpus", "0", "1", ranks=2, cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert "no CUDA driver on this node" in done.stderr


def test_one_rank_is_refused(program, tmp_path):
    done = program(ranks=1, cwd=tmp_path, ok=False)
    assert done.returncode != 0
    assert "a single rank cannot send" in done.stderr
