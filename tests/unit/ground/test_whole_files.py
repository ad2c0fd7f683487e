"""Kappa refuses a device or a pipe in place of a file at once: a device has no end, and a pipe may have no writer."""

import os
import signal

import pytest

from kappa.core.ground import folders
from kappa.core.ground.errors import InputError
from kappa.core.ground.whole_files import opened, read_bytes, read_text
from kappa.core.record.journal import is_whole
from kappa.core.record.load import load_session
from reports.acceptance.campaign.layout import LOG
from reports.acceptance.kinds.energy_readings import load_meters
from reports.acceptance.outages.log import load_log
from reports.waveforms.recording import read_run

PATIENCE_S = 60


@pytest.fixture(params=["pipe", "device"])
def odd(request, tmp_path):
    """odd(name): a path of this name that is no regular file."""

    def give_up(*_):
        pytest.fail("waits for the writer of a pipe, or reads a device")  # no OSError, which the readers handle

    def make(name):
        path = tmp_path / name
        path.parent.mkdir(parents=True, exist_ok=True)
        if request.param == "pipe":
            os.mkfifo(path)
        else:
            path.symlink_to("/dev/zero")
        return path

    before = signal.signal(signal.SIGALRM, give_up)
    signal.alarm(PATIENCE_S)
    yield make
    signal.alarm(0)
    signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("read", [opened, lambda path: read_bytes(path, 100), lambda path: read_text(path, 100)])
def test_reading_refuses_it(odd, read):
    with pytest.raises(OSError, match="not a regular file"):
        read(odd("file"))


@pytest.mark.parametrize(
    ("name", "read"),
    [
        ("run-report.json", load_session),
        (LOG, lambda path: load_log(path.parent)),
        ("energy/meter.jsonl", lambda path: load_meters(path.parent.parent)),
        ("run.csv", lambda path: read_run(str(path))),
        ("run.cff", lambda path: read_run(str(path))),
    ],
)
def test_a_command_names_it(odd, name, read):
    with pytest.raises(InputError, match=name):
        read(odd(name))


def test_the_users_configuration_may_be_none(odd, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    odd("kappa/config.toml")
    with pytest.raises(InputError, match=r"config\.toml"):
        folders._configuration()


def test_a_part_of_a_report_that_is_no_file_is_not_whole(odd):
    assert not is_whole(odd("run-report.json.part"))
