"""A writer that is killed, has no room or no permission: the old file or the new one, never a part."""

import os
import pathlib
import random
import signal
import stat
import time

import pytest

from kappa.app.conduct import night
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import write_atomically
from tests.tiers import few_or_many
from tests.unit.history.nights import history_of
from tests.unit.reports.samples import latency


@few_or_many("least", 20, 100)
def test_killed_at_random_points(tmp_path, least):
    target = tmp_path / "verdict.json"
    wholes = {letter * 3_000_000 for letter in "ab"}
    write_atomically(target, min(wholes))
    chance = random.Random(1)
    left, kills = [], 0
    while kills < least or (not left and kills < 100 * least):
        kills += 1
        child = os.fork()
        if not child:
            while True:
                for whole in wholes:
                    write_atomically(target, whole)
        time.sleep(chance.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        assert target.read_text() in wholes
        left = [path.name for path in tmp_path.iterdir() if path != target]
    assert left, "no kill fell into a write"
    assert all(name.startswith(".") and name.endswith(".part") for name in left)
    write_atomically(target, "after")
    assert target.read_text() == "after"


def test_a_pipe_is_written_into_and_stays(tmp_path):
    """As root, so does a device: /dev/null is everybody's."""
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    with pytest.raises(InputError):
        write_atomically(pipe, "nobody reads")
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    write_atomically(pipe, "text")
    assert os.read(reader, 100) == b"text" and pipe.is_fifo() and [*tmp_path.iterdir()] == [pipe]
    os.close(reader)


@pytest.mark.parametrize(
    ("write", "name"),
    [
        (lambda folder: write_atomically(folder / "page.html", "text"), "page.html"),
        (lambda folder: history_of(folder, [[latency()]]), "values.parquet"),
        (lambda folder: night.keep(folder, {"night": "2026-11-21"}), "night.json"),
    ],
)
def test_on_the_disk_before_it_has_its_name_and_then_the_name(tmp_path, monkeypatch, write, name):
    """A power cut forgets what was not synced, in any order."""
    steps, fsync, replace = [], os.fsync, os.replace

    def synced(handle):
        status = os.fstat(handle)
        steps.append("folder" if stat.S_ISDIR(status.st_mode) else f"file of {status.st_size} B")
        fsync(handle)

    def renamed(part, path):
        steps.append(f"named {pathlib.Path(path).name}")
        replace(part, path)

    monkeypatch.setattr(os, "fsync", synced)
    monkeypatch.setattr(os, "replace", renamed)
    write(tmp_path)
    [path] = tmp_path.rglob(name)
    assert steps == [f"file of {path.stat().st_size} B", f"named {name}", "folder"]


def test_only_the_owner_reads_it(tmp_path):
    write_atomically(tmp_path / "page.html", "text")
    assert stat.S_IMODE((tmp_path / "page.html").stat().st_mode) == 0o600


def test_a_link_is_replaced_not_followed(tmp_path):
    (tmp_path / "precious").write_text("kept")
    (tmp_path / "page.html").symlink_to("precious")
    write_atomically(tmp_path / "page.html", "text")
    assert (tmp_path / "precious").read_text() == "kept"


def test_a_full_disk(tmp_path):
    """A limit on the size of files fails a write half-way, as a full disk does."""
    target = tmp_path / "page.html"
    write_atomically(target, "old")
    child = os.fork()
    if not child:
        import resource  # noqa: PLC0415

        signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
        resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
        try:
            write_atomically(target, "x" * 3_000_000)
        except InputError as err:
            os._exit(0 if "cannot write" in str(err) else 1)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert [path.name for path in tmp_path.iterdir()] == ["page.html"]
    assert target.read_text() == "old"


def test_no_permission_is_a_message():
    with pytest.raises(InputError, match="cannot write"):
        write_atomically(pathlib.Path("/proc/page.html"), "text")
