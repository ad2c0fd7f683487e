"""``.ci/run`` ends at the first step that fails; ``.ci/run --all`` runs every step and records it in docs/tests.md."""

import argparse
import datetime
import os
import pathlib
import sys
from collections.abc import Sequence

from tests.gate import busy, record
from tests.gate.ending import ending
from tests.gate.running import Outcome, Step, run, stopping

FOLDER = pathlib.Path(".kappa/ci")
KAPPA = pathlib.Path(".venv/bin/kappa")


def gate() -> list[Step]:
    return [make("setup-tests"), make("lint"), make("programs"), Validation("nightly").step, tests("test")]


def check_all() -> list[Step]:
    more = [Validation("full").step, make("validate-simulated"), tests("test-long"), tests("test-mutations")]
    return [*gate(), *more]


def make(target: str) -> Step:
    return Step(target, ["make", target])


def tests(target: str) -> Step:
    results = FOLDER / f"{target}.xml"
    # xunit1 names the file of each test, also of one whose worker crashed.
    options = f"--tb=short -o junit_family=xunit1 --junitxml={results}"
    return Step(target, ["make", target, f"PYTEST_OPTIONS={options}"], results=results)


class Validation:
    """``make validate`` into a folder that is known before, so that the verdict can be read from it."""

    def __init__(self, mode: str) -> None:
        self.mode, self.name = mode, "validate" if mode == "nightly" else f"validate-{mode}"
        self.folder = pathlib.Path()

    @property
    def step(self) -> Step:
        command = ["make", "validate", f"MODE={self.mode}"]
        return Step(self.name, command, environment=self.environment, excuse=self.excuse)

    def environment(self) -> dict[str, str]:
        results = pathlib.Path(os.environ.get("KAPPA_RESULTS", "results/embedded")).absolute()
        # As `kappa validate` names it: by its beginning.
        self.folder = results / "runs" / f"{datetime.datetime.now():%Y%m%dT%H%M%S}-{self.mode}"
        return {"KAPPA_RESULTS": str(results), "KAPPA_RUN": str(self.folder)}

    def excuse(self) -> str:
        return busy.excuse(self.folder, KAPPA, FOLDER / f"{self.name}.json")


def conduct(steps: Sequence[Step], folder: pathlib.Path, *, whole: bool) -> tuple[list[Outcome], int]:
    """Run ``steps`` in order, print the end, and return the outcomes and the exit status.

    :param whole: also run the steps after one that failed.
    """
    folder.mkdir(parents=True, exist_ok=True)
    outcomes: list[Outcome] = []
    with stopping() as stop:
        for step in steps:
            if stop.signal or (outcomes and not outcomes[-1].passed and not whole):
                break
            print(f"== {step.name}: {' '.join(step.command)}", flush=True)
            outcomes.append(run(step, folder, stop))
        print("", *ending(steps, outcomes), sep="\n", flush=True)
    if stop.signal:
        return outcomes, 128 + stop.signal
    failed = next((one.status for one in outcomes if not one.passed), 0)
    return outcomes, failed if failed >= 0 else 128 - failed


def main() -> int:
    parser = argparse.ArgumentParser(".ci/run", description=__doc__)
    parser.add_argument("--all", action="store_true", help="run every step, also after one that failed")
    whole = parser.parse_args().all
    outcomes, status = conduct(check_all() if whole else gate(), FOLDER, whole=whole)
    if whole and status < 128:
        record.write(outcomes)
    return status


if __name__ == "__main__":
    sys.exit(main())
