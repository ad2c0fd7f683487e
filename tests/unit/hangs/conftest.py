"""The program of the nodes, as a job has it."""

import pytest

from kappa.node import packed


@pytest.fixture(scope="session")
def program(tmp_path_factory):
    path = tmp_path_factory.mktemp("program") / packed.PROGRAM
    path.write_bytes(packed.program())
    return path
