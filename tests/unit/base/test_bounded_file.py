"""Files are read whole, whatever size the file system claims, and never beyond the limit."""

from pathlib import Path

import pytest

from kappa.core.ground.whole_files import read_text


def test_a_file_without_a_size_is_read_whole():
    path = Path("/proc/self/mounts")
    assert path.stat().st_size == 0
    assert read_text(path, 2**20) == path.read_text()


@pytest.mark.parametrize("path", ["/proc/self/mounts", __file__])
def test_the_limit_holds(path):
    with pytest.raises(OSError, match="larger than 10 bytes"):
        read_text(Path(path), 10)


def test_a_file_as_long_as_the_limit_fits(tmp_path):
    path = tmp_path / "file"
    path.write_bytes(b"one\r\ntwo\r")
    assert read_text(path, path.stat().st_size) == "one\ntwo\n"
