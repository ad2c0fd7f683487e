"""A site's rule for nodes that a finding names: held against the vocabulary, and its commands filled in."""

import re
from collections.abc import Sequence

from kappa.core.ground.yaml_file import YamlFile
from kappa.core.ground.yaml_lines import Path
from kappa.core.vocabulary.modes import MODES
from kappa.core.vocabulary.quarantine import EVIDENCE, NEEDED, PLACEHOLDERS, Quarantine

_HERE: Path = ("quarantine",)
_PLACEHOLDER = re.compile(r"\{(\w*)\}")


def check_quarantine(file: YamlFile, rule: Quarantine) -> None:
    """Note what is unknown or contradictory in the rule."""
    for number, kind in enumerate(rule.evidence):
        file.require_known((*_HERE, "evidence", number), kind, EVIDENCE, "kind of evidence")
    file.require_known((*_HERE, "mode"), rule.mode, MODES, "mode")
    for name, needed in NEEDED.items():
        command: list[str] = getattr(rule, name)
        for number, word in enumerate(command):
            for found in _PLACEHOLDER.findall(word):
                file.require_known((*_HERE, name, number), found, PLACEHOLDERS, "placeholder")
        missing = [place for place in needed if not any(f"{{{place}}}" in word for word in command)]
        if command and missing:
            file.refuse((*_HERE, name), f"expected {{{missing[0]}}} in an argument: {PLACEHOLDERS[missing[0]]}")
    if rule.at_end != "tell" and not rule.resume:
        file.refuse((*_HERE, "at_end"), f"{rule.at_end} needs the key resume: state the command, or `at_end: tell`")


def filled(command: Sequence[str], **places: str) -> tuple[str, ...]:
    """The arguments of a command of the rule; what ``places`` gives for a placeholder is not searched for others."""
    return tuple(_PLACEHOLDER.sub(lambda found: places[found[1]], word) for word in command)
