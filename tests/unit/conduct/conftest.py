import pytest

from tests.unit.conduct.quarantined import Ward


@pytest.fixture
def ward(tmp_path, monkeypatch):
    return Ward(tmp_path, monkeypatch)
