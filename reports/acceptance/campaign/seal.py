"""Check the manifest and the signatures of a dossier, without a look at its verdict."""

import pathlib
from collections.abc import Sequence
from dataclasses import dataclass

from kappa.core.ground.clean_text import clean
from reports.acceptance.campaign.layout import is_result
from reports.acceptance.campaign.signature import (
    MANIFEST,
    SignatureState,
    check,
    differences,
    files_below,
    is_signature,
)

#: Files of a dossier besides the results.
HTML, PDF, VERDICT, LEFT_OUT = "dossier.html", "dossier.pdf", "verdict.json", "left-out.json"
_WRITTEN = (HTML, PDF, VERDICT, LEFT_OUT, MANIFEST)


@dataclass(frozen=True)
class Proof:
    """Hold the result of a verification: ``problems``, parts that could not be checked, and ``good`` parts."""

    problems: list[str]
    unchecked: list[str]
    good: list[str]

    @property
    def exit_status(self) -> int:
        return 1 if self.problems else 2 if self.unchecked else 0

    def add(self, other: "Proof") -> None:
        """Add the lines of another proof that are new."""
        for mine, lines in (
            (self.problems, other.problems),
            (self.unchecked, other.unchecked),
            (self.good, other.good),
        ):
            mine += [line for line in lines if line not in mine]


def check_seal(folder: pathlib.Path, keys: Sequence[str]) -> Proof:
    """Return the result for manifest and signatures; ``good`` has a line for each good signature.

    :param keys: the keys of all who must have signed; see ``signature.check``.
    :raises InputError: ``folder`` is not a dossier.
    """
    proof = Proof(differences(folder), [], [])
    foreign = [name for name in files_below(folder) if not (name in _WRITTEN or is_result(name) or is_signature(name))]
    proof.problems.extend(f"not part of a dossier: {clean(name)}" for name in foreign)
    lists = {SignatureState.BAD: proof.problems, SignatureState.GOOD: proof.good}
    for signature in check(folder, keys):
        lists.get(signature.state, proof.unchecked).append(signature.line)
    return proof
