import pytest

from kappa.ground.errors import InputError
from kappa.sites.expected import SiteUnknownError, find_site, load_site

GOOD = """
default_mode: nightly
modes:
  smoke: &smoke
    node/partition-state: [cpu, gpu]
  nightly:
    <<: *smoke
    compute/hpl: [cpu]
not_provided: {nvidia: "no\\x1b[31m GPU"}
"""


def write(folder, text):
    (folder / "expected.yaml").write_text(text, encoding="utf-8")
    return folder


def test_a_site(tmp_path):
    (tmp_path / "references").mkdir()
    (tmp_path / "references/network.yaml").touch()
    site = load_site(write(tmp_path, GOOD))
    assert site.modes == {
        "smoke": {"node/partition-state": ("cpu", "gpu")},
        "nightly": {"node/partition-state": ("cpu", "gpu"), "compute/hpl": ("cpu",)},
    }
    assert (site.name, site.default_mode, site.not_provided) == (tmp_path.name, "nightly", {"nvidia": "no GPU"})
    assert site.reference_files == ("network.yaml",)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "the document: expected object, found None"),
        ("modes: [", "not valid YAML"),
        ("modes: {nightly: {a: [cpu]}}", "'default_mode' is a required property"),
        ("default_mode: nightly\nmodes: {}", r"modes: expected \w+ of length >= 1"),
        ("default_mode: nightly\nmodes: {nightly: {}}", r"modes.nightly: expected \w+ of length >= 1"),
        ("default_mode: nightly\nmodes: {nightly: {a: []}}", r"modes.nightly.a: expected \w+ of length >= 1"),
        ("default_mode: nightly\nmodes: {nightly: {a: cpu}}", "modes.nightly.a: expected array, found 'cpu'"),
        ("default_mode: weekly\nmodes: {nightly: {a: [cpu]}}", "default_mode: expected one of nightly, found 'weekly'"),
        ("default_mode: nightly\nmodes: {nightly: {a: [cpu], a: [gpu]}}", "found .a. .*line 2, column 29"),
        ("default_mode: nightly\nmodes: {nightly: {? [a] : [gpu]}}", "expected each key once, and as text"),
        ("default_mode: n\nmodes: {n: {a: [cpu]}}\nnot_provide: {}", "'not_provide' was unexpected"),
        ("default_mode: n\nmodes: {n: {a: [cpu]}}\nnot_provided: {gpu: }", "not_provided.gpu: expected string"),
        ("!!python/object/apply:os.system ['true']", "not valid YAML"),
    ],
)
def test_a_bad_file_is_an_error_that_names_file_and_key(text, message, tmp_path):
    with pytest.raises(InputError, match=message) as caught:
        load_site(write(tmp_path, text))
    assert "expected.yaml" in str(caught.value)


def test_a_missing_or_unreadable_file_is_an_error(tmp_path):
    with pytest.raises(InputError, match=r"cannot read .*expected.yaml: No such file"):
        load_site(tmp_path)
    (tmp_path / "expected.yaml").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(InputError, match=r"cannot read .*expected.yaml"):
        load_site(tmp_path)


def test_the_site_of_a_report(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "site_configs/bench").mkdir(parents=True)
    assert find_site(("bench",)).resolve() == (tmp_path / "site_configs/bench").resolve()
    assert find_site(("embedded",)).is_dir(), "found beside the package from anywhere"


@pytest.mark.parametrize(
    ("systems", "message"),
    [
        ((), "from 0 systems: none"),
        (("a", "b"), "from 2 systems: a, b"),
        (("nowhere",), "no folder site_configs/nowhere"),
        (("../site_configs/embedded",), "cannot be a folder's name"),
        (("/etc",), "cannot be a folder's name"),
        (("..",), "cannot be a folder's name"),
        (("",), "cannot be a folder's name"),
    ],
)
def test_an_unknown_site(systems, message):
    with pytest.raises(SiteUnknownError, match=message):
        find_site(systems)
