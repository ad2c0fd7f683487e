"""A tender: what the pack has, that a bid becomes the contract, and that each other bid is refused by its line."""

import re

import pytest
import yaml
from msgspec.structs import replace

from kappa.app.command.main import main
from kappa.core.ground.errors import InputError
from kappa.core.sites import contract as contracts
from kappa.core.sites.contract import load_contract
from kappa.core.sites.tender_terms import COMMITMENTS
from reports.acceptance.bid import adopt, changed_sources
from reports.acceptance.dossier import verify, write_dossier
from reports.acceptance.signature import MANIFEST, sha256
from reports.acceptance.tender import suite_problem, write_pack
from tests.unit.acceptance.conftest import Filled, clause, contract
from tests.unit.acceptance.test_dossier import HOSTILE, alter
from tests.unit.acceptance.test_index import index
from tests.unit.acceptance.test_outage_clauses import GOOD as OUTAGES
from tests.unit.acceptance.test_signature import needs_minisign

RULES = {"may_tune": ["compiler flags", "MPI"], "repeats_by": "buyer", "clock": "program"}
OF_OUTAGES = yaml.safe_load(OUTAGES)
RETAINED = {"dossier": "old", "share": 0.9, "every_months": 24}
CLAUSES = (
    clause(text="A small message is fast.", predicted={"value": 5, "source": "secret"}),
    clause(id="1.0", comparison="at_least", statistic={"every_node": 4}),
    index(weights=(1,)),
    *OF_OUTAGES["clauses"],
    {"id": "null", "text": "It stays fast.", "retained": RETAINED, "mandatory": False},
)
# The figures of these clauses, each in its clause's unit.
FIGURES = {"B1": 10, "1.0": 10, "S1": 1, "R1": 300, "A1": 98, "null": 90}
SUITE = "v1.2-3-gabc"


@pytest.fixture(autouse=True)
def suite(tmp_path, monkeypatch):
    """A small suite, so that its 600 sources are not read each time."""
    (tmp_path / "suite/reframe_checks/__pycache__").mkdir(parents=True)
    (tmp_path / "suite/reframe_checks/osu.py").write_text("x")
    (tmp_path / "suite/reframe_checks/__pycache__/osu.pyc").write_text("y")
    monkeypatch.setattr("reports.acceptance.tender.SUITE", tmp_path / "suite")
    return tmp_path / "suite"


@pytest.fixture
def pack(tmp_path):
    def make(*clauses, **head):
        head = {"parties": {"buyer": "B", "vendor": "V"}, "rules": RULES, **head}
        document = contract(*(clauses or CLAUSES), observation=OF_OUTAGES["contract"]["observation"], **head)
        (tmp_path / "acceptance.yaml").write_text(yaml.safe_dump(document, sort_keys=False, allow_unicode=True))
        write_pack(tmp_path / "acceptance.yaml", tmp_path / "pack", SUITE, pdf=False)
        return tmp_path / "pack"

    return make


@pytest.fixture
def fill(tmp_path):
    """Fill the form in, then change it."""

    def make(pack, *changes, figures=FIGURES):
        text = (pack / "bid.yaml").read_text()
        text = text.replace("bidder: null", "bidder: Vendor AG").replace("date: null", "date: 2026-12-24")
        text = text.replace("tuned: []", "tuned: [MPI]").replace("basis: null", "basis: projected")
        text = text.replace("where: null", "where: a model").replace("how: null", "how: by hand")
        for value in figures.values():
            text = text.replace("committed: {value: null", f"committed: {{value: {value}", 1)
            text = text.replace("    value: null", "    value: 7", 1)
        for old, new in changes:
            assert old in text
            text = text.replace(old, new, 1)
        (tmp_path / "bid.yaml").write_text(text)
        return tmp_path / "bid.yaml"

    return make


def without_bid(found):
    clauses = tuple(replace(one, predicted=None) for one in found.clauses)
    return replace(found, clauses=clauses, tender=None)


def test_a_bid_becomes_the_contract(pack, fill, tmp_path):
    bid = fill(pack())
    (tmp_path / "adopted.yaml").write_text(adopt(tmp_path / "pack", bid))
    found = load_contract(tmp_path / "adopted.yaml")
    assert without_bid(found) == without_bid(load_contract(tmp_path / "acceptance.yaml"))
    assert {(one.predicted.value, one.predicted.basis, one.predicted.source) for one in found.clauses} == {
        (7, "projected", "a model: by hand")
    }
    origin = found.tender
    assert (origin.bidder, str(origin.date), origin.suite, origin.tuned) == ("Vendor AG", "2026-12-24", SUITE, ("MPI",))
    assert (origin.pack, origin.bid) == (sha256(tmp_path / "pack" / MANIFEST), sha256(bid))


