"""Find Spack, or clone the pinned release, and run it with the site's configuration only."""

import json
import os
import re
import subprocess
import tempfile
import time
import tomllib
from pathlib import Path
from typing import Any

from kappa.core.ground.clean_text import clean, one_line
from kappa.core.vocabulary.spack_tables import ENVIRONMENTS
from spack_envs.installer import build_log
from spack_envs.installer.build_log import SHOWN, pieces
from spack_envs.installer.state import SpackEnvironment, SpackSite, state_root, write_shared

#: Namespace of the suite's recipes.
OWN_RECIPES = "kappa"
#: Variables of the user's own Spack, which would affect this one. The last one disables SPACK_USER_CONFIG_PATH.
_FOREIGN = ("SPACK_ENV", "SPACK_ENV_VIEW", "SPACK_ROOT", "SPACK_DISABLE_LOCAL_CONFIG")
# Number of failures that are shown. Spack's output has all of them.
_MOST = 5


class InstallError(RuntimeError):
    """An installation failed. The message says what failed, where, and what to do."""


class Spack:
    """Spack with the configuration of one environment of one site."""

    def __init__(self, root: Path, environment: SpackEnvironment):
        self.root = root
        self.environment = environment
        self.version = _version(root)
        self._write_configuration(environment.site)

    @property
    def command(self) -> list[str]:
        folders = [*self.environment.facts(), self.environment.released]
        scopes = [word for folder in folders if folder.is_dir() for word in ("-C", str(folder))]
        return [str(self.root / "bin/spack"), "--color=never", *scopes, "-e", str(self.environment.folder)]

    @property
    def variables(self) -> dict[str, str]:
        site = self.environment.site.folder
        own = {key: value for key, value in os.environ.items() if key not in _FOREIGN}
        return {
            **own,
            "SPACK_USER_CONFIG_PATH": str(site / "config"),
            "SPACK_SYSTEM_CONFIG_PATH": str(site / "no-system-configuration"),
            "SPACK_USER_CACHE_PATH": str(site / "cache"),
        }

    def run(self, *arguments: str, log: Path) -> None:
        """Run Spack, print its output, and append it to ``log``.

        :raises subprocess.CalledProcessError: Spack failed. ``output`` has its output.
        """
        command = [*self.command, *arguments]
        lines = []
        with (
            log.open("a", encoding="utf-8") as file,
            subprocess.Popen(
                command,
                env=self.variables,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                stdin=subprocess.DEVNULL,
                text=True,
                errors="replace",
            ) as process,
        ):
            assert process.stdout is not None
            for line in pieces(process.stdout):
                # Keep the leading blanks: they show the tree of dependencies.
                said = clean(line).rstrip()
                print(f"  {said}" if len(said) <= SHOWN else f"  {said[: SHOWN - 1]}…", flush=True)
                file.write(line)
                lines.append(line)
        if process.returncode:
            raise subprocess.CalledProcessError(process.returncode, command, output="".join(lines))

    def answer(self, *arguments: str) -> str:
        """Run Spack, and return its standard output.

        :raises InstallError: Spack failed. It has printed the reason on standard error.
        """
        command = [*self.command, *arguments]
        try:
            return subprocess.check_output(command, env=self.variables, text=True)
        except subprocess.CalledProcessError as err:
            raise InstallError(f"`spack {' '.join(arguments)}` ended with status {err.returncode}") from None

    def settings(self) -> dict[str, Any]:
        """Return Spack's settings: the sections ``packages`` and ``compilers``, and

        - the names of packages that are compilers,
        - the providers of each virtual package with a requirement of the site,
        - the folder of each repository of recipes.

        :raises InstallError: Spack failed, or its answer cannot be read.
        """
        if not (Path(self.variables["SPACK_USER_CACHE_PATH"]) / "cache/providers").is_dir():
            # Spack then caches the providers.
            print(f"{self.environment.name}: Spack reads all its recipes once, for about a minute", flush=True)
        said = self.answer("python", str(ENVIRONMENTS / "tell_settings.py"))
        try:
            found: dict[str, Any] = json.loads(said)
        except ValueError as err:
            raise InstallError(
                f"`spack python tell_settings.py` printed no JSON: {err}: {one_line(said, SHOWN)}"
            ) from None
        return found

    def _write_configuration(self, site: SpackSite) -> None:
        recipes = {OWN_RECIPES: str(ENVIRONMENTS / "repo")}
        if self.root == _clone_folder("spack"):
            recipes["builtin"] = str(_clone_folder("packages") / "repos/spack_repo/builtin")
        # A list up to Spack 0.23, a mapping since 1.0. JSON is valid YAML.
        repos = list(recipes.values()) if self.version < (1,) else recipes
        config = {
            "install_tree": {"root": str(site.folder / "store")},
            # Spack's own folder may be read-only. All its other files are below SPACK_USER_CACHE_PATH.
            "source_cache": str(site.folder / "cache/sources"),
            "build_stage": [str(site.folder / "stage")],
            "test_stage": str(site.folder / "stage/tests"),
        }
        write_shared(site.folder / "config/repos.yaml", json.dumps({"repos": repos}) + "\n")
        write_shared(site.folder / "config/config.yaml", json.dumps({"config": config}) + "\n")


