import pytest
import yaml

from kappa.core.ground.errors import InputError
from kappa.core.sites.references import read_sources, source_of

SOURCE = {"match": "A.*", "source": "vendor", "date": "2026-01-02", "samples": 3, "method": "data sheet"}


def write(tmp_path, document):
    path = tmp_path / "network.yaml"
    text = document if isinstance(document, str) else yaml.safe_dump(document).replace("'2026-01-02'", "2026-01-02")
    path.write_text(text)
    return path


def test_first_match_counts(tmp_path):
    path = write(tmp_path, {"$sources": [SOURCE, {**SOURCE, "match": "*", "source": "learned"}]})
    sources = read_sources(path)
    assert source_of(sources, "A.two_nodes.latency_8B") == {
        "source": "vendor", "date": "2026-01-02", "samples": 3, "method": "data sheet",
    }  # fmt: skip
    assert source_of(sources, "B.two_nodes.latency_8B")["source"] == "learned"


def test_no_match_is_none(tmp_path):
    assert source_of(read_sources(write(tmp_path, {"$sources": [SOURCE]})), "B.latency_8B") is None


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ("", "line 1: the document: expected a mapping"),
        ("a: [", "line 1: expected the node content"),
        ({"A": {}}, r"with a list \$sources"),
        ({"$sources": ["A"]}, r"\$sources.0: Expected object, got str"),
        ({"$sources": [SOURCE, {**SOURCE, "source": "hearsay"}]}, r"line 11: \$sources.1.source: .* 'hearsay'"),
        ({"$sources": [{**SOURCE, "date": "soon"}]}, r"\$sources.0.date: expected a date as YYYY-MM-DD, found 'soon'"),
        ({"$sources": [{**SOURCE, "samples": "many"}]}, r"\$sources.0.samples: Expected int, got str"),
        ({"$sources": [{**SOURCE, "metod": "x"}]}, r"\$sources.0.metod: unknown key 'metod': did you mean 'method'?"),
        ({"$sources": [{key: value for key, value in SOURCE.items() if key != "method"}]}, "expected the key method"),
        ("!!python/object/apply:os.system ['true']", "could not determine a constructor"),
    ],
)
def test_a_bad_file_is_named_with_its_key(tmp_path, document, message):
    with pytest.raises(InputError, match=message):
        read_sources(write(tmp_path, document))
