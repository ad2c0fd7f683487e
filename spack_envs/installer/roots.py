"""The specs that an environment of the suite asks for: the list ``specs`` of its ``spack.yaml``.

Read and written as text, without a parser of YAML: the files are the suite's own, one spec a line.
"""

import json
import re
from collections.abc import Sequence

_LIST = re.compile(r"(?<=^  specs:\n)(?:^  (?:- |#).*\n)+", re.MULTILINE)
_COMMENT = re.compile(r"\s+#.*")


def roots(text: str) -> list[str]:
    """The specs in a ``spack.yaml`` of the suite.

    :raises ValueError: it has no such list.
    """
    found = _LIST.search(text)
    if not found:
        raise ValueError("expected `  specs:` and a line `  - SPEC` for each")
    lines = [line for line in found[0].splitlines() if line.startswith("  - ")]
    return [_COMMENT.sub("", line.removeprefix("  - ")).strip() for line in lines]


def with_roots(text: str, specs: Sequence[str]) -> str:
    """``text`` with these specs and no others."""
    # JSON is YAML, whatever a spec holds.
    return _LIST.sub(lambda _: "".join(f"  - {json.dumps(spec)}\n" for spec in specs), text, count=1)
