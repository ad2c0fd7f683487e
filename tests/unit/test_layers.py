"""A package imports from itself and from what lies below it; nothing imports up."""

import ast
import pathlib

REPOSITORY = pathlib.Path(__file__).parents[2]
# From the bottom. Those of one line know nothing of each other.
LAYERS = (
    ("kappa.ground",),
    ("kappa.fabrics", "kappa.vocabulary"),
    ("kappa.record",),
    ("kappa.fabrics",),
    ("spack_envs",),
    ("kappa.sites",),
    ("reframe_checks", "reports"),
    ("kappa.survey",),
    ("kappa.conduct",),
    ("kappa.command",),
)
LEVEL = {package: number for number, packages in enumerate(LAYERS) for package in packages}
TOP = ("kappa", "reframe_checks", "reports", "spack_envs")


def package_of(module):
    return next((package for package in LEVEL if f"{module}.".startswith(f"{package}.")), None)


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{'.' * node.level}{node.module}.{alias.name}" for alias in node.names)


def test_imports_go_down():
    paths = [path for top in TOP for path in (REPOSITORY / top).rglob("*.py")]
    wrong = []
    for path in paths:
        module = ".".join(path.relative_to(REPOSITORY).with_suffix("").parts)
        for other in imported(ast.parse(path.read_text(encoding="utf-8"))):
            own, below = package_of(module), package_of(other)
            if other.startswith(".") or (below and below != own and LEVEL[below] >= LEVEL.get(own, 0)):
                wrong.append(f"{module} imports {other}")
    assert not wrong
    assert len(paths) > 150


def test_what_only_reads_does_without_reframe():
    """It takes longer to import than a page takes to be made."""
    wrong = [
        path
        for folder in ("reports", "kappa/ground", "kappa/fabrics", "kappa/record", "kappa/vocabulary")
        for path in (REPOSITORY / folder).rglob("*.py")
        for other in imported(ast.parse(path.read_text(encoding="utf-8")))
        if other.partition(".")[0] == "reframe"
    ]
    assert not wrong