def test_the_commitments_decide(pack, fill, tmp_path):
    bid = fill(pack(), figures=dict(zip(FIGURES, (8, 11, 2, 500, 99.5, 95), strict=True)))
    (tmp_path / "adopted.yaml").write_text(adopt(tmp_path / "pack", bid))
    fast, wide, least, seldom, there, stays = load_contract(tmp_path / "adopted.yaml").clauses
    assert [one.threshold for one in (fast, wide, least, there, stays)] == [8, 11, 2, 99.5, 95]
    assert (seldom.reliability.promised_h, seldom.reliability.least_h) == (500, 100)


def test_the_pack_has_no_commitment(pack):
    folder = pack()
    text = "".join(path.read_text() for path in folder.iterdir() if path.suffix in (".yaml", ".html"))
    assert "secret" not in text and "promised_h:" not in text and "share:" not in text
    assert "# promised_h at least, in h\n" in text and "# at most, in us\n" in text and "# share at least, in %" in text
    kept = yaml.safe_load((folder / "contract.yaml").read_text())
    assert [one["threshold"] for one in kept["clauses"] if "threshold" in one] == [{"unit": "us"}] * 2
    with pytest.raises(InputError, match="line "):
        load_contract(folder / "contract.yaml")
    inputs = yaml.safe_load((folder / "inputs.yaml").read_text())
    assert (inputs["suite"], [*inputs["files"]]) == (SUITE, ["reframe_checks/osu.py"])


def test_each_kind_of_clause_has_its_commitment():
    assert {*contracts._BLOCKS} <= {one.block for one in COMMITMENTS}


def line_of(path, words, nth=0):
    return [number for number, line in enumerate(path.read_text().splitlines(), 1) if words in line][nth]


@pytest.mark.parametrize(
    ("old", "new", "at", "words"),
    [
        ("value: 10, ", "value: null, ", "committed: {value: null", "Expected float, got null"),
        ("value: 10, ", "value: fast, ", "committed: {value: fast", "Expected float, got str"),
        ("value: 10, ", "value: .inf, ", "committed: {value: .inf", "Expected float"),
        ("value: 10, ", "value: -1, ", "committed: {value: -1", "expected a figure of 0 or more, found -1"),
        ('value: 10, unit: "us"', 'value: 10, unit: "ms"', '"ms"', "expected the unit 'us', found 'ms'"),
        ("value: 98", "value: 101", "value: 101", "availability.least: expected per cent"),
        ("value: 90", "value: 101", "value: 101", "retained.share: expected a share"),
        ("value: 300", "value: 90", "value: 90", "at least 1.05 x least_h"),
        ('clause: "A1"', 'clause: "A2"', '"A2"', "unknown clause 'A2': did you mean 'A1'?"),
        ('clause: "A1"', 'clause: "A2"', "clauses:", "A1: expected each clause of the contract, found no bid for it"),
        ('clause: "A1"', 'clause: "R1"', '"R1"', "R1: expected each clause once"),
        ("tuned: [MPI]", "tuned: [clocks]", "tuned", "unknown item of may_tune 'clocks'"),
        ('"inputs.yaml": "', '"inputs.yaml": "0', '"inputs.yaml"', "expected the SHA-256 of the pack's input, "),
        ('  "emt_app"', '  "emt"', '"emt"', "unknown input of the pack 'emt': did you mean 'emt_app'?"),
        ('  "emt_app"', '  "emt"', "inputs:", "expected the input emt_app of the pack"),
        ("basis: projected", "basis: guessed", "guessed", "unknown name 'guessed'"),
        ("where: a model", "where: ''", "where: ''", ""),
        ("2026-12-24", "2026-13-24", "2026-13-24", ""),
        ("    how: by hand\n", "", "evidence:", "expected the key how"),
        ("bidder: Vendor AG", "bidder: Vendor AG\n  price: 3", "price", "unknown key 'price'"),
    ],
)
def test_a_bid_is_refused_by_line(pack, fill, old, new, at, words):
    bid = fill(pack(), (old, new))
    with pytest.raises(InputError) as error:
        adopt(bid.parent / "pack", bid)
    line = line_of(bid, at, -1 if at == '"R1"' else 0)
    assert any(f"bid.yaml: line {line}: " in one and words in one for one in str(error.value).splitlines())


