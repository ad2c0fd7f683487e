"""Build sdist and wheel of a commit twice, refuse a difference, and write hashes, provenance and a signature.

docs/release.md says how to release, and how a receiver verifies the files. Only the standard library: the pinned build
tools go into an environment of their own.
"""

import argparse
import hashlib
import json
import os
import pathlib
import platform
import shutil
import subprocess
import sys
import tempfile
from typing import Any

LOCK, TOOLS = "requirements.lock", ".ci/requirements.lock"
SUMS, PROVENANCE = "SHA256SUMS", "provenance.intoto.json"
# The second build differs from the first in everything that must not matter.
SURROUNDINGS = (({"TZ": "UTC", "LC_ALL": "C.UTF-8"}, 0o022), ({"TZ": "Asia/Tokyo", "LC_ALL": "C"}, 0o077))


def main() -> int:
    parser = argparse.ArgumentParser("release", description=__doc__)
    parser.add_argument("--commit", default="HEAD", help="the commit to build; default: %(default)s")
    parser.add_argument("--into", type=pathlib.Path, default="dist", help="the new folder; default: %(default)s")
    parser.add_argument("--sign", metavar="minisign:SECRET_KEY_FILE", default="", help="sign the hashes")
    options = parser.parse_args()
    program, _, key = options.sign.partition(":")
    if options.sign and (program != "minisign" or not pathlib.Path(key).is_file()):
        parser.error(f"--sign {options.sign}: expected minisign: and the file of a secret key")
    if options.into.exists():
        parser.error(f"{options.into} exists: remove it, or name another folder with --into")
    commit = _git("rev-parse", "--verify", f"{options.commit}^{{commit}}").decode().strip()
    with tempfile.TemporaryDirectory() as scratch:
        folders = _builds(commit, pathlib.Path(scratch))
        if len({json.dumps(hashes(folder)) for folder in folders}) > 1:
            shutil.copytree(scratch, options.into, ignore=shutil.ignore_patterns("tools"))
            print(f"release: two builds of {commit} differ; compare the folders in {options.into}", file=sys.stderr)
            return 1
        shutil.copytree(folders[0], options.into)
    statement = json.dumps(provenance(commit, options.into), indent=1)
    (options.into / PROVENANCE).write_text(statement + "\n", encoding="utf-8")
    lines = [f"{digest}  {name}\n" for name, digest in hashes(options.into).items()]
    (options.into / SUMS).write_text("".join(lines), encoding="utf-8")
    print(*lines, sep="", end="")
    if not key:
        print(f"{options.into} is not signed; make release SIGN=minisign:SECRET_KEY_FILE signs it")
        return 0
    comment = f"kappa-validation, commit {commit}"
    command = ["minisign", "-S", "-s", key, "-t", comment, "-m", str(options.into / SUMS)]
    return subprocess.run(command, check=False).returncode


def _builds(commit: str, scratch: pathlib.Path) -> list[pathlib.Path]:
    """Build ``commit``, without the files that git does not have, once in each of ``SURROUNDINGS``."""
    named = {name: value for name, value in os.environ.items() if not name.startswith(("PYTHON", "HATCH"))}
    named["SOURCE_DATE_EPOCH"] = _git("log", "-1", "--format=%ct", commit).decode().strip()
    python = str(scratch / "tools/bin/python")
    built: list[pathlib.Path] = []
    for number, (surroundings, umask) in enumerate(SURROUNDINGS, start=1):
        tree, folder = scratch / f"tree{number}", scratch / f"build{number}"
        tree.mkdir()
        subprocess.run(["tar", "--extract"], input=_git("archive", commit), cwd=tree, umask=umask, check=True)
        if not built:
            subprocess.run([sys.executable, "-m", "venv", str(scratch / "tools")], check=True)
            install = [python, "-m", "pip", "install", "--quiet", "--require-hashes", "--only-binary=:all:"]
            subprocess.run([*install, "-r", str(tree / TOOLS)], check=True)
        command = [python, "-m", "build", "--no-isolation", "--outdir", str(folder), str(tree)]
        subprocess.run(command, env=named | surroundings, umask=umask, stdout=subprocess.DEVNULL, check=True)
        (folder / LOCK).write_bytes((tree / LOCK).read_bytes())
        built.append(folder)
    return built


def hashes(folder: pathlib.Path) -> dict[str, str]:
    """Return the SHA-256 of each file, by name."""
    return {path.name: hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(folder.iterdir())}


def provenance(commit: str, folder: pathlib.Path) -> dict[str, Any]:
    """Return an in-toto statement with SLSA's provenance, without time: who builds the commit again gets the same."""
    tools = hashlib.sha256(_git("show", f"{commit}:{TOOLS}")).hexdigest()
    return {
        "_type": "https://in-toto.io/Statement/v1",
        "subject": [{"name": name, "digest": {"sha256": digest}} for name, digest in hashes(folder).items()],
        "predicateType": "https://slsa.dev/provenance/v1",
        "predicate": {
            "buildDefinition": {
                "buildType": "urn:kappa-validation:make-release:1",
                "externalParameters": {"commit": commit},
                "internalParameters": {"python": platform.python_version()},
                "resolvedDependencies": [
                    {"name": "source", "digest": {"gitCommit": commit}},
                    {"name": LOCK, "digest": {"sha256": hashes(folder)[LOCK]}},
                    {"name": TOOLS, "digest": {"sha256": tools}},
                ],
            },
            "runDetails": {"builder": {"id": "urn:kappa-validation:machine-of-the-releaser"}},
        },
    }


def _git(*words: str) -> bytes:
    return subprocess.run(["git", *words], stdout=subprocess.PIPE, check=True).stdout


if __name__ == "__main__":
    try:
        sys.exit(main())
    except subprocess.CalledProcessError as error:
        sys.exit(f"release: {' '.join(error.cmd)} failed")