def find(environment: SpackEnvironment) -> Path:
    """Return Spack's folder: ``$KAPPA_SPACK_ROOT``, else the earlier value, else a clone of the pinned release.

    :raises InstallError: there is none, and the release cannot be cloned.
    """
    given = environment.setting("KAPPA_SPACK_ROOT")
    if not given:
        return _bootstrap()
    root = Path(given).resolve()
    if not (root / "bin/spack").is_file():
        raise InstallError(f"no bin/spack in {root}: set KAPPA_SPACK_ROOT to the folder of a Spack checkout")
    return root


def _version(root: Path) -> tuple[int, ...]:
    file = root / "lib/spack/spack/__init__.py"
    try:
        match = re.search(r'^__version__ = "(\d+)\.(\d+)', file.read_text(encoding="utf-8"), re.MULTILINE)
    except OSError as err:
        raise InstallError(f"{root} is no Spack: {err}; set KAPPA_SPACK_ROOT to a Spack checkout") from err
    if match is None:
        raise InstallError(f"{file}: no version found; Spack 0.23 or later is needed")
    return int(match[1]), int(match[2])


def release() -> dict[str, dict[str, str]]:
    """Return the pinned releases: ``url``, ``tag`` and ``commit`` of ``spack`` and of ``packages``, its recipes."""
    return tomllib.loads((ENVIRONMENTS / "release.toml").read_text(encoding="utf-8"))


def _clone_folder(part: str) -> Path:
    return state_root() / f"{part}-{release()[part]['tag']}"


def _bootstrap() -> Path:
    for part, pin in release().items():
        folder = _clone_folder(part)
        if not folder.is_dir():
            print(f"cloning {pin['url']} {pin['tag']} into {folder}", flush=True)
            _clone(pin, folder)
    return _clone_folder("spack")


def _clone(pin: dict[str, str], folder: Path) -> None:
    folder.parent.mkdir(parents=True, exist_ok=True)
    quiet = ["-c", "advice.detachedHead=false", "clone", "--quiet", "--depth=1"]
    try:
        with tempfile.TemporaryDirectory(prefix=f".{folder.name}.", dir=folder.parent) as place:
            clone = Path(place, "clone")
            subprocess.run(["git", *quiet, "--branch", pin["tag"], pin["url"], str(clone)], check=True)
            head = subprocess.run(
                ["git", "-C", str(clone), "rev-parse", "HEAD"], check=True, capture_output=True, text=True
            ).stdout.strip()
            if head != pin["commit"]:
                raise InstallError(
                    f"{pin['url']}: tag {pin['tag']} is commit {head}, release.toml says {pin['commit']}"
                )
            clone.replace(folder)
    except (OSError, subprocess.CalledProcessError) as err:
        raise InstallError(
            f"cannot clone {pin['url']} ({err}).\nWithout a network: clone {pin['tag']} elsewhere, copy it here, and "
            "set KAPPA_SPACK_ROOT to it (Spack 1.x also needs the recipes in its etc/spack/repos.yaml: docs/spack.md)"
        ) from err


def step(spack: Spack, what: str, *arguments: str) -> None:
    """Run one step of Spack, and print how long it took.

    :raises InstallError: it failed. The message has the reason.
    """
    name, log = spack.environment.name, spack.environment.folder / "install.log"
    started = time.monotonic()
    print(f"{name}: {what}", flush=True)
    try:
        spack.run(*arguments, log=log)
    except subprocess.CalledProcessError as err:
        raise InstallError(_why(what, err.output, log)) from None
    print(f"{name}: {what} took {time.monotonic() - started:.0f} s", flush=True)


def _why(step: str, output: str, log: Path) -> str:
    failed = build_log.failures(output)
    lines = [line for failure in failed[:_MOST] for line in _told(failure)]
    if failed[_MOST:]:
        lines.append(f"  and {len(failed) - _MOST} more")
    if not lines:
        said = [line for line in output.splitlines() if line.strip()]
        lines = [f"  {one_line(line, build_log.SHOWN)}" for line in said[-3:]]
    if "clingo" in output and step == "solving":
        lines.append("  Spack's solver is missing: `pip install clingo`, and set SPACK_PYTHON to that Python")
    return "\n".join([f"{step} failed (Spack's output: {log})", *lines])


def _told(failure: build_log.Failure) -> list[str]:
    reason = f"{failure.package}: {failure.reason}" if failure.package else failure.reason
    return [
        f"  {reason}",
        *(f"    {line}" for line in failure.more),
        *([f"    log: {failure.log}"] if failure.log else []),
    ]
