"""What of the suite a session's options selected: what they left out is one reason to be incomplete, not one each."""

import shlex
from collections.abc import Sequence

from reports.verdict.gaps import Gap

_SELECT = ("-n", "--name", "-x", "--exclude", "-t", "--tag", "-T", "--exclude-tag", "-p", "--prgenv", "-E",
           "--filter-expr", "--system", "--gpu-only", "--cpu-only")  # fmt: skip


def selecting(command_line: str) -> list[str]:
    """The options of ReFrame's command line that select cases, in whatever way they are written."""
    try:
        words = shlex.split(command_line)
    except ValueError:
        return []
    found = []
    for word, after in zip(words, [*words[1:], ""], strict=True):
        name = word.partition("=")[0] if word.startswith("--") else word[:2]
        if name in _SELECT and not (name == "--system" and ":" not in word + after):
            found.append(f"{word} {after}" if word == name and not name.endswith("-only") else word)
    return found


def in_one(gaps: Sequence[Gap], command_line: str, mode: str) -> list[Gap]:
    """``gaps``, with what the session's options have left out of ``mode`` as one."""
    options = selecting(command_line)
    absent = [gap for gap in gaps if gap.absent]
    if not options or not absent:
        return list(gaps)
    left = f"{' '.join(options)} leaves out {len(absent)} of what it expects"
    one = Gap(f"only a part of mode {mode} was selected", f"for the mode's verdict run all of it: --mode {mode}", left)
    return [*(gap for gap in gaps if not gap.absent), one]
