"""No include of the simulator goes up: emt_app/README.md lists its folders from bottom to top."""

import re
from pathlib import Path

APP = Path(__file__).resolve().parents[2] / "emt_app"
SOURCES = APP / "src"


def test_no_include_goes_up() -> None:
    layers = re.findall(r"^\| \d+ \| `src/(\w+)` \|", (APP / "README.md").read_text(), re.MULTILINE)
    assert sorted(layers) == sorted(path.name for path in SOURCES.iterdir() if path.is_dir())
    height = {name: i for i, name in enumerate(layers)}
    wrong, seen = [], 0
    for path in SOURCES.glob("*/*"):
        for included in re.findall(r'^\s*#\s*include "(?:\.\./)*([^"]+)"', path.read_text(), re.MULTILINE):
            seen += 1
            folder = included.partition("/")[0] if "/" in included else path.parent.name
            if height.get(folder, len(layers)) > height[path.parent.name]:
                wrong.append(f"{path.relative_to(APP)} includes {included}, which is above it")
    assert not wrong
    assert seen > 100
