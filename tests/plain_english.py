"""Warn of words that CONTRIBUTING.md#english forbids, in the lines that a branch changed: part of ``make lint``.

``python -m tests.plain_english`` reads pages (``*.md``), strings and docstrings of Python, and strings of C++ and of
shell scripts. It warns only: its exit status is always 0.
"""

import ast
import pathlib
import re
import subprocess
import sys
from collections import defaultdict
from collections.abc import Iterator

PAGE = "CONTRIBUTING.md#english"
FORBIDDEN = re.compile(
    r"\b(of which|that of|what is|held against|hold against|nobody|by itself|it is that|are those that)\b",
    re.IGNORECASE,
)
CODE = re.compile(r"`[^`]*`")
QUOTED = re.compile(r'"(?:[^"\\]|\\.)*"')
BRANCHES = ("origin/HEAD", "origin/main", "main")
# This file and its test name the words.
READ = ("*.md", "*.py", "*.cpp", "*.hpp", "*.sh", ":!tests/plain_english.py", ":!tests/unit/test_plain_english.py")


def changed_lines(diff: str) -> dict[str, dict[int, str]]:
    """Parse the output of ``git diff -U0 --no-prefix``: file -> number of each added line -> its text."""
    found: dict[str, dict[int, str]] = defaultdict(dict)
    path, number, left = "", 0, 0
    for line in diff.splitlines():
        # A hunk's lines are counted: an added line may look like a header.
        if left and line.startswith("+"):
            found[path][number] = line[1:]
            number, left = number + 1, left - 1
        elif hunk := re.match(r"@@ -\S+ \+(\d+)(?:,(\d+))? @@", line):
            number, left = int(hunk[1]), int(hunk[2] or 1)
        elif line.startswith("+++ "):
            path = line[4:].rstrip("\t")
    return found


def python_strings(source: str) -> dict[int, str]:
    """Return the text of all strings and docstrings: number of the line -> text; nothing if Python cannot parse it."""
    try:
        tree = ast.parse(source)
    except SyntaxError:
        return {}
    lines, found = source.splitlines(), {}
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr) or (isinstance(node, ast.Constant) and isinstance(node.value, str)):
            for number in range(node.lineno, (node.end_lineno or node.lineno) + 1):
                first = node.col_offset if number == node.lineno else 0
                last = node.end_col_offset if number == node.end_lineno else None
                piece = lines[number - 1].encode()[first:last].decode(errors="replace")
                found[number] = f"{found.get(number, '')} {piece}"
    return found


def warnings(path: pathlib.Path, added: dict[int, str], named: str) -> Iterator[str]:
    """Yield a warning for each forbidden word in the lines ``added`` to the file ``path``.

    :param named: the path as the warning names it.
    """
    suspicious = {number: text for number, text in added.items() if FORBIDDEN.search(text)}
    if not suspicious:
        return
    if path.suffix == ".py":
        strings = python_strings(path.read_text(encoding="utf-8"))
        suspicious = {number: strings.get(number, "") for number in suspicious}
    elif path.suffix == ".md":
        suspicious = {number: CODE.sub("", text) for number, text in suspicious.items()}
    else:
        suspicious = {number: " ".join(QUOTED.findall(text)) for number, text in suspicious.items()}
    for number, text in suspicious.items():
        for words in dict.fromkeys(match.lower() for match in FORBIDDEN.findall(text)):
            yield f"{named}:{number}: warning: avoid {words!r}; the rules are in {PAGE}"


def base(root: pathlib.Path) -> str:
    """Return the commit where the branch left origin's default branch or ``main``; the last commit without either."""
    for branch in BRANCHES:
        found = _git(root, "merge-base", "HEAD", branch).strip()
        if found:
            return found
    return "HEAD"


def check(root: pathlib.Path) -> list[str]:
    """Return the warnings for the work tree ``root``; none where git knows no work tree."""
    options = ("-U0", "--no-prefix", "--no-color", "--no-ext-diff", "--diff-filter=d")
    diff = _git(root, "diff", *options, base(root), "--", *READ)
    return [
        line
        for named, added in changed_lines(diff).items()
        if (root / named).is_file()
        for line in warnings(root / named, added, named)
    ]


def _git(root: pathlib.Path, *arguments: str) -> str:
    command = ["git", "-C", str(root), "-c", "core.quotePath=false", *arguments]
    try:
        # stderr: a branch that does not exist is no error here.
        done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, check=False)
    except OSError:
        return ""
    return done.stdout.decode(errors="replace") if done.returncode == 0 else ""


if __name__ == "__main__":
    for warning in check(pathlib.Path.cwd()):
        print(warning, file=sys.stderr)
