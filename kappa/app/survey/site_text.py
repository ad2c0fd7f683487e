"""Build the text of a site's file: keys, comments, sources, and questions to the user."""

import json
import re
from typing import Any

import yaml

#: Marks a value that was not found.
MARK = "FILL IN"
_PLAIN = re.compile(r"[A-Za-z_/][\w./+-]*( [\w./+-]+)*")
# Depth of the keys of a partition or an environment.
_OF_ENTRY = 2


class UnquotedText(str):
    """A text that needs no quotes in YAML, but that `flow` would quote, for instance ``5m``."""


class SiteText:
    """The lines of a file. ``questions``: the marked ones."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.questions: list[str] = []

    def __str__(self) -> str:
        return "\n".join(self.lines) + "\n"

    def add(self, text: str = "", source: str = "", depth: int = 0) -> None:
        """Add a line. ``source``: the value's source, as a comment at the end."""
        self.lines.append("  " * depth + text + (f"  # {_on_one_line(source)}" if source else ""))

    def key(self, name: str, value: Any, source: str = "", depth: int = _OF_ENTRY) -> None:
        """Add a key; nothing if its value is ``None``."""
        if value is not None:
            self.add(f"{name}: {flow(value)}", source, depth)

    def note(self, words: str, source: str = "", depth: int = _OF_ENTRY) -> None:
        self.add(f"# {words}", source, depth)

    def ask(self, words: str, depth: int = _OF_ENTRY) -> None:
        self.questions.append(f"{MARK}: {_on_one_line(words)}")
        self.note(self.questions[-1], depth=depth)


def _on_one_line(words: str) -> str:
    """Return the words on one line, because a YAML comment ends with its line."""
    return " ".join(words.split())


def flow(value: Any) -> str:
    """Return a value in YAML's flow style."""
    if isinstance(value, dict):
        return "{" + ", ".join(f"{flow(key)}: {flow(inner)}" for key, inner in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(flow, value)) + "]"
    if isinstance(value, str):
        # `no` and `1e3` are strings only in quotes. A JSON string is a YAML string, too.
        plain = isinstance(value, UnquotedText) or (_PLAIN.fullmatch(value) and yaml.safe_load(value) == value)
        return value if plain else json.dumps(value, ensure_ascii=not value.isprintable())
    if isinstance(value, float) and value.is_integer():
        return str(int(value))
    return json.dumps(value)
