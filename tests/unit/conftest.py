import pathlib

import pytest

DATA = pathlib.Path(__file__).parents[1] / "data"


@pytest.fixture(scope="session")
def recorded():
    """``recorded("folder/file")`` is the text of a recorded output."""
    return lambda name: (DATA / name).read_text(encoding="utf-8")


@pytest.fixture
def on_path(tmp_path, monkeypatch):
    """Write a program that comes first on PATH; returns its path."""
    folder = tmp_path / "bin"
    folder.mkdir()
    monkeypatch.setenv("PATH", str(folder), prepend=":")

    def written(name, text):
        path = folder / name
        path.write_text(text)
        path.chmod(0o755)
        return path

    return written
