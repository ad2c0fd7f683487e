"""A package imports from itself and from packages of a lower rank; docs/architecture.md has the same table."""

import ast
import pathlib
import re
from collections import defaultdict

REPOSITORY = pathlib.Path(__file__).parents[2]
RANKS = {
    "kappa.core.ground": 0,
    "kappa.node": 0,
    "kappa.core.vocabulary": 1,
    "kappa.core.fabrics": 1,
    "kappa.core.record": 1,
    "kappa.core.sites": 2,
    "spack_envs": 3,
    "kappa.embedded_cluster": 3,
    "reframe_checks": 4,
    "reports.verdict": 4,
    "reports.predicted": 5,
    "reports.quarantine": 5,
    "reports.history": 6,
    "reports.compare": 7,
    "reports.learn": 7,
    "reports.show": 8,
    "reports.bundle": 9,
    "reports.plan": 9,
    "reports.waveforms": 9,
    "reports.nightly": 9,
    "reports.acceptance.campaign": 9,
    "reports.acceptance.outages": 10,
    "reports.acceptance.kinds": 11,
    "reports.acceptance": 12,
    "kappa.app.survey": 13,
    "kappa.app.conduct": 14,
    "kappa.app.command": 15,
}
TOP = ("kappa", "reframe_checks", "reports", "spack_envs")
# Their parents have nothing but a docstring, and the version.
EMPTY = {"kappa", "kappa.core", "kappa.app", "reports"}
_ROW = re.compile(r"^\| `([\w/]+)/` \|", re.MULTILINE)


def package_of(module):
    return next((package for package in RANKS if f"{module}.".startswith(f"{package}.")), None)


def name_of(path):
    return ".".join(path.relative_to(REPOSITORY).with_suffix("").parts).removesuffix(".__init__")


def imported(path):
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names)


def test_imports_go_down():
    paths = [path for top in TOP for path in (REPOSITORY / top).rglob("*.py")]
    assert len(paths) > 150
    wrong = []
    for path in paths:
        own = package_of(name_of(path))
        if own is None:
            wrong += [name_of(path)] if name_of(path) not in EMPTY or [*imported(path)] else []
            continue
        for other in imported(path):
            below = package_of(other)
            if other.startswith(".") or (below and below != own and RANKS[below] >= RANKS[own]):
                wrong.append(f"{name_of(path)} imports {other}")
    assert not wrong


def test_each_class_has_a_name_of_its_own():
    """The recipes of spack_envs/repo are named by Spack."""
    homes = defaultdict(list)
    for path in (path for top in (*TOP, "emt_app") for path in (REPOSITORY / top).rglob("*.py")):
        if not path.is_relative_to(REPOSITORY / "spack_envs/repo"):
            for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
                if isinstance(node, ast.ClassDef):
                    homes[node.name].append(f"{path}:{node.lineno}")
    assert not {name: places for name, places in homes.items() if len(places) > 1}


def test_each_package_says_in_three_lines_what_it_is():
    """Programs that run on nodes (``src``) are no package of the suite."""
    for path in (path for top in TOP for path in (REPOSITORY / top).rglob("__init__.py") if "src" not in path.parts):
        said = ast.get_docstring(ast.parse(path.read_text("utf-8"))) or ""
        assert 1 <= len(list(filter(None, said.splitlines()))) <= 3, path


def test_the_architecture_has_these_packages_in_this_order():
    table = (REPOSITORY / "docs/architecture.md").read_text("utf-8").partition("## Packages")[2].partition("\n## ")[0]
    assert [row.replace("/", ".") for row in _ROW.findall(table)] == list(RANKS)


def test_what_only_reads_does_without_reframe():
    """It takes longer to import than a page takes to be made."""
    packages = ["reports", *(package for package, rank in RANKS.items() if rank < RANKS["kappa.core.sites"])]
    wrong = [
        path
        for package in packages
        for path in (REPOSITORY / package.replace(".", "/")).rglob("*.py")
        for other in imported(path)
        if other.partition(".")[0] == "reframe"
    ]
    assert not wrong
