"""Site files that would exhaust memory, or hold impossible dates and numbers, are refused."""

import os

import pytest

from kappa.core.ground.documents import SIZE_LIMIT, YamlFile
from kappa.core.ground.errors import InputError
from kappa.core.sites.load import Site
from kappa.core.sites.references import read_sources

LAUGHS = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n" + "".join(
    f"a{level}: &a{level} [{', '.join([f'*a{level - 1}'] * 10)}]\n" for level in range(1, 10)
)
HOSTILE = {
    "aliases": (LAUGHS, "more than 200,000 values"),
    "of itself": ("not_provided: &m\n  nvidia: *m\n", "an alias to something that contains it"),
    "deep": ("left_out: " + "[" * 100_000, "nested too deeply"),
    "long number": ("left_out: " + "1" * 10_000, "expected a number of at most 100 characters"),
    "object": ("left_out: !!python/object/apply:os.system ['true']", "could not determine a constructor"),
    "escape codes": ("default_mode: \x1b[2J", "expected no control or invisible characters"),
}


@pytest.mark.parametrize(("text", "message"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_site_file_is_refused_by_name(tmp_path, text, message):
    (tmp_path / "expected.yaml").write_text(text)
    with pytest.raises(InputError, match=message) as error:
        _ = Site(tmp_path).expected
    assert str(tmp_path / "expected.yaml") in str(error.value)


@pytest.mark.parametrize(("text", "message"), HOSTILE.values(), ids=HOSTILE)
def test_a_hostile_reference_file_is_refused(tmp_path, text, message):
    (tmp_path / "network.yaml").write_text(text)
    with pytest.raises(InputError, match=message):
        read_sources(tmp_path / "network.yaml")


def test_aliases_in_measure_are_welcome(tmp_path):
    file = tmp_path / "file.yaml"
    for text, value in (("a: &a [1, 2]\nb: *a", {"a": [1, 2], "b": [1, 2]}), ("", None)):
        file.write_text(text)
        assert YamlFile(file).value == value
    file.write_text("a: [")
    with pytest.raises(InputError, match="line 1"):
        YamlFile(file)


def test_a_huge_site_file_is_refused(tmp_path):
    with (tmp_path / "expected.yaml").open("wb") as file:
        file.truncate(SIZE_LIMIT + 1)
    with pytest.raises(InputError, match=r"expected.yaml: larger than 1,048,576 bytes"):
        _ = Site(tmp_path).expected


def test_a_pipe_does_not_block(tmp_path):
    os.mkfifo(tmp_path / "expected.yaml")
    with pytest.raises(InputError, match=r"expected.yaml: not a regular file"):
        _ = Site(tmp_path).expected


def test_bytes_that_are_no_text(tmp_path):
    (tmp_path / "network.yaml").write_bytes(b"a: \xff\n")
    with pytest.raises(InputError, match="expected UTF-8"):
        read_sources(tmp_path / "network.yaml")
