"""The partitions of a national centre with 1,002 nodes, as recorded; its nodes are composed after the five recorded.

Features of the nodes are chosen so that kinds overlap as theirs do: `type_m` beside `type_m,type_io`.
"""

import re

from kappa.app.survey.records import node_names
from tests.unit.survey.clusters import DATA

FIELD = DATA.parent / "field_cases/survey"
PARTITIONS_TEXT = (FIELD / "17-scontrol-partition-1002-nodes.txt").read_text()
_RECORDED = {
    name: re.sub(r"\n\s+", " ", record).strip()
    for record in (FIELD / "17-scontrol-node-excerpt.txt").read_text().split("\n\n")
    if (name := record.partition("NodeName=")[2].partition(" ")[0])
}


def _like(name: str) -> str:
    """Which of the recorded nodes stands for it."""
    if name in _RECORDED:
        return name
    if "g" in name:
        return "r01g01"
    if "m" in name:
        return "r08m01"
    return "r01c01" if name < "r05" else "r18c01" if name.startswith(("r18", "r07")) else "m"


def nodes_text() -> str:
    """All nodes, each on one line."""
    lines = []
    for name in node_names(re.search(r"\n   Nodes=(\S+)", PARTITIONS_TEXT)[1], "test"):
        like = _like(name)
        text = _RECORDED["r18c01" if like == "m" else like]
        if like == "m":
            text = text.replace("type_m,type_io", "type_m").replace("Gres=nvme:1490", "Gres=(null)")
        lines.append(re.sub(rf"\b{re.escape('r18c01' if like == 'm' else like)}\b", name, text))
    return "\n".join(lines) + "\n"
