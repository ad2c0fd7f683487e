"""Writes the bits on record: ``python -m tests.golden_bits MEASURE EMT > reframe_checks/localise/golden_bits.json``.

Both are programs of a release build (MEASURE is ``kappa-measure``), on a machine that is known to compute rightly, with
all instruction sets that the suite knows. Values of other libraries that are on record already are kept.
"""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

from reframe_checks.application.emt import STEPS
from reframe_checks.base.same_bits import VARIANTS
from reframe_checks.localise.bits import GOLDEN_FILE
from reframe_checks.parsers import core_programs

ALONE = os.environ | {"OMPI_ALLOW_RUN_AS_ROOT": "1", "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": "1"}
# The functions that the C library then selects, for processors without fused operations, must not matter.
NOT_FUSED = {"GLIBC_TUNABLES": "glibc.cpu.hwcaps=-FMA,-FMA4"}

Told = core_programs.EmtAlikeResult | core_programs.BitSweepResult


def main() -> None:
    measure, emt = (str(pathlib.Path(path).resolve()) for path in sys.argv[1:3])
    document = json.loads(GOLDEN_FILE.read_text(encoding="utf-8"))
    found: dict[tuple[str, str], dict[int, str]] = {}
    with tempfile.TemporaryDirectory() as folder:

        def digests(*command: str, library: dict[str, str] | None = None) -> None:
            subprocess.run(command, cwd=folder, env=ALONE | (library or {}), check=True, stdout=subprocess.DEVNULL)
            of_emt = command[0] == emt
            read = core_programs.EmtAlikeResult.read if of_emt else core_programs.BitSweepResult.read
            told: Told = read(pathlib.Path(folder, "bits.json").read_text(encoding="utf-8"))
            for bits in told.bits:
                ((digest, _),) = bits.rounds
                before = found.setdefault((bits.work, bits.basis), {}).setdefault(told.variant, digest)
                assert digest == before, f"{bits.work} ({bits.basis}), variant {told.variant}: {digest} and {before}"

        for variant in range(VARIANTS):
            subprocess.run([emt, "generate", "hq", "--network-only", "--seed", str(variant + 1), "-o", "network.json"],
                           cwd=folder, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)  # fmt: skip
            for isa in ("portable", "avx2", "avx512"):
                own = ["--isa", isa, "--variant", str(variant), "--seconds", "0.2"]
                alike = [emt, "alike", "network.json", *own, "--steps", str(STEPS), "--result", "bits.json"]
                digests(measure, "bits", *own, "--output", "bits.json")
                digests(*alike)
                digests(*alike, library=NOT_FUSED)
    for (work, basis), of_variant in sorted(found.items()):
        document["digests"].setdefault(work, {})[basis] = [of_variant[variant] for variant in range(VARIANTS)]
    print(json.dumps(document, indent=1))


if __name__ == "__main__":
    main()
