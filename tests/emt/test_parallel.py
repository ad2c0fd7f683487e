"""Results do not depend on how a run is spread; failures stop it everywhere."""

from __future__ import annotations

import json
import os
import signal
import subprocess
from pathlib import Path

import psutil
import pytest

from tests.waiting import PATIENCE_S, until

from .conftest import MPI_ENVIRONMENT, CaseWriter, Emt

STEPS = "3000"


@pytest.fixture(scope="module")
def checksum(emt: Emt, hq: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    tmp = tmp_path_factory.mktemp("serial")
    value: str = emt.run(hq, tmp, "--steps", STEPS, "--no-replay")["checksum"]
    return value


@pytest.mark.parametrize("transport", ["message", "shared", "auto"])
@pytest.mark.parametrize("exchange", ["step", "slack"])
@pytest.mark.parametrize("ranks", [1, 2, 4])
def test_same_bits(
    emt: Emt, hq: Path, checksum: str, tmp_path: Path, *, ranks: int, exchange: str, transport: str
) -> None:
    result = emt.run(
        hq, tmp_path, "--steps", STEPS, "--no-replay", "--exchange", exchange, "--transport", transport, ranks=ranks
    )
    assert result["checksum"] == checksum
    assert result["ranks"] == ranks


@pytest.mark.parametrize("isa", ["portable", "avx2", "avx512"])
def test_same_bits_with_every_instruction_set(emt: Emt, hq: Path, checksum: str, tmp_path: Path, isa: str) -> None:
    result = tmp_path / "r.json"
    done = emt("run", hq, "--steps", STEPS, "--no-replay", "--isa", isa, "--result", result, ok=False)
    if done.returncode:
        assert f"no '{isa}' kernels" in done.stderr
    else:
        assert json.loads(result.read_text())["checksum"] == checksum


@pytest.mark.parametrize("seed", [1, 2])
def test_same_bits_with_any_mapping(emt: Emt, hq: Path, checksum: str, tmp_path: Path, seed: int) -> None:
    mapping = tmp_path / "map.json"
    mapping.write_text(json.dumps({"rank_of_task": [(task * 7919 * seed // 5) % 3 for task in range(172)]}))
    result = emt.run(hq, tmp_path, "--steps", STEPS, "--no-replay", "--map", mapping, "--exchange", "slack", ranks=3)
    assert result["checksum"] == checksum
    assert result["map"] == "file"


def test_same_bits_through_faults_and_switching(emt: Emt, hq: Path, tmp_path: Path) -> None:
    case = json.loads(hq.read_text())
    case["elements"] += [
        {"type": "fault", "name": "F1", "bus": "S20", "kind": "ag", "r": 1.0, "start": 0.0102, "stop": 0.06},
        {"type": "fault", "name": "F2", "bus": "S70", "kind": "abcg", "r": 0.5, "start": 0.0201, "stop": 0.08},
    ]
    path = tmp_path / "faulted.json"
    path.write_text(json.dumps(case))
    results = [
        emt.run(path, tmp_path, "--steps", STEPS, "--no-replay", "--exchange", exchange, ranks=ranks)["checksum"]
        for ranks, exchange in ((1, "step"), (2, "step"), (3, "slack"))
    ]
    assert len(set(results)) == 1
    assert results[0] != emt.run(hq, tmp_path, "--steps", STEPS, "--no-replay")["checksum"]


def test_same_bits_of_signals(emt: Emt, hq: Path, tmp_path: Path) -> None:
    """Blocks of many kinds in every third metered task, through a fault that gives some of them half steps."""
    case = json.loads(hq.read_text())
    case["elements"].append({"type": "fault", "name": "F", "bus": "S21", "kind": "ag", "start": 0.0102, "stop": 0.06})
    probes = []
    for i, meter in enumerate([e for e in case["elements"] if e["type"] == "meter" and "buses" in e][::3]):
        squared, name = f"{meter['name']}.a", f"B{i}."
        blocks: list[dict[str, object]] = [
            {"kind": "root", "name": f"{name}rms", "input": squared},
            {"kind": "lag", "name": f"{name}slow", "input": f"{name}rms", "time_constant": 0.01},
            {"kind": "sum", "name": f"{name}error", "inputs": [f"{name}rms", f"{name}out"], "weights": [1, -1]},
            {"kind": "integrator", "name": f"{name}out", "input": f"{name}error", "gain": 200},
            {"kind": "quotient", "name": f"{name}ratio", "inputs": [f"{name}slow", f"{name}out"]},
            {"kind": "washout", "name": f"{name}swing", "input": f"{name}out", "time_constant": 0.02, "high": 1e4},
            {"kind": "comparison", "name": f"{name}low", "input": f"{name}swing", "on": 100, "off": -100},
        ]
        kept = blocks[: 4 + i % 4]
        case["elements"] += [{"type": "block"} | block for block in kept]
        probes += [word for block in kept for word in ("--probe", str(block["name"]))]
    path = tmp_path / "blocks.json"
    path.write_text(json.dumps(case))
    seen = set()
    for ranks, isa in ((1, "auto"), (1, "portable"), (3, "auto")):
        csv = tmp_path / "signals.csv"
        emt("run", path, "--steps", "800", "--no-replay", "--isa", isa, "--csv", csv, *probes, ranks=ranks)
        seen.add(csv.read_bytes())
    assert len(seen) == 1
    rows = [line.split(",") for line in seen.pop().decode().splitlines()]
    assert len(rows[0]) > 120
    assert all(column[100] != column[-1] for column in zip(*rows, strict=True) if column[0].endswith("rms"))


def test_same_bits_whoever_shares_a_batch_with_a_fault(emt: Emt, hq: Path, tmp_path: Path) -> None:
    """A source that is no steady sine is asked for its value at both instants of a step, in every way to take one."""
    case = json.loads(hq.read_text())
    case["elements"] += [
        {"type": "fault", "name": f"F{bus}", "bus": f"S{bus}", "kind": "ag", "r": 1.0, "start": 0.01, "stop": 0.05}
        for bus in (20, 40, 60)
    ]
    case["elements"] += [
        {"type": "current_source", "name": f"I{bus}", "to": f"S{bus}.a", "shape": "sine", "amplitude": 10.0,
         "frequency": 55.0 + bus / 100, "start": 0.001}
        for bus in range(1, 80)
    ]  # fmt: skip
    path = tmp_path / "sources.json"
    path.write_text(json.dumps(case))
    mapping = tmp_path / "map.json"
    mapping.write_text(json.dumps({"rank_of_task": [task % 3 for task in range(172)]}))
    assert (
        emt.run(path, tmp_path, "--steps", STEPS, "--no-replay")["checksum"]
        == emt.run(path, tmp_path, "--steps", STEPS, "--no-replay", ranks=2)["checksum"]
        == emt.run(path, tmp_path, "--steps", STEPS, "--no-replay", "--map", mapping, ranks=3)["checksum"]
    )


def test_slack_sends_fewer_messages(emt: Emt, hq: Path, tmp_path: Path) -> None:
    step, slack = (
        emt.run(hq, tmp_path, "--steps", "200", "--no-replay", "--exchange", mode, "--transport", "message", ranks=2)
        for mode in ("step", "slack")
    )
    assert step["messages_per_step"] == 2
    assert slack["messages_per_step"] <= 2
    assert slack["slack_steps"] >= 1


def test_not_a_number_stops_every_rank(emt: Emt, case_file: CaseWriter) -> None:
    line = {"type": "line", "name": "L", "from": "A", "to": "B", "length": 1e5, "r1": 0, "r0": 0}
    line |= {"l1": 1e-6, "c1": 1e-11, "l0": 3e-6, "c0": 1e-11}
    case = case_file(
        [
            {"type": "source", "name": "E", "bus": "A", "amplitude": 1, "r1": 1, "l1": 0.1},
            line,
            {"type": "resistor", "name": "R", "buses": ["B", "0"], "r": 1},
            {"type": "current_source", "name": "I", "to": "B.a", "shape": "step", "amplitude": 1e308, "start": 0.001},
            {"type": "current_source", "name": "J", "to": "B.a", "shape": "step", "amplitude": 1e308, "start": 0.001},
        ],
        dt=5e-5,
        buses=["A", "B"],
    )
    done = emt("run", case, "--steps", "1000000", ranks=2, ok=False)
    assert done.returncode != 0
    assert done.stderr.count("emt: error:") == 1
    assert "'B.a'" in done.stderr and "t = " in done.stderr


@pytest.mark.parametrize("transport", ["message", "shared"])
def test_a_failure_at_the_very_start_ends_the_run(emt: Emt, case_file: CaseWriter, transport: str) -> None:
    """The task of the switch fails while its rank gets ready, the other rank has nothing to complain about."""
    line = {"type": "line", "name": "L", "from": "B", "to": "C", "length": 1e5, "r1": 0, "l1": 6e-7, "c1": 6.667e-12}
    case = case_file(
        [
            {"type": "source", "name": "E", "bus": "B", "amplitude": 100, "r1": 1, "l1": 0.01},
            line | {"r0": 0, "l0": 6e-7, "c0": 6.667e-12},
            {"type": "resistor", "name": "R", "buses": ["C", "0"], "r": 100},
            {"type": "switch", "name": "S", "nodes": ["B.a", "q"], "closed": True,
             "operations": [{"time": 0, "action": "open"}]},
        ],
        dt=5e-5, start="zero", buses=["B", "C"], nodes=["q"],
    )  # fmt: skip
    done = emt("run", case, "--steps", "10", "--transport", transport, ranks=2, ok=False, timeout_s=60)
    assert done.returncode != 0
    assert done.stderr.count("emt: error:") == 1
    assert "node 'q' lost its path to ground at t = 0 s" in done.stderr


def run_apart(emt: Emt, folder: Path, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
    """`emt run` on two ranks, each in the folder with its number, as on nodes with local disks."""
    words = " ".join(map(str, arguments))
    script = f"cd {folder}/${{OMPI_COMM_WORLD_RANK:-$PMI_RANK}} && exec {emt.program} run {words} --steps 10"
    return subprocess.run(
        ["mpirun", "-n", "2", "bash", "-c", script],
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        env=os.environ | MPI_ENVIRONMENT,
        check=False,
    )


def test_case_files_must_agree(emt: Emt, tmp_path: Path) -> None:
    for rank, seed in enumerate(("1", "2")):
        (tmp_path / str(rank)).mkdir()
        emt("generate", "hq", "--seed", seed, "-o", tmp_path / str(rank) / "case.json")
    done = run_apart(emt, tmp_path, "case.json")
    assert done.returncode != 0
    assert done.stderr.count("emt: error:") == 1
    assert "different" in done.stderr


def test_mappings_must_agree(emt: Emt, hq: Path, tmp_path: Path) -> None:
    for rank in range(2):
        (tmp_path / str(rank)).mkdir()
        (tmp_path / str(rank) / "map.json").write_text(json.dumps({"rank_of_task": [0, rank] + [0, 1] * 85}))
    done = run_apart(emt, tmp_path, hq, "--map", "map.json")
    assert done.returncode != 0
    assert done.stderr.count("emt: error:") == 1
    assert "rank 1" in done.stderr and "map.json" in done.stderr


def works(process: psutil.Process) -> bool:
    try:
        return process.is_running() and process.status() != psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return False


@pytest.mark.parametrize("transport", ["message", "shared"])
def test_a_killed_rank_ends_the_run(emt: Emt, hq: Path, transport: str) -> None:
    run = subprocess.Popen(
        [
            "mpirun",
            "-n",
            "2",
            str(emt.program),
            "run",
            str(hq),
            "--steps",
            "1000000000",
            "--transport",
            transport,
            "--progress",
            "always",
        ],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env=os.environ | MPI_ENVIRONMENT,
    )
    try:
        assert run.stdout is not None
        assert any(line.startswith("step ") for line in run.stdout), "the ranks exchange"
        ranks = [p for p in psutil.Process(run.pid).children(recursive=True) if p.name() == "emt"]
        assert len(ranks) == 2
        ranks[1].send_signal(signal.SIGKILL)
        output, _ = run.communicate(timeout=PATIENCE_S)
        assert run.returncode != 0
        assert "killed" in output.lower() or "signal 9" in output.lower(), output
        until(lambda: not any(map(works, ranks)), "no rank is left")
    finally:
        run.kill()


@pytest.mark.parametrize(
    ("content", "says"),
    [("{}", "rank_of_task"), ('{"rank_of_task": [0]}', "172"), (json.dumps({"rank_of_task": [5] * 172}), "not a rank")],
)
def test_bad_mapping_is_refused(emt: Emt, hq: Path, tmp_path: Path, content: str, says: str) -> None:
    mapping = tmp_path / "map.json"
    mapping.write_text(content)
    done = emt("run", hq, "--map", mapping, ok=False)
    assert done.returncode != 0
    assert "map.json" in done.stderr and says in done.stderr
