import pytest

from kappa.core.ground.errors import InputError
from kappa.core.sites.expected import SiteUnknownError, find_site, load_site

GOOD = """
default_mode: nightly
modes:
  smoke: &smoke
    node/partition-state: [cpu, gpu]
  nightly:
    <<: *smoke
    compute/hpl: [cpu]
not_provided: {nvidia: no GPU}
"""


MODES = "{nightly: {node/health: [cpu]}}"


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
        ("", "the document: Expected object, got null"),
        ("modes: [", "line 1: expected the node content"),
        (f"modes: {MODES}", "expected the key default_mode"),
        ("default_mode: nightly\nmodes: {}", "line 2: modes: expected at least one entry"),
        ("default_mode: nightly\nmodes: {nightly: {}}", "modes.nightly: expected at least one entry"),
        ("default_mode: nightly\nmodes: {nightly: {node/health: []}}", "node/health: Expected array of length >= 1"),
        ("default_mode: nightly\nmodes: {nightly: {node/health: cpu}}", "node/health: Expected array, got str"),
        (f"default_mode: weekly\nmodes: {MODES}", "unknown mode of this file 'weekly': expected one of nightly"),
        ("default_mode: nihtly\nmodes: {nihtly: {node/health: [cpu]}}", "line 2: .* 'nihtly': did you mean 'nightly'?"),
        ("default_mode: nightly\nmodes: {nightly: {a: [cpu], a: [gpu]}}", "line 2: .* once, and as text; found 'a'"),
        ("default_mode: nightly\nmodes: {nightly: {? [a] : [gpu]}}", "expected each key once, and as text"),
        (f"default_mode: nightly\nmodes: {MODES}\nnot_provide: {{}}", "line 3: .* did you mean 'not_provided'?"),
        (f"default_mode: nightly\nmodes: {MODES}\nnot_provided: {{nvidia: }}", "not_provided.nvidia: Expected str"),
        (f"default_mode: nightly\nmodes: {MODES}\nnot_provided: {{nvidai: no GPU}}", "did you mean 'nvidia'?"),
        ("default_mode: nightly\nmodes: {nightly: {compute/hlp: [cpu]}}", "line 2: .* did you mean 'compute/hpl'?"),
        ("!!python/object/apply:os.system ['true']", "could not determine a constructor"),
        ('modes: "\x1b[2J"', "expected no control characters"),
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
    with pytest.raises(InputError, match=r"expected.yaml: line 1: expected UTF-8"):
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
