"""Slurm's commands for four nodes whose states are in a file: for what a real Slurm does not do at will.

``scontrol`` sources the scripts ``before`` and ``after``, where there are any, with its words as ``$1`` ….
"""

import pathlib
import sys

_SCONTROL = """\
#!/bin/bash
set -euo pipefail
cd {folder}
echo "$*" >> called
if [[ -f before ]]; then . ./before "$@"; fi
{python} -I - "$@" <<'END'
import pathlib, sys
path = pathlib.Path("nodes")
words = dict(word.split("=", 1) for word in sys.argv[2:] if "=" in word)
if sys.argv[1] == "update":
    state, reason = {{"DRAIN": ("drained", words.get("Reason")), "RESUME": ("idle", "none")}}[words["State"]]
    lines = [line.split("|") for line in path.read_text().splitlines()]
    changed = [[*line[:2], state, reason] if line[1] == words["NodeName"] else line for line in lines]
    path.write_text("".join("|".join(line) + "\\n" for line in changed))
END
if [[ -f after ]]; then . ./after; fi
"""
_SINFO = "#!/bin/bash\ncat {folder}/nodes\n"


class Slurm:
    def __init__(self, folder: pathlib.Path) -> None:
        self.folder = folder
        folder.mkdir()
        self.bin = folder / "bin"
        self.bin.mkdir()
        for name, text in (("scontrol", _SCONTROL), ("sinfo", _SINFO)):
            (self.bin / name).write_text(text.format(folder=folder, python=sys.executable))
            (self.bin / name).chmod(0o755)
        (folder / "nodes").write_text("".join(f"cpu|node{number}|idle|none\n" for number in range(1, 5)))

    def put(self, node: str, state: str, reason: str = "none") -> None:
        lines = (self.folder / "nodes").read_text().splitlines()
        changed = [f"cpu|{node}|{state}|{reason}" if line.split("|")[1] == node else line for line in lines]
        (self.folder / "nodes").write_text("\n".join(changed) + "\n")

    def shown(self, node: str) -> str:
        """Its state and reason."""
        lines = (self.folder / "nodes").read_text().splitlines()
        return next(line.split("|", 2)[2] for line in lines if line.split("|")[1] == node)

    @property
    def called(self) -> list[str]:
        path = self.folder / "called"
        return path.read_text().splitlines() if path.exists() else []
