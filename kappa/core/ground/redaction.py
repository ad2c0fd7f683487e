"""Secrets that someone gave as an option or that a job printed, kept out of what is shown."""

import re
import shlex

REDACTED = "REDACTED"
# Bounded: a line of a job may be one word of megabytes.
_NAME = r"[\w.:@-]{0,64}(?:token|passw|secret|key|credential)[\w.:@-]{0,64}"
# To the end of the word: a secret may hold any character.
_SECRET = re.compile(rf"(?P<name>{_NAME}=).+", re.IGNORECASE | re.DOTALL)
_PRIVATE_KEY = re.compile(
    r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.S
)
_IN_TEXT = (
    # To the end of the line.
    re.compile(rf"(?P<name>{_NAME}\s*=[ \t]*)\S.*", re.IGNORECASE),
    re.compile(
        r"(?P<name>\b(?:authorization|pass(?:word|phrase|wd)|secret|(?:api|access)[ _-]?key|token)s?[\"']?:[ \t]*)\S.*",
        re.IGNORECASE,
    ),
    re.compile(r"(?P<name>://[^\s/:@]*:)[^\s/@]+(?=@)"),
    # As GitHub, GitLab, Amazon and JSON web tokens begin.
    re.compile(r"(?P<name>\b(?:gh[opusr]_|glpat-|AKIA|eyJ))[\w.-]{12,}"),
)


def redacted(command_line: str) -> str:
    """``command_line`` without the values of what has the name of a secret."""
    if not _SECRET.search(command_line):
        return command_line
    try:
        words = shlex.split(command_line)
    except ValueError:
        return _hidden(command_line)
    return shlex.join(map(_hidden, words))


def without_secrets(text: str) -> str:
    """A job's output without private keys, what has the name of a secret, and what looks like one."""
    text = _PRIVATE_KEY.sub(REDACTED, text)
    for pattern in _IN_TEXT:
        text = pattern.sub(rf"\g<name>{REDACTED}", text)
    return text


def _hidden(word: str) -> str:
    return _SECRET.sub(rf"\g<name>{REDACTED}", word)
