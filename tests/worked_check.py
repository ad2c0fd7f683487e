"""The worked example of ``docs/checks.md``, written as the page says into a copy of the suite."""

import pathlib
import re
import shutil

REPOSITORY = pathlib.Path(__file__).parents[1]
CHECK = "StepStart"
PARTS = ("kappa", "reframe_checks", "site_configs", "spack_envs")
_BLOCK = re.compile(r"`(?P<path>[\w./-]+\.\w+)`[^\n]*:\n\n```\w+\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)


def written_into(folder: pathlib.Path) -> dict[str, str]:
    """Copy the suite to ``folder`` with the files of the page; returns the environment in which ReFrame takes it."""
    for part in PARTS:
        shutil.copytree(REPOSITORY / part, folder / part, ignore=shutil.ignore_patterns("__pycache__"))
    blocks = list(_BLOCK.finditer((REPOSITORY / "docs/checks.md").read_text(encoding="utf-8")))
    new = [block for block in blocks if not (folder / block["path"]).exists()]
    assert [pathlib.PurePath(block["path"]).suffix for block in new] == [".py"], "one file"
    assert [block["path"].split("/")[-2] for block in blocks if block not in new] == ["references"], "and references"
    for block in blocks:
        path = folder / block["path"]
        text = path.read_text(encoding="utf-8") if path.exists() else ""
        path.write_text(block["text"] + text, encoding="utf-8")
    references = folder / "site_configs/embedded/references"
    return {"PYTHONPATH": str(folder), "RFM_REFERENCE_PREFIX": str(references)}
