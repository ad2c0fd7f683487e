"""On machines simulated with SimGrid's SMPI: waves go by messages, work is injected, times are the machine's."""

from __future__ import annotations

import json
import shutil
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest

from tests.programs import built
from tests.waiting import PATIENCE_S

from .conftest import APP, Emt

pytestmark = [
    pytest.mark.long,
    pytest.mark.skipif(
        not (shutil.which("smpicxx") and shutil.which("smpirun")),
        reason="not provided here: smpicxx and smpirun of SimGrid (Debian: libsimgrid-dev)",
    ),
]
PHI_US = 100.0
OVERHEAD_US = 0.6
NODES, CORES = 25, 6
# Every message takes its sender and its receiver the same time, whatever it holds; links are fast.
PLATFORM = f"""<?xml version='1.0'?>
<!DOCTYPE platform SYSTEM "https://simgrid.org/simgrid.dtd">
<platform version="4.1">
 <config>
  <prop id="smpi/os" value="0:{{overhead_us}}e-6:0"/>
  <prop id="smpi/ois" value="0:{{overhead_us}}e-6:0"/>
  <prop id="smpi/or" value="0:{{overhead_us}}e-6:0"/>
  <prop id="smpi/lat-factor" value="0:1"/>
  <prop id="smpi/bw-factor" value="0:1"/>
  <prop id="smpi/simulate-computation" value="no"/>
 </config>
 <cluster id="cluster" prefix="n" suffix="" radical="0-{NODES - 1}" speed="1Gf" core="{CORES}"
          bw="25GBps" lat="0.3us" loopback_bw="25GBps" loopback_lat="0.3us"/>
</platform>
"""


class Simulated:
    """The program built with smpicxx, and a machine on which it runs a case."""

    def __init__(self, program: Path, case: Path, folder: Path) -> None:
        self.program, self.case, self.folder = program, case, folder

    def __call__(
        self, ranks: int, *arguments: str, spread: bool = False, overhead_us: float = OVERHEAD_US
    ) -> subprocess.CompletedProcess[str]:
        hosts = [rank % NODES if spread else rank // CORES for rank in range(ranks)]
        (self.folder / "platform.xml").write_text(PLATFORM.format(overhead_us=overhead_us))
        (self.folder / "hosts.txt").write_text("".join(f"n{host}\n" for host in hosts))
        machine = ["-np", str(ranks), "-platform", "platform.xml", "-hostfile", "hosts.txt"]
        program = [str(self.program), "run", str(self.case), "--warm-up", "10", "--result", "result.json"]
        return subprocess.run(
            ["smpirun", *machine, *program, *arguments],
            cwd=self.folder, capture_output=True, text=True, timeout=PATIENCE_S, check=False,
        )  # fmt: skip

    def run(self, ranks: int, *arguments: str, steps: int = 100, **machine: Any) -> dict[str, Any]:
        done = self(ranks, "--inject-phi-us", str(PHI_US), "--steps", str(steps), *arguments, **machine)
        assert done.returncode == 0, done.stdout + done.stderr
        result: dict[str, Any] = json.loads((self.folder / "result.json").read_text())
        return result


@pytest.fixture(scope="module")
def network(emt: Emt, tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("hq") / "hq.json"
    emt("generate", "hq", "--network-only", "-o", path)
    return path


@pytest.fixture
def simulated(network: Path, tmp_path: Path) -> Simulated:
    return Simulated(built("emt-smpi") / "emt", network, tmp_path)


def test_a_rank_alone_has_no_overhead(simulated: Simulated) -> None:
    result = simulated.run(1)
    jsonschema.validate(result, json.loads((APP / "schema/result.schema.json").read_text()))
    assert (result["simulated"], result["phi_by"], result["exchange_by"]) == (True, "injected", "nothing")
    assert (result["phi_us"], result["sigma_us"], result["step_us"]["mean"]) == (PHI_US, 0, PHI_US)
    assert (result["kappa_us"], result["kappa_block_p50_us"]) == (0, 0)


@pytest.mark.parametrize("message", ["pair", "line"])
def test_overhead_of_two_ranks_is_that_of_their_messages(simulated: Simulated, message: str) -> None:
    result = simulated.run(2, "--message", message, spread=True)
    assert result["exchange_by"] == "messages"
    lines = result["bytes_per_step"]["total"] / 2 / 24  # three waves each
    messages = lines if message == "line" else 1
    assert lines > 1
    assert result["messages_per_step"] == 2 * messages
    assert result["neighbours"]["max"] == 1
    # They travel while the inner tasks are computed.
    assert result["exchange_us"] == pytest.approx(2 * OVERHEAD_US * messages, abs=1e-3)
    assert result["kappa_us"] == pytest.approx(result["exchange_us"] + result["imbalance_us"], abs=1e-3)


@pytest.mark.parametrize(
    ("ranks", "options"),
    [(3, ["--exchange", "slack"]), (48, ["--message", "line"]), (48, []), (150, [])],
)
def test_the_same_bits_as_on_a_real_machine(
    emt: Emt, simulated: Simulated, network: Path, tmp_path: Path, ranks: int, options: list[str]
) -> None:
    steps = 60
    real = emt.run(network, tmp_path, "--warm-up", "10", "--steps", str(steps), "--no-replay")
    result = simulated.run(ranks, *options, steps=steps)
    assert result["checksum"] == real["checksum"]
    assert (result["ranks"], result["simulated"], real["simulated"]) == (ranks, True, False)
    # No share is smaller than the heaviest task's.
    assert max(result["phi_per_rank_us"]) >= result["heaviest_task_us"] > 0
    assert sum(result["phi_per_rank_us"]) == pytest.approx(PHI_US, abs=0.01)


def test_two_runs_are_the_same(simulated: Simulated) -> None:
    first, second = ({key: value for key, value in simulated.run(24).items() if key != "provenance"} for _ in range(2))
    assert first == second


def test_overhead_of_the_machine_is_found_again(simulated: Simulated) -> None:
    kappa = [simulated.run(24, overhead_us=overhead_us)["kappa_us"] for overhead_us in (0, 1, 2)]
    assert kappa[0] < kappa[1] < kappa[2]
    assert kappa[2] - kappa[1] == pytest.approx(kappa[1] - kappa[0], rel=0.5)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ([], "cannot measure phi, because its computation takes no time: give --inject-phi-us, or --no-replay"),
        (["--no-replay", "--transport", "shared"], "simulated ranks share no memory"),
    ],
)
def test_what_a_simulated_machine_cannot_do(simulated: Simulated, arguments: list[str], message: str) -> None:
    done = simulated(2, *arguments)
    assert done.returncode != 0
    assert message in done.stderr


def test_a_real_machine_measures(emt: Emt, network: Path) -> None:
    done = emt("run", network, "--inject-phi-us", "100", ok=False)
    assert done.returncode != 0
    assert "--inject-phi-us is for simulated machines" in done.stderr
