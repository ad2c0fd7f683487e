"""Secrets that someone gave as an option, kept out of what is shown."""

import re
import shlex

REDACTED = "REDACTED"
# To the end of the word: a secret may hold any character.
_SECRET = re.compile(r"(?P<name>[\w.:@-]*(?:token|passw|secret|key|credential)[\w.:@-]*=).+", re.IGNORECASE | re.DOTALL)


def redacted(command_line: str) -> str:
    """``command_line`` without the values of what has the name of a secret."""
    if not _SECRET.search(command_line):
        return command_line
    try:
        words = shlex.split(command_line)
    except ValueError:
        return _hidden(command_line)
    return shlex.join(map(_hidden, words))


def _hidden(word: str) -> str:
    return _SECRET.sub(rf"\g<name>{REDACTED}", word)
