"""Read the specs of the suite's environments, and replace them by specs that the user chose for a run.

``spack.yaml`` is read and written as text, without a YAML parser: the files are the suite's own, one spec per line.
"""

import json
import os
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from kappa.core.ground.errors import InputError
from kappa.core.vocabulary import spack_tables

_LIST = re.compile(r"(?<=^  specs:\n)(?:^  (?:- |#).*\n)+", re.MULTILINE)
_COMMENT = re.compile(r"\s+#.*")
#: Environment variable with the chosen specs, separated by semicolons, which no spec contains.
VARIABLE = "KAPPA_SPACK_SPEC"
_SPEC = re.compile(
    r"(?P<namespace>[\w-]+\.)?(?P<name>[a-z0-9][a-z0-9-]*)(?P<version>@[^\s+~^%]+)?(?P<variants>[^^]*)(?P<needs>.*)"
)
# Matches `^mpich@4`, `^[virtuals=mpi] openmpi` and `^builtin.mpich`.
_NEED = re.compile(r"\^\s*(?:\[[^\]]*\]\s*)?(?:[\w-]+\.)?([a-z0-9][a-z0-9-]*)")


def roots(text: str) -> list[str]:
    """Return the specs in a ``spack.yaml`` of the suite.

    :raises ValueError: it has no list of specs.
    """
    found = _LIST.search(text)
    if not found:
        raise ValueError("expected `  specs:` and a line `  - SPEC` for each")
    lines = [line for line in found[0].splitlines() if line.startswith("  - ")]
    return [_COMMENT.sub("", line.removeprefix("  - ")).strip() for line in lines]


def with_roots(text: str, specs: Sequence[str]) -> str:
    """Return ``text`` with these specs only."""
    # A JSON string is valid YAML for every spec.
    return _LIST.sub(lambda _: "".join(f"  - {json.dumps(spec)}\n" for spec in specs), text, count=1)


@dataclass(frozen=True)
class Spec:
    """The parts of a written spec. ``variants``: all of its own. ``needs`` begins with the first ``^``."""

    namespace: str
    name: str
    version: str
    variants: str
    needs: str

    @classmethod
    def of(cls, text: str) -> "Spec":
        """Parse a spec.

        :raises InputError: the text does not begin with a package's name.
        """
        match = _SPEC.fullmatch(text.strip())
        if not match:
            raise InputError(f"{text!r} is no Spack spec: expected, for instance, 'osu-micro-benchmarks ^mpich'")
        return cls(**{key: (value or "").strip() for key, value in match.groupdict().items()})

    def __str__(self) -> str:
        own = f"{self.namespace}{self.name}{self.version}"
        return " ".join(part for part in (own, self.variants, self.needs) if part)

    @property
    def _on_gpus(self) -> bool:
        return "+cuda" in self.variants

    def serves(self, root: "Spec") -> bool:
        """Return whether this spec can replace ``root``: the same package, both with CUDA or both without."""
        return self.name == root.name and self._on_gpus == root._on_gpus

    def instead_of(self, root: "Spec") -> "Spec":
        """Return this spec, completed by ``root``. Variants of both are joined."""
        namespace, version = self.namespace or root.namespace, self.version or root.version
        own = self.variants.split()
        variants = [*(word for word in root.variants.split() if word not in own), *own]
        return Spec(namespace, self.name, version, " ".join(variants), self.needs or root.needs)


def choose(specs: list[str]) -> None:
    """Use ``specs`` in the suite's environments from now on, also in child processes.

    :raises InputError: a text is no spec, or no environment has its package.
    """
    os.environ[VARIABLE] = ";".join(specs)
    _chosen()


def changed_roots(environment: str) -> list[str]:
    """Return the environment's specs with the chosen ones; empty if no chosen spec is for this environment.

    :raises InputError: as in ``choose``.
    """
    specs = _chosen()
    if not specs:
        return []
    asked = list(_roots(environment))
    found = [next((spec.instead_of(root) for spec in specs if spec.serves(root)), root) for root in asked]
    return [str(spec) for spec in found] if found != asked else []


def contradicted(roots: Iterable[str], providers: dict[str, list[str]]) -> list[str]:
    """Return the virtual packages for which a spec of ``roots`` names a provider.

    :param providers: the providers of each virtual package.
    """
    needed = {match[1] for root in roots for match in _NEED.finditer(root)}
    return sorted(name for name, known in providers.items() if not needed.isdisjoint(known))


def _chosen() -> list[Spec]:
    specs = [Spec.of(text) for text in os.environ.get(VARIABLE, "").split(";") if text.strip()]
    known = [root for name in spack_tables.names() for root in _roots(name)] if specs else []
    for spec in specs:
        if not any(map(spec.serves, known)):
            names = ", ".join(sorted({root.name for root in known}))
            raise InputError(f"no environment of the suite has '{spec}', with or without CUDA: expected one of {names}")
    return specs


def _roots(environment: str) -> Iterator[Spec]:
    return map(Spec.of, roots(spack_tables.specs_file(environment).read_text(encoding="utf-8")))
