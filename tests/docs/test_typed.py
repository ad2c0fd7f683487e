"""Every command of the pages, typed in order in a fresh clone, as root and as a user (``make test-docs``, 35 min)."""

import os
import pathlib
import re
import shutil
import subprocess

import pytest

from kappa.core.ground.folders import SUITE as REPOSITORY
from tests.docs.typed import commands

pytestmark = pytest.mark.skipif(not os.environ.get("KAPPA_TEST_DOCS"), reason="`make test-docs` runs it")

PAGES = ("README.md", "emt_app/README.md", "docs/acceptance.md", "docs/history.md", "docs/quarantine.md")
USERS = ("root", "games")
RANGE = "600100000-600165535"
LIMIT_S = 1500
# Commands that run for hours, need another cluster or call the tests: their replacement, and the reason.
INSTEAD = {
    "make test": ("make -n test", "calls the tests"),
    "kappa node quarantine": ("kappa node quarantine --help", "needs a rule in site.yaml; test_quarantine.py types it"),
    "kappa node return": ("kappa node return --help", "needs a rule in site.yaml; test_quarantine.py types it"),
    "kappa night schedule": ("kappa night schedule embedded sbatch --at 02:00 --dry-run", "a chain of every night"),
}
# Commands that the reader of a page typed before, and the command that ends them.
_READY = ("make setup", ". .venv/bin/activate")
BEFORE = {
    "docs/acceptance.md": _READY,
    "docs/history.md": (*_READY, "kappa validate embedded smoke -n PartitionState || true"),
    "docs/quarantine.md": _READY,
}
AFTER = {"docs/acceptance.md": ("kappa cluster down",)}
# A command that ends otherwise than with 0, as the page says that it does.
ENDS = {
    "kappa validate embedded smoke -n PairSweep": (1, "a fault is there"),
    "kappa history embedded --add": (0, "it judges nothing"),
    "kappa history embedded": (2, "one run is too little to judge"),
    "kappa learn embedded --check": (2, "one run is too little to hold references against"),
    "kappa learn embedded >": (1, "one run is too little to learn from"),
}


@pytest.fixture
def namespaces():
    """The range of user namespaces that every user has whom `adduser` made; `games` has come with the system."""
    ranges = (("subuids", "/etc/subuid"), ("subgids", "/etc/subgid"))
    missing = [
        kind for kind, file in ranges
        if not re.search(f"^{USERS[1]}:", pathlib.Path(file).read_text(encoding="utf-8"), re.MULTILINE)
    ]  # fmt: skip
    for kind in missing if os.geteuid() == 0 else ():
        subprocess.run(["usermod", f"--add-{kind}", RANGE, USERS[1]], check=True)
    yield
    for kind in missing if os.geteuid() == 0 else ():
        subprocess.run(["usermod", f"--del-{kind}", RANGE, USERS[1]], check=True)


@pytest.fixture(params=USERS)
def shell(request, namespaces):
    """shell(commands): their exit statuses and all that they print, typed by this user in one shell in a fresh clone.

    Another page than the README begins where that has ended: with the environment that `make setup` has made.
    """
    if request.param != "root" and os.geteuid() != 0:
        pytest.skip("only root can be another user")
    base = pathlib.Path("/var/tmp") / f"kappa-docs-{request.param}-{os.getpid()}"
    clone = base / "clone"
    subprocess.run(["git", "clone", "--quiet", REPOSITORY, clone], check=True)
    subprocess.run(["chown", "-R", f"{request.param}:", base], check=True)

    environment = {"HOME": base, "PATH": os.environ["PATH"], "USER": request.param, "OMPI_ALLOW_RUN_AS_ROOT": 1,
                   "OMPI_ALLOW_RUN_AS_ROOT_CONFIRM": 1}  # fmt: skip

    def run(typed):
        lines = [f'{command}\necho "@@@ {number} $?"' for number, command in enumerate(typed)]
        (base / "typed.sh").write_text("\n".join(lines))
        done = subprocess.run(
            ["setpriv", f"--reuid={request.param}", f"--regid={request.param}", "--clear-groups",
             "env", "-i", *(f"{name}={value}" for name, value in environment.items()), "bash", base / "typed.sh"],
            cwd=clone, capture_output=True, text=True, timeout=LIMIT_S, check=False,
        )  # fmt: skip
        return [int(status) for status in re.findall(r"^@@@ \d+ (\d+)$", done.stdout, re.MULTILINE)], done

    yield run
    shutil.rmtree(base, ignore_errors=True)


@pytest.mark.parametrize("page", PAGES)
def test_what_a_page_tells_to_type(page, shell):
    told = [*BEFORE.get(page, ()), *commands((REPOSITORY / page).read_text(encoding="utf-8")), *AFTER.get(page, ())]
    typed = [next((other for start, (other, _) in INSTEAD.items() if line.startswith(start)), line) for line in told]
    statuses, done = shell(typed)
    wanted = [next((status for start, (status, _) in ENDS.items() if line.startswith(start)), 0) for line in typed]
    wrong = [(line, got, want) for line, got, want in zip(typed, statuses, wanted, strict=True) if got != want]
    assert not wrong, f"{wrong}\n{done.stdout[-6000:]}\n{done.stderr[-6000:]}"
