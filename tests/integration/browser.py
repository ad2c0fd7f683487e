"""Chromium without a window, as the tests of pages use it."""

import pathlib
import re
import shutil
import subprocess
from collections.abc import Callable

from tests.waiting import PATIENCE_S

CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
_POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')


def browser(folder: pathlib.Path) -> Callable[..., "subprocess.CompletedProcess[str]"]:
    """A function that opens a page from ``folder`` and returns what Chromium printed on standard output and error."""

    def browse(text: str, *options: str, width: int = 1280, height: int = 1000) -> "subprocess.CompletedProcess[str]":
        page = folder / "page.html"
        page.write_text(text, encoding="utf-8")
        return subprocess.run(
            [
                str(CHROMIUM), "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                "--hide-scrollbars", f"--window-size={width},{height}", "--virtual-time-budget=8000",
                "--enable-logging=stderr", f"--user-data-dir={folder / 'profile'}", *options, page.as_uri(),
            ],
            capture_output=True, text=True, check=True, timeout=PATIENCE_S,
        )  # fmt: skip

    return browse


def without_policy(text: str) -> str:
    """The page without its policy, which would rightly keep a test's own script from running."""
    return _POLICY.sub("", text)
