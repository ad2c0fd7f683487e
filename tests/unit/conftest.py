import pathlib

import pytest

DATA = pathlib.Path(__file__).parents[1] / "data"


@pytest.fixture(scope="session")
def recorded():
    """``recorded("folder/file")`` is the text of a recorded output."""
    return lambda name: (DATA / name).read_text(encoding="utf-8")
