"""The catalogue of checks and the tables of the vocabulary, made from what ReFrame says of the suite.

They are ``kappa/core/vocabulary/checks.json``, and the tables between marker lines in ``docs/catalogue.md``,
``docs/site-reference.md`` and ``docs/coverage.md``.
"""

import json
import pathlib
import re
import subprocess
import sysconfig
import tempfile
from typing import Any

from kappa.core.ground.clean_text import clean
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SUITE
from kappa.core.ground.whole_files import write_atomically
from kappa.core.sites import key_tables
from kappa.core.vocabulary import checks, tables
from kappa.core.vocabulary.modes import MODES
from kappa.tools import coverage
from kappa.tools.tables import Place

Case = dict[str, Any]
"""As ReFrame describes it."""
HEADER = ("check", "what it validates", "metrics", "needs of a partition", "needs of an environment", "a case takes")


def described_cases() -> list[Case]:
    """Every case of the suite as ``reframe --describe`` gives it, whatever a site offers.

    :raises InputError: ReFrame cannot do it, or does not load a check; says what ReFrame printed.
    """
    reframe = pathlib.Path(sysconfig.get_path("scripts"), "reframe")
    with tempfile.TemporaryDirectory() as elsewhere:
        done = subprocess.run(
            [
                str(reframe), "-c", str(checks.SUITE), "-R", "--prefix", elsewhere, "--describe",
                "--skip-system-check", "--skip-prgenv-check",
            ],
            cwd=elsewhere, capture_output=True, text=True, check=False,
        )  # fmt: skip
    if done.returncode != 0 or not done.stdout.startswith("["):
        raise InputError(f"reframe --describe failed: {done.stderr or done.stdout}")
    cases = [case for case in json.loads(done.stdout) if case.get("check_class")]
    if missing := sorted(checks.declared().keys() - {case["@class"] for case in cases}):
        raise InputError(f"ReFrame did not load {', '.join(missing)}: {done.stderr.strip() or 'see reframe -l'}")
    return cases


def rows(cases: list[Case]) -> list[tuple[str, ...]]:
    """A row of the catalogue for each class, sorted by family: cells as in ``HEADER``."""
    by_class: dict[str, list[Case]] = {}
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


def duration(case: Case) -> str:
    """Return the duration of a case, as the table shows it; ``≈`` marks an estimate."""
    measured_s, estimated_s = case["measured_s"], case["estimated_s"]
    return f"{measured_s:g} s" if measured_s else f"≈ {estimated_s:g} s"


def as_json(cases: list[Case]) -> str:
    """``checks.json``: a line for each class, which ``kappa.core.vocabulary.checks.Check`` reads."""
    by_class: dict[str, Case] = {}
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


def renew(cases: list[Case]) -> None:
    """Write ``checks.json`` before all else: the sites of which pages tell are compared with it, and may name what is
    new already."""
    described = as_json(cases)
    if not _checks_file().is_file() or _checks_file().read_text(encoding="utf-8") != described:
        write_atomically(_checks_file(), described, 0o644)
    for known in (checks.catalogue, checks.uncatalogued, checks.families):
        known.cache_clear()


def stale(cases: list[Case]) -> dict[pathlib.Path, str]:
    """The files that are made from the suite and out of date, with the text that each has to have.

    :raises InputError: as of ``generated``.
    """
    wanted = generated(cases)
    return {path: text for path, text in wanted.items() if not path.is_file() or path.read_text("utf-8") != text}


def generated(cases: list[Case]) -> dict[pathlib.Path, str]:
    """Every file that is made from the suite, with the text that it has to have.

    :raises InputError: a page is not there or lacks the marker lines of a table, which is named with the page; or the
        data of ``docs/coverage.md`` cannot be used, which is named with its line.
    """
    described = as_json(cases)
    known = checks.decoded(described.encode())
    wanted = {_checks_file(): described}
    of_file = {
        "docs/catalogue.md": {"catalogue": page(cases)},
        "docs/site-reference.md": tables.of_site(known) | key_tables.of_files(),
        coverage.PAGE: {"coverage": coverage.page(coverage.read(SUITE / coverage.DATA, known), known)},
    }
    for name, contents in of_file.items():
        path = SUITE / name
        text = path.read_text(encoding="utf-8")
        for title, table in contents.items():
            try:
                text = place(title).filled(text, table)
            except InputError as err:
                raise InputError(f"{clean(str(path))}: {err}") from None
        wanted[path] = text
    return wanted


def page(cases: list[Case]) -> str:
    """The catalogue of checks as Markdown."""
    return tables.as_markdown([HEADER, *rows(cases)])


def place(title: str) -> Place:
    """Where the table ``title`` stands in its page."""
    return Place(f"<!-- {title}: make catalogue -->", f"<!-- end of {title} -->")
