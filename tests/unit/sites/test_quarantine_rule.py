"""The key ``quarantine`` of ``site.yaml``: mistakes are refused with file and line, and its commands filled in."""

import pytest

from kappa.core.ground.errors import InputError
from kappa.core.sites.site_file import describe
from kappa.core.vocabulary.rules import RESERVE, filled
from tests.unit.sites.test_site import GOOD, REPOSITORY, SETTINGS

RULE = """\
quarantine:
  drain: [scontrol, update, "NodeName={node}", State=DRAIN, "Reason={reason}"]
  resume: [scontrol, update, "NodeName={node}", State=RESUME]
  evidence: [node-bound, facts]
  most_a_night: 2
"""


@pytest.fixture
def site(tmp_path):
    def written(old="", new=""):
        folder = tmp_path / "site_configs/here"
        folder.mkdir(parents=True)
        assert old in RULE
        (folder / "site.yaml").write_text(RULE.replace(old, new, 1) + GOOD)
        (folder / "settings.py").write_text(SETTINGS.read_text())
        return describe(folder)

    return written


def test_a_rule(site):
    rule = site().described.quarantine
    assert (rule.most_a_night, rule.lasts_days, rule.at_end, rule.mode) == (2, 7.0, "test", "nightly")
    assert tuple(rule.reserve) == RESERVE


def test_the_rule_of_the_page(site):
    page = (REPOSITORY / "docs/quarantine.md").read_text(encoding="utf-8")
    rule = site(RULE, page.split("```yaml\n")[1].split("```")[0]).described.quarantine
    assert rule.evidence == ["node-bound", "confirmed"]


def test_without_it_there_is_no_rule(site):
    assert site(RULE, "").described.quarantine is None


@pytest.mark.parametrize(
    ("old", "new", "line", "words"),
    [
        ("drain:", "drian:", 2, "unknown key 'drian': did you mean 'drain'?"),
        ("node-bound", "node-bond", 4, "unknown kind of evidence 'node-bond': did you mean 'node-bound'?"),
        ("[node-bound, facts]", "[]", 4, "quarantine.evidence: Expected array of length >= 1"),
        ('"NodeName={node}", State=DRAIN', '"NodeName={nod}", State=DRAIN', 2, "unknown placeholder 'nod': did you"),
        ('"Reason={reason}"', "Reason=bad", 2, "quarantine.drain: expected {reason} in an argument"),
        ('"NodeName={node}", State=RESUME', "State=RESUME", 3, "quarantine.resume: expected {node} in an argument"),
        ("drain: [", "drain: scontrol #", 2, "quarantine.drain: Expected array, got str"),
        ("most_a_night: 2", "most_a_night: 0", 5, "quarantine.most_a_night: Expected int >= 1"),
        ("most_a_night: 2", "lasts_days: -1", 5, "quarantine.lasts_days: Expected float > 0"),
        ("most_a_night: 2", "at_end: resume", 5, "unknown name 'resume'"),
        ("most_a_night: 2", "mode: nihtly", 5, "unknown mode 'nihtly': did you mean 'nightly'?"),
        ("most_a_night: 2", "unreserve: [scontrol]", 5, "quarantine.unreserve: expected {reservation} in an argument"),
        ("  resume:", "  # resume:", 1, "quarantine.at_end: test needs the key resume"),
    ],
)
def test_a_mistake_is_refused_with_its_line(site, old, new, line, words):
    with pytest.raises(InputError) as raised:
        site(old, new)
    assert words in str(raised.value)
    assert f"site.yaml: line {line}: " in str(raised.value)


def test_a_rule_that_only_tells_needs_no_way_back(site):
    rule = site('  resume: [scontrol, update, "NodeName={node}", State=RESUME]', "  at_end: tell").described.quarantine
    assert (rule.at_end, rule.resume) == ("tell", [])


def test_what_is_put_in_a_place_is_put_there_as_it_is():
    command = filled(["drain", "{node}", "Reason={reason} of {node}"], node="n1", reason="{node} $(rm) 'x' {0.a}")
    assert command == ("drain", "n1", "Reason={node} $(rm) 'x' {0.a} of n1")
