"""The pictures in README and docs: ``python -m tests.pictures RUN`` (``make pictures``: the newest run here).

RUN is the folder of a run of `PairSweep`, best of one with a slow link.
"""

import pathlib
import sys
import tempfile

from tests.integration.browser import CHROMIUM, browser, without_policy

DOCS = pathlib.Path(__file__).parents[1] / "docs"
# Lays one plot over the page.
_ALONE = """<script>addEventListener("load", () => {
  const plots = [...document.querySelectorAll("figure.plot")];
  const plot = plots.find(one => one.textContent.trim().startsWith("PairSweep: bandwidth"));
  const over = {position: "fixed", inset: "0", margin: "0", padding: "10px", background: "white", zIndex: 9};
  Object.assign(plot.style, over);
  dispatchEvent(new Event("resize"));
});</script>"""


def main() -> None:
    if CHROMIUM is None:
        sys.exit("there is no Chromium: install the package chromium")
    if len(sys.argv) != 2 or not (page := pathlib.Path(sys.argv[1], "report.html")).is_file():
        sys.exit("expected the folder of a run with its report.html: `kappa validate embedded` makes one")
    run = page.resolve().parent
    # The picture must not show its place on this machine.
    text = page.read_text(encoding="utf-8").replace(str(run), f"results/embedded/runs/{run.name}")
    if "PairSweep: bandwidth" not in text:
        sys.exit(f"{page}: expected a run of PairSweep, `kappa validate embedded smoke` for instance")
    with tempfile.TemporaryDirectory() as folder:
        browse = browser(pathlib.Path(folder))
        browse(text, f"--screenshot={DOCS / 'report.png'}", width=1280, height=1500)
        alone = without_policy(text).replace("</body>", f"{_ALONE}</body>")
        browse(alone, f"--screenshot={DOCS / 'pair-sweep.png'}", width=1000, height=470)


if __name__ == "__main__":
    main()