def test_a_bid_names_all_its_faults_at_once(pack, fill):
    bid = fill(pack(), ("value: 98", "value: 101"), ('"inputs.yaml": "', '"inputs.yaml": "0'), ("[MPI]", "[clocks]"))
    with pytest.raises(InputError) as error:
        adopt(bid.parent / "pack", bid)
    assert len(str(error.value).splitlines()) == 3


def test_at_least_nothing_is_no_commitment(pack, fill):
    bid = fill(pack(), figures={**FIGURES, "1.0": 0})
    with pytest.raises(InputError, match="expected a figure above 0, found 0"):
        adopt(bid.parent / "pack", bid)


@pytest.mark.parametrize("name", ["contract.yaml", "inputs.yaml", "bid.html", "bid.yaml"])
def test_a_changed_byte_of_the_pack_is_named(pack, fill, name):
    folder = pack()
    bid = fill(folder)
    alter(folder / name)
    with pytest.raises(InputError, match=f"pack: altered: {re.escape(name)}"):
        adopt(folder, bid)


def test_a_bid_on_another_pack_is_refused(pack, fill, tmp_path):
    bid = fill(pack())
    (tmp_path / "pack").rename(tmp_path / "first")
    with pytest.raises(InputError, match=r"inputs\.contract\.yaml: expected the SHA-256"):
        adopt(pack(title="Another"), bid)


def test_changed_sources_of_the_suite_are_named(pack, suite):
    folder = pack()
    assert changed_sources(folder) == []
    (suite / "reframe_checks/osu.py").write_text("z")
    (suite / "emt_app").mkdir()
    (suite / "emt_app/new.cpp").write_text("z")
    assert changed_sources(folder) == ["emt_app/new.cpp", "reframe_checks/osu.py"]


def adopted(pack, bid, *agreed):
    """Return the file of the bid's contract, with agreements of the parties."""
    document = yaml.safe_load(adopt(pack, bid))
    document["contract"]["tender"]["agreed"] = list(agreed)
    file = bid.parent / "adopted.yaml"
    file.write_text(yaml.safe_dump(document))
    return file


def test_another_suite_than_the_frozen_one_needs_an_agreement_of_all_parties(pack, fill, suite):
    folder = pack(clause())
    bid = fill(folder, figures={"B1": 9.5})
    own = load_contract(bid.parent / "acceptance.yaml")
    assert suite_problem(load_contract(adopted(folder, bid))) == suite_problem(own) == ""
    (suite / "reframe_checks/osu.py").write_text("z")
    problem = suite_problem(load_contract(adopted(folder, bid)))
    [change] = re.findall(r"\breframe_checks [0-9a-f]{16}\b", problem)
    assert SUITE in problem
    agreement = {"change": change, "reason": "a fault", "parties": ["vendor", "buyer"], "date": "2026-12-24"}
    found = load_contract(adopted(folder, bid, agreement))
    assert suite_problem(found) == ""
    (suite / "reframe_checks/osu.py").write_text("y")
    assert change not in suite_problem(found) != ""
    with pytest.raises(InputError, match=r"line \d+: contract\.tender\.agreed\[0\]\.parties"):
        load_contract(adopted(folder, bid, {**agreement, "parties": ["vendor"]}))


def test_a_run_refuses_another_suite_and_the_parties_may_agree_later(pack, fill, suite, tmp_path, capsys):
    bid = fill(pack(clause(), system="embedded"), figures={"B1": 9.5})
    file = adopted(tmp_path / "pack", bid)
    campaign = Filled(tmp_path / "campaign")
    campaign.folder.mkdir()
    campaign.freeze(file)
    (suite / "reframe_checks/osu.py").write_text("z")
    for action, clauses in (("run", []), ("time", ["B1"])):
        new = str(tmp_path / "new")
        assert main(["acceptance", action, "embedded", new, *clauses, "--contract", str(file)]) == 2
        assert "adopted.yaml: contract.tender.sources: " in capsys.readouterr().err
    assert not (tmp_path / "new").exists()
    agreement = {"change": "reframe_checks 0", "reason": "r", "parties": ["buyer", "vendor"], "date": "2026-12-24"}
    campaign.freeze(adopted(tmp_path / "pack", bid, agreement))
    assert [*campaign.earlier_contracts()] == ["contract.1.yaml"]


