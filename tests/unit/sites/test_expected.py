"""``expected.yaml``: results that a site lacks or leaves out, with a reason; and the site of a report."""

import pytest

from kappa.core.ground.errors import InputError
from kappa.core.sites.expected import Expected, LeftOut, read_expected
from kappa.core.sites.load import SiteUnknownError, find_site

GOOD = """
default_mode: smoke
not_provided: {nvidia: no GPU}
left_out:
  - {features: [scale_two_nodes], partitions: [cpu], why: one node is enough}
"""


def write(folder, text):
    (folder / "expected.yaml").write_text(text, encoding="utf-8")
    return folder


def test_what_is_excepted(tmp_path):
    found = read_expected(write(tmp_path, GOOD), None)
    assert (found.default_mode, found.not_provided) == ("smoke", {"nvidia": "no GPU"})
    assert found.left_out == [LeftOut("one node is enough", ["scale_two_nodes"], [], ["cpu"])]
    assert found.reasons == {"scale_two_nodes": "one node is enough"}


@pytest.mark.parametrize("text", [None, "", "# nothing\n", "{}"])
def test_a_site_without_exceptions_needs_no_file(text, tmp_path):
    assert read_expected(tmp_path if text is None else write(tmp_path, text), None) == Expected()
    assert Expected().default_mode == "nightly"


OLD = "default_mode: nightly\nmodes:\n  nightly: {node/health: [cpu]}\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (OLD, "line 2: modes: no longer a key: .* Remove `modes`, .* `left_out`"),
        ("default_mode: [", "line 1: expected the node content"),
        ("default_mode: nihtly", "line 1: default_mode: unknown mode 'nihtly': did you mean 'nightly'?"),
        ("not_provide: {}", "line 1: .* did you mean 'not_provided'?"),
        ("not_provided: {nvidia: }", "not_provided.nvidia: Expected str"),
        ("not_provided: {nvidia: ' '}", "not_provided.nvidia: Expected str matching regex"),
        ("not_provided: {nvidai: no GPU}", "did you mean 'nvidia'?"),
        ("left_out: [{features: [network]}]", "left_out.0: expected the key why"),
        ("left_out: [{why: because}]", "left_out.0: expected the key features, families or partitions"),
        ("left_out: [{why: because, modes: [smoke]}]", "left_out.0: expected the key features, families or"),
        ("left_out: [{feature: network, why: so}]", "unknown key 'feature': did you mean 'features'?"),
        ("left_out: [{features: [netwrok], why: so}]", "left_out.0.features.0: .* did you mean 'network'?"),
        ("left_out: [{families: [compute/hlp], why: so}]", "left_out.0.families.0: .* did you mean 'compute/hpl'?"),
        ("left_out: [{families: [compute/hpl], modes: [smoek], why: so}]", "left_out.0.modes.0: .*'smoke'?"),
        ("left_out: [{features: [network, network], why: so}]", "expected each item once, found 'network' again"),
        ("!!python/object/apply:os.system ['true']", "could not determine a constructor"),
        ('default_mode: "\x1b[2J"', "expected no control or invisible characters"),
    ],
)  # fmt: skip
def test_a_bad_file_is_an_error_that_names_file_and_key(text, message, tmp_path):
    with pytest.raises(InputError, match=message) as caught:
        read_expected(write(tmp_path, text), None)
    assert "expected.yaml" in str(caught.value)


def test_an_unreadable_file_is_an_error(tmp_path):
    (tmp_path / "expected.yaml").write_bytes(b"\xff\xfe\xfa")
    with pytest.raises(InputError, match=r"expected.yaml: line 1: expected UTF-8"):
        read_expected(tmp_path, None)


@pytest.mark.parametrize(
    ("entry", "covered"),
    [
        ({"features": ["network"]}, True),
        ({"features": ["collectives"]}, False),
        ({"features": ["emt"]}, False),  # `emt-build` would do
        ({"features": ["emt", "emt-build"]}, True),
        ({"features": ["network"], "partitions": ["gpu"]}, False),
        ({"features": ["network"], "families": ["a/b"], "partitions": ["cpu"]}, True),
        ({"families": ["c/d"]}, False),
        ({"partitions": ["cpu"]}, True),
        ({"families": ["a/b"], "modes": ["smoke"]}, True),
        ({"families": ["a/b"], "modes": ["full"]}, False),
    ],
)
def test_which_cases_an_entry_covers(entry, covered):
    found = LeftOut(why="so", **entry)
    assert found.covers("smoke", "cpu", "a/b", ["network", "emt|emt-build"]) is covered
    assert Expected(left_out=[found]).leaves_out("smoke", "cpu", "a/b", ["network", "emt|emt-build"]) is covered


def test_a_reason_for_some_families_is_none_for_the_feature():
    some = LeftOut("the switch is shared", ["scale_two_nodes"], families=["compute/hpl"])
    assert Expected(left_out=[some]).reasons == {}


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
