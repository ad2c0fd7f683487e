"""Job scripts of a hostile site, run with every program replaced: nothing that a word of the settings holds runs."""

import os
import pathlib
import shutil
import subprocess
import sys

import pytest

from kappa.core.vocabulary.features import stated_folder
from tests.hardening.hostile_settings import WORD
from tests.waiting import PATIENCE_S

REPOSITORY = pathlib.Path(__file__).parents[2]
SETTINGS = pathlib.Path(__file__).with_name("hostile_site.py")
# Every check that takes words of the site; those that take none and other scales have the same command lines.
CHECKS = (
    "^PartitionHealth", "^PartitionState", "^NodeSweep", "^PairSweep", "^NodeScratch", "^Stream",
    "^HplNvidia.*one_node", "^EmtScaling.*one_node.*step", "^EmtCorrectness.*one_node.*step",
    "^(BtIo|Fio|Ior|Mdtest|Iozone).*lustre_hdd.*one_node",
)  # fmt: skip
PROGRAMS = (
    "srun", "mpirun", "apptainer", "sinfo", "scontrol", "lfs", "fio", "ior", "mdtest", "iozone", "cmake",
    "likwid-bench", "likwid-pin", "numactl", "python3", "nvidia-smi", "git", "emt", "sha256sum",
)  # fmt: skip

LAUNCHERS = ("srun", "sinfo", "cmake", "fio")


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    select = [word for check in CHECKS for word in ("-n", check)]
    done = subprocess.run(
        [
            pathlib.Path(sys.executable).with_name("reframe"), "--nocolor", "-C", SETTINGS, "-c",
            REPOSITORY / "reframe_checks", "-R", "--dry-run", "--prefix", folder, *select,
        ],
        env={
            **os.environ, "SLURM_CONF": os.devnull, "KAPPA_SPACK_STATE": str(folder / "no-spack"),
            "KAPPA_HOSTILE_FOLDER": str(folder), "PYTHONPATH": str(REPOSITORY),
        },
        cwd=folder, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    assert not list(folder.rglob("pwned"))
    return folder


@pytest.fixture(scope="module")
def programs(tmp_path_factory):
    """A folder of programs that only write down their words, a line for each call."""
    folder = tmp_path_factory.mktemp("programs")
    for name in PROGRAMS:
        program = folder / name
        program.write_text('#!/bin/bash\n{ printf "%s\\0" "${0##*/}" "$@"; echo; } >> "$KAPPA_CALLS"\n')
        program.chmod(0o755)
    return folder


def test_every_script_hands_the_words_on_and_runs_none(site, programs, tmp_path):
    # Spack's installer, which is not replaced here, gets names that this repository knows.
    scripts = [path for path in sorted((site / "stage").rglob("rfm_job.sh")) if "SpackInstall" not in path.parent.name]
    classes = {script.parent.name.partition("_")[0] for script in scripts}
    assert classes >= {"PartitionHealth", "PartitionState", "NodeScratch", "BtIo", "Stream", "HplNvidia", "IorNode"}
    for target in ("lustre_hdd", "scratch"):
        (site / WORD / target).mkdir(parents=True)
    for number, script in enumerate(scripts):
        folder = tmp_path / str(number)
        folder.mkdir()
        for part in script.parent.glob("*.sh"):
            shutil.copy(part, folder)
        calls = folder / "calls"
        subprocess.run(
            ["bash", script],
            cwd=folder, capture_output=True, timeout=PATIENCE_S, check=False, stdin=subprocess.DEVNULL,
            env={
                "PATH": f"{programs}:/usr/bin:/bin", "KAPPA_CALLS": str(calls), "SLURM_JOB_ID": "1",
                "KAPPA_MEASURES": "1",  # no process answers a script that holds its nodes
            },
        )  # fmt: skip
        assert not list(folder.rglob("pwned*")), script.read_text()
        called = [line.split("\0") for line in calls.read_text().splitlines()]
        for command in LAUNCHERS:
            texts = [part.read_text() for part in (script, script.with_name("series.sh")) if part.exists()]
            lines = [line.removeprefix("trap '") for text in texts for line in text.splitlines()]
            held = ("touch", "$folder")
            asked = [line for line in lines if line.startswith(command + " ") and any(map(line.__contains__, held))]
            asked += [line for line in lines if command == "cmake" and "/kept_build.sh " in line and "touch" in line]
            # It removes the folder on the nodes by a step of its own.
            asked += [line for line in lines if command == "srun" and "/node_folder.sh " in line]
            told = [words for words in called if words[0] == command and any(WORD in word for word in words)]
            assert len(told) == len(asked), script.read_text()
    assert not list(site.rglob("pwned*"))


@pytest.mark.parametrize("path", ["-delete", "scratch", "", "~/x", None])
def test_a_storage_target_is_an_absolute_path(path):
    assert stated_folder({"storage": {"scratch": path}}, "scratch") is None
    assert stated_folder({"storage": {"scratch": "/a b"}}, "scratch") == "/a b"