@pytest.mark.parametrize(
    ("clauses", "head", "words"),
    [
        ([], {"rules": None}, "line 1: contract: expected the key rules"),
        ([], {"rules": {**RULES, "repeats_by": "nobody"}}, "repeats_by: expected one of buyer, vendor"),
        ([], {"rules": {**RULES, "clock": "sundial"}}, "clock"),
        ([clause(threshold={"value": -1, "unit": "us"})], {}, "threshold.value: expected a figure of 0 or more"),
        ([clause(waiver={"reason": "r", "name": "n", "date": "2026-11-21"})], {}, "expected no waiver"),
        ([clause(selector={"check": "OsuLatenzy", "metric": "m"})], {}, "did you mean 'OsuLatency'?"),
        ([clause(selector={"family": "network/nothing", "metric": "m"})], {}, "unknown family"),
    ],
)
def test_a_contract_that_is_no_tender_is_refused(pack, clauses, head, words):
    with pytest.raises(InputError, match=re.escape(words)):
        pack(*clauses, **head)


def test_text_in_the_forms_is_harmless(pack, fill, tmp_path):
    text = re.sub(r"[\x00-\x1f]", "", HOSTILE) + "\n- clause: X"
    folder = pack(clause(text=text, threshold={"value": 10, "unit": "{u: '\"#"}), title=text,
                  rules={**RULES, "may_tune": [text.replace("\n", " ")]})  # fmt: skip
    page = (folder / "bid.html").read_text()
    assert "<script" not in page and "<img" not in page and "49" not in re.sub("[0-9a-f]{16,}", "", page)
    bid = fill(folder, ("tuned: [MPI]", "tuned: []"))
    (tmp_path / "adopted.yaml").write_text(adopt(folder, bid))
    assert without_bid(load_contract(tmp_path / "adopted.yaml")) == load_contract(tmp_path / "acceptance.yaml")


@needs_minisign
def test_the_command_packs_adopts_and_signs(pack, fill, tmp_path, keys, capsys):
    folder, new = str(tmp_path / "new"), str(tmp_path / "adopted.yaml")
    pack()
    assert main(["tender", "pack", str(tmp_path / "acceptance.yaml"), "-o", folder]) == 0
    assert (tmp_path / "new/bid.pdf").read_bytes()[:4] == b"%PDF"
    assert main(["tender", "pack", str(tmp_path / "acceptance.yaml"), "-o", folder]) == 2
    bid = str(fill(tmp_path / "new"))
    assert [main(["tender", "adopt", folder, bid, *output]) for output in ([], ["-o", new], ["-o", new])] == [0, 0, 2]
    assert main(["tender", "verify", new]) == 2
    assert "expected a tender pack, or a contract that" in capsys.readouterr().err
    for name in ("Buyer", "Vendor"):
        assert main(["tender", "sign", new, f"minisign:{keys[name][1]}", "--party", name]) == 0
    both = [word for public, _ in keys.values() for word in ("--key", public)]
    assert main(["tender", "verify", new, *both]) == 0
    assert main(["tender", "verify", folder]) == 2  # not signed
    (tmp_path / "adopted.yaml").write_text((tmp_path / "adopted.yaml").read_text().replace("98", "97"))
    assert main(["tender", "verify", new, *both]) == 1
    assert main(["tender", "sign", new, f"minisign:{keys['Buyer'][1]}"]) == 2
    assert "differs from the signed copy" in capsys.readouterr().err


def test_the_dossier_has_a_table_of_the_commitments(pack, fill, tmp_path):
    bid = fill(pack(clause()), figures={"B1": 9.5})
    campaign = Filled(tmp_path / "campaign").demand()
    (campaign.folder / "contract.yaml").write_text(adopt(tmp_path / "pack", bid))
    write_dossier(campaign.measure(9, 9, 9), tmp_path / "dossier", pdf=False, how_signed=None)
    assert verify(tmp_path / "dossier").problems == []
    page = (tmp_path / "dossier/dossier.html").read_text()
    table = page.partition("<h2>Commitments</h2>")[2].partition("</table>")[0]
    cells = re.findall("<t[hd][^>]*>(.*?)</t", table.partition("<thead>")[2])
    assert cells == [
        *("Clause", "Committed", "Projected", "Measured", "Retained"),
        *("B1", "≤ 9.5 us", "7 us (projected)", "9 us", "–"),
    ]
    assert "Vendor AG" in page and SUITE in page
    facts = dict(re.findall('<tr><th scope="row">(.*?)</th><td>(.*?)</td>', page))
    assert facts["May be tuned"] == "<div>compiler flags</div><div>MPI</div>" and facts["Repeats"] == "run by: buyer"


def test_a_dossier_without_a_bid_has_no_such_table(campaign, tmp_path):
    write_dossier(campaign.measure(9, 9, 9), tmp_path / "dossier", pdf=False, how_signed=None)
    assert "<h2>Commitments</h2>" not in (tmp_path / "dossier/dossier.html").read_text()
