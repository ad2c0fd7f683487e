"""The catalogue of checks and the tables of the vocabulary, made from what ReFrame says of the suite.

Usage: ``python -m reframe_checks.base.catalogue`` (``make catalogue``) writes ``kappa/core/vocabulary/checks.json``
anew, and the tables between marker lines in ``docs/catalogue.md``, ``docs/site.md`` and ``docs/coverage.md``; with
``--check`` it only says, by exit status 1, which file is out of date.
"""

import argparse
import json
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile

from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from kappa.core.vocabulary import checks, tables
from kappa.core.vocabulary.modes import MODES
from reframe_checks.base import coverage
from reframe_checks.base.census import declared_checks

SUITE = pathlib.Path(__file__).resolve().parents[1]
REPOSITORY = SUITE.parent
CATALOGUE = "catalogue"
HEADER = ("check", "what it validates", "metrics", "needs of a partition", "needs of an environment", "a case takes")


def described_cases() -> list[dict]:
    """Every case of the suite as ``reframe --describe`` gives it, whatever a site offers."""
    reframe = pathlib.Path(sysconfig.get_path("scripts"), "reframe")
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run(
            [
                str(reframe), "-c", str(SUITE), "-R", "--prefix", elsewhere, "--describe",
                "--skip-system-check", "--skip-prgenv-check",
            ],
            cwd=elsewhere, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode != 0 or not done.stdout.startswith("["):
        raise RuntimeError(f"reframe --describe failed: {done.stderr or done.stdout}")
    cases = [case for case in json.loads(done.stdout) if case.get("check_class")]
    if missing := sorted(set(declared_checks()) - {case["@class"] for case in cases}):
        raise RuntimeError(f"ReFrame did not load {', '.join(missing)}: {done.stderr.strip() or 'see reframe -l'}")
    return cases


def rows(cases: list[dict]) -> list[tuple[str, ...]]:
    """A row of the catalogue for each class, sorted by family: cells as in ``HEADER``."""
    by_class: dict[str, list[dict]] = {}
    for case in cases:
        by_class.setdefault(case["@class"], []).append(case)
    table = []
    for name, group in by_class.items():
        units = {metric: unit for case in group for metric, unit in case["metric_units"].items()}
        metrics = (f"`{metric}` {unit}".strip() for metric, unit in units.items())
        needs = (sorted({need for case in group for need in case[key]}) for key in ("needs_partition", "needs_environ"))
        ticked = (", ".join(f"`{feature}`" for feature in need) for need in needs)
        row = (f"`{name}`", group[0]["descr"], ", ".join(metrics), *ticked, duration(group[0]))
        table.append((group[0]["family"], row))
    return [row for _, row in sorted(table)]


def duration(case: dict) -> str:
    """Return the duration of a case, as the table shows it; ``≈`` marks an estimate."""
    measured_s, estimated_s = case["measured_s"], case["estimated_s"]
    return f"{measured_s:g} s" if measured_s else f"≈ {estimated_s:g} s"


def as_json(cases: list[dict]) -> str:
    """``checks.json``: a line for each class, which ``kappa.core.vocabulary.checks.Check`` reads."""
    by_class: dict[str, dict] = {}
    for case in cases:
        check = by_class.setdefault(
            case["@class"],
            {
                "family": case["family"],
                "descr": case["descr"],
                "modes": [],
                "needs_environ": case["needs_environ"],
                "metrics": {},
                "tunables": case["tunable"],
                "cases": [],
                "on_fabrics": case["on_fabrics"],
            },
        )
        check["modes"] = [mode for mode in MODES if mode in {*check["modes"], *case["tags"]}]
        check["metrics"] |= case["metric_units"]
        parameters = dict(word[1:].split("=", 1) for word in re.findall(r"%[^ .]+=\S*", case["name"]))
        check["cases"].append({"parameters": parameters, "features": case["case_features"]})
    lines = (f"{json.dumps(name)}: {json.dumps(check, ensure_ascii=False)}" for name, check in sorted(by_class.items()))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def _checks_file() -> pathlib.Path:
    return pathlib.Path(checks.__file__).parent / checks.FILE


def renew(cases: list[dict]) -> None:
    """Write ``checks.json`` before all else: the sites of which pages tell are held against it, and may name what is
    new already."""
    described = as_json(cases)
    if not _checks_file().is_file() or _checks_file().read_text(encoding="utf-8") != described:
        write_atomically(_checks_file(), described, 0o644)
    for known in (checks.catalogue, checks.uncatalogued, checks.families):
        known.cache_clear()


def generated(cases: list[dict]) -> dict[pathlib.Path, str]:
    """Every file that is made from the suite, with the text that it has to have.

    :raises ValueError: a file lacks the marker lines of a table; names the file.
    :raises InputError: the data of ``docs/coverage.md`` cannot be used; names the line.
    """
    described = as_json(cases)
    known = checks.decoded(described.encode())
    wanted = {_checks_file(): described}
    of_file = {
        "docs/catalogue.md": {CATALOGUE: tables.as_markdown([HEADER, *rows(cases)])},
        "docs/site.md": tables.of_site(known),
        coverage.PAGE: {"coverage": coverage.page(coverage.read(REPOSITORY / coverage.DATA, known), known)},
    }
    for name, contents in of_file.items():
        path = REPOSITORY / name
        text = path.read_text(encoding="utf-8")
        for title, table in contents.items():
            try:
                text = with_table(text, title, table)
            except ValueError as err:
                raise ValueError(f"{path}: {err}") from err
        wanted[path] = text
    return wanted


def with_table(text: str, title: str, table: str) -> str:
    """``text`` with what stands between the markers of the table ``title`` replaced.

    :raises ValueError: the markers are not there, once each and in order.
    """
    begin, end = f"<!-- {title}: make catalogue -->", f"<!-- end of {title} -->"
    head, found_begin, rest = text.partition(begin + "\n")
    _, found_end, tail = rest.partition(end)
    if not found_begin or not found_end:
        raise ValueError(f"expected the lines `{begin}` and `{end}`")
    return head + begin + "\n" + table + "\n" + end + tail


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", action="store_true", help="write nothing; status 1 when a file is out of date")
    options = parser.parse_args()
    try:
        cases = described_cases()
        if not options.check:
            renew(cases)
        wanted = generated(cases)
    except (ValueError, InputError) as err:
        sys.exit(str(err))
    stale = [path for path, text in wanted.items() if not path.is_file() or path.read_text(encoding="utf-8") != text]
    if options.check and stale:
        sys.exit(f"out of date: {', '.join(map(str, stale))}: run `make catalogue`")
    for path in stale:
        write_atomically(path, wanted[path], 0o644)
    return 0


if __name__ == "__main__":
    sys.exit(main())
