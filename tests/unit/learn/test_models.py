import pytest
import yaml

from kappa.app.command.main import main
from kappa.core.ground.errors import InputError
from reports.learn.models import modelled

STREAM = {
    "file": "compute.yaml",
    "reference": ["Stream", "one_node", "triad"],
    "unit": "MB/s",
    "model": "memory_channels",
    "inputs": {"sockets": 2, "channels": 12, "mega_transfers_per_s": 4800},
    "at_least": 0.8,
}


def written(folder, *entries):
    path = folder / "models.yaml"
    path.write_text(yaml.safe_dump(list(entries)), encoding="utf-8")
    return path


def test_memory_channels(tmp_path):
    (found,) = modelled(written(tmp_path, STREAM))
    assert (found.limits.centre, found.limits.lower) == (921600, pytest.approx(737280))
    assert found.method == "2 socket(s) x 12 channels x 4800 MT/s x 8 B = 921600 MB/s; at least 80%"
    assert found.source == "theoretical"


def test_link_rate_in_both_directions(tmp_path):
    entry = {**STREAM, "model": "link_rate", "inputs": {"gbit_per_s": 200, "directions": 2}}
    assert modelled(written(tmp_path, entry))[0].limits.centre == 50000


def test_peak_of_fused_multiply_adds(tmp_path):
    inputs = {"cores": 64, "ghz": 2.0, "fma_units": 2, "vector_bits": 512}
    entry = {**STREAM, "unit": "Gflop/s", "model": "fma_peak", "inputs": inputs}
    assert modelled(written(tmp_path, entry))[0].limits.centre == 4096


def test_a_contract_names_its_clause(tmp_path):
    inputs = {"value": 1.5, "document": "Contract 12-3", "clause": "table 4"}
    entry = {**STREAM, "unit": "us", "model": "contract", "inputs": inputs, "at_most": 1}
    del entry["at_least"]
    (found,) = modelled(written(tmp_path, entry))
    assert (found.source, found.limits.upper, found.method) == (
        "contract", 1.5, "Contract 12-3, table 4: 1.5; at most 100%",
    )  # fmt: skip


@pytest.mark.parametrize(
    "change, said",
    [
        ({"model": "guess"}, "model"),
        ({"inputs": {"sockets": 2}}, "channels"),
        ({"inputs": {**STREAM["inputs"], "chanels": 1}}, "chanels"),
        ({"inputs": {**STREAM["inputs"], "sockets": "2"}}, "expected number"),
        ({"unit": "GB/s"}, "gives MB/s"),
        ({"file": "../x.yaml"}, "file"),
        ({"at_least": None}, "at_least"),
    ],
)
def test_what_is_wrong_is_named(tmp_path, change, said):
    with pytest.raises(InputError, match=said):
        modelled(written(tmp_path, {**STREAM, **change}))


def test_models_become_a_patch(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    references = tmp_path / "site_configs/here/references"
    references.mkdir(parents=True)
    (references.parent / "settings.py").touch()
    (references / "compute.yaml").write_text("Stream:\n  $index: [scale]\n", encoding="utf-8")
    assert main(["learn", "here", "--models", str(written(tmp_path, STREAM))]) == 0
    assert "+    triad: [921600.0, -0.2, null, MB/s]" in capsys.readouterr().out
