"""Generate the catalogue of checks and the tables of the vocabulary from ReFrame's description of the suite.

The generated files are ``kappa/core/vocabulary/checks.json``, and the tables between marker lines in
``docs/site-reference.md`` and ``docs/coverage.md``.
"""

import argparse
import ast
import functools
import json
import pathlib
import re
import subprocess
import sys
import sysconfig
import tempfile
from typing import Any

from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SUITE
from kappa.core.vocabulary import checks
from kappa.core.vocabulary.modes import MODES
from tests import coverage
from tests.key_tables import site_reference
from tests.tables import Place

Case = dict[str, Any]
"""A case as ReFrame describes it."""
# Pages of docs/ that explain the checks which they mention.
_TOPICS = ("congestion.md", "localisation.md", "simulated.md", "wrong-bits.md")


def described_cases() -> list[Case]:
    """Return every case of the suite from ``reframe --describe``, independent of any site.

    :raises InputError: ReFrame fails, or does not load a check. The message has ReFrame's output.
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
        raise InputError(f"ReFrame did not load {', '.join(missing)}: {done.stderr.strip() or 'see `reframe -l`'}")
    return cases


def as_json(cases: list[Case]) -> str:
    """Return ``checks.json``: a line for each class, for ``kappa.core.vocabulary.checks.CataloguedCheck``."""
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
                **{key: case[key] for key in ("failure_means", "hint", "measured_s", "estimated_s", "informational")},
                "programs": [],
                "runs": docstring(pathlib.Path(case["@file"]), case["@class"]),
                "defaults": {variable: case[variable] for variable in case["tunable"]},
                "pages": [name for name in _TOPICS if f"`{case['@class']}`" in _topic(name)],
            },
        )
        check["modes"] = [mode for mode in MODES if mode in {*check["modes"], *case["tags"]}]
        check["metrics"] |= case["metric_units"]
        named = [case.get("benchmark"), case["executable"], *case["programs"]]
        check["programs"] += [one for one in named if one and one[0] != "<" and one not in check["programs"]]
        parameters = dict(word[1:].split("=", 1) for word in re.findall(r"%[^ .]+=\S*", case["name"]))
        check["cases"].append({"parameters": parameters, "features": case["case_features"]})
    lines = (f"{json.dumps(name)}: {json.dumps(check, ensure_ascii=False)}" for name, check in sorted(by_class.items()))
    return "{\n" + ",\n".join(lines) + "\n}\n"


def docstring(file: pathlib.Path, name: str) -> str:
    """Return the first paragraph of a class's docstring, or else of its module's, as a line of Markdown."""
    module = _parsed(file)
    (declared,) = (node for node in module.body if isinstance(node, ast.ClassDef) and node.name == name)
    said = ast.get_docstring(declared) or ast.get_docstring(module) or ""
    return " ".join(said.partition("\n\n")[0].replace("``", "`").split())


@functools.cache
def _parsed(file: pathlib.Path) -> ast.Module:
    return ast.parse(file.read_text(encoding="utf-8"))


@functools.cache
def _topic(name: str) -> str:
    return (SUITE / "docs" / name).read_text(encoding="utf-8")


def _checks_file() -> pathlib.Path:
    return pathlib.Path(checks.__file__).parent / checks.FILE


def renew(cases: list[Case]) -> None:
    """Write ``checks.json``. Do this first: the pages read sites, whose names are compared with this file."""
    _checks_file().write_text(as_json(cases), encoding="utf-8")
    for known in (checks.catalogue, checks.uncatalogued, checks.families):
        known.cache_clear()


def stale(cases: list[Case]) -> dict[pathlib.Path, str]:
    """Return the generated files that are out of date, with their text.

    :raises InputError: as in ``generated``.
    """
    wanted = generated(cases)
    return {path: text for path, text in wanted.items() if not path.is_file() or path.read_text("utf-8") != text}


def generated(cases: list[Case]) -> dict[pathlib.Path, str]:
    """Return every generated file with its text.

    :raises InputError: a page is missing, or has no marker lines for a table; or the data of ``docs/coverage.md``
        cannot be used. The message names the table, or the line.
    """
    described = as_json(cases)
    known = checks.decoded(described.encode())
    wanted: dict[pathlib.Path, str] = {_checks_file(): described}
    of_file = {
        "docs/site-reference.md": site_reference(),
        coverage.PAGE: {"coverage": coverage.page(coverage.read(SUITE / coverage.DATA, known), known)},
    }
    for name, contents in of_file.items():
        path = SUITE / name
        text = path.read_text(encoding="utf-8")
        for title, table in contents.items():
            text = Place(f"<!-- {title}: make docs -->", f"<!-- end of {title} -->").filled(text, table)
        wanted[path] = text
    return wanted


def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.catalogue", description=__doc__)
    chosen = parser.add_mutually_exclusive_group(required=True)
    chosen.add_argument("--write", action="store_true", help="renew the files that are out of date")
    chosen.add_argument("--check", action="store_true", help="list the files that are out of date; write nothing")
    options = parser.parse_args(arguments)
    cases = described_cases()
    if options.write:
        renew(cases)
    changed = stale(cases)
    for path, text in changed.items() if options.write else ():
        path.write_text(text, encoding="utf-8")
    for path in changed:
        print(f"{'renewed' if options.write else 'out of date: run `make docs`'}: {path}")
    return 1 if changed and options.check else 0


if __name__ == "__main__":
    sys.exit(main())
