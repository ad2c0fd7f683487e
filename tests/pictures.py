"""The picture of a report for the README: ``python -m tests.pictures RUN`` (``make pictures``: the newest run here)."""

import pathlib
import sys
import tempfile

from tests.integration.browser import CHROMIUM, browser

PICTURE = pathlib.Path(__file__).parents[1] / "docs/report.png"
WIDTH, HEIGHT = 1280, 1500


def main() -> None:
    if CHROMIUM is None:
        sys.exit("there is no Chromium: install the package chromium")
    if len(sys.argv) != 2 or not (page := pathlib.Path(sys.argv[1], "report.html")).is_file():
        sys.exit("expected the folder of a run with its report.html: `kappa validate embedded` makes one")
    with tempfile.TemporaryDirectory() as folder:
        browse = browser(pathlib.Path(folder))
        browse(page.read_text(encoding="utf-8"), f"--screenshot={PICTURE}", width=WIDTH, height=HEIGHT)


if __name__ == "__main__":
    main()
