import re

import pytest

from kappa.core.fabrics.description import fabric_names, find_fabric, load_fabric, numbers
from kappa.core.ground.errors import InputError
from kappa.core.ground.folders import SUITE as REPOSITORY
from tests.unit.fabrics.conftest import SHIPPED, number


@pytest.mark.parametrize("name", fabric_names(SHIPPED))
def test_each_shipped_fabric_loads(name):
    fabric = find_fabric(SHIPPED, name)
    assert fabric.nodes > 1
    # A calibrated one stands for a partition as it is.
    assert fabric.calibration or fabric.variants.degraded or fabric.variants.shared
    # Every number says where it is from, in more than a word.
    assert all(len(each.source) > 8 for _, each in numbers(fabric))


def test_the_papers_machines_are_there():
    kinds = {name: find_fabric(SHIPPED, name).topology.__struct_config__.tag for name in fabric_names(SHIPPED)}
    assert set(kinds.values()) == {"fat-tree", "torus", "mesh", "all-to-all"}
    sizes = {name: find_fabric(SHIPPED, name).nodes for name in ("nsim-ace-16", "nsim-ace-256", "hdr-8", "hdr-3")}
    assert sizes == {"nsim-ace-16": 16, "nsim-ace-256": 256, "hdr-8": 8, "hdr-3": 3}


def test_the_fabric_of_the_page_loads(tmp_path):
    page = (REPOSITORY / "docs/simulated.md").read_text(encoding="utf-8")
    path = tmp_path / "two-leaves.yaml"
    path.write_text(re.search(r"```yaml\n(.*?)```", page, re.DOTALL)[1])
    assert load_fabric(path).nodes == 16


def lose(switches=(), links=()):
    return {"degraded": {"descr": "lost", "switches": list(switches), "links": list(links)}}


@pytest.mark.parametrize(
    ("topology", "change", "message"),
    [
        ("tree", lambda d: d.pop("link"), "expected the key link"),
        ("tree", lambda d: d.update(lnk=1), "line 74: lnk: unknown key 'lnk': did you mean 'link'"),
        ("tree", lambda d: d.update(name="other"), "line 1: name: expected 'made'"),
        ("tree", lambda d: d["topology"].update(shape="tree"), "line 5: topology.shape: unknown shape 'tree'"),
        ("tree", lambda d: d["topology"].pop("shape"), "topology: expected the key shape, one of fat-tree"),
        ("tree", lambda d: d["topology"].pop("up"), "topology: expected the key up"),
        ("tree", lambda d: d["topology"].update(up=number([1, 2])), "topology.up: expected 3 figures"),
        ("tree", lambda d: d["topology"].update(up=number([2, 2, 2])), "topology.up: expected 1 as the first"),
        ("tree", lambda d: d["topology"].update(nodes=number(13)), "topology.nodes: expected 2 to 12"),
        ("tree", lambda d: d["link"].update(bandwidth_gb_s=10.0), "link.bandwidth_gb_s: Expected object, got float"),
        ("tree", lambda d: d["link"]["bandwidth_gb_s"].pop("source"), "link.bandwidth_gb_s: expected the key source"),
        ("tree", lambda d: d["link"]["bandwidth_gb_s"].update(source=""), "link.bandwidth_gb_s.source: Expected str"),
        ("tree", lambda d: d["link"]["bandwidth_gb_s"].update(origin="guess"), "unknown name 'guess'"),
        ("tree", lambda d: d["link"]["bandwidth_gb_s"].update(value=0), "expected more than 0"),
        ("tree", lambda d: d["link"]["bandwidth_gb_s"].update(value=-1), "link.bandwidth_gb_s.value: Expected float"),
        ("tree", lambda d: d["link"]["bandwidth_gb_s"].update(value=float("nan")), "Expected float >= 0.0, found nan"),
        ("tree", lambda d: d["link"]["bandwidth_gb_s"].update(value=float("inf")), "link.bandwidth_gb_s.value"),
        ("tree", lambda d: d["link"]["payload_share"].update(value=1.2), "payload_share.value: expected more than 0"),
        ("tree", lambda d: d.update(kind="calibrated"), "kind: expected spec-only"),
        ("tree", lambda d: d["software"]["send_us"].update(origin="fitted"), "expected calibrated: software.send_us"),
        ("tree", lambda d: d["topology"].update(parallel=number([1, 1, 1 << 30])), "a product of at most 100000"),
        ("chassis", lambda d: d["topology"].update(asics_per_chassis=number(5)), "at most one for each socket"),
        ("chassis", lambda d: d["topology"].update(links_between_asics=number(65)), "expected at most 64"),
        ("torus", lambda d: d.update(in_network={"level_latency_us": number(1)}), "in_network: expected a fat tree"),
        ("torus", lambda d: d["topology"].update(sizes=number([2] * 7)), "topology.sizes.value: Expected array"),
        ("torus", lambda d: d["topology"].update(sizes=number([99, 99])), "topology.sizes: expected 2 to 1024 nodes"),
        ("tree", lambda d: d.update(variants=lose(["s2.99"])), "unknown switch 's2.99': did you mean 's2.3'"),
        ("tree", lambda d: d.update(variants=lose(["s1.0"])), "this one cuts n[0-9]+ off"),
        ("tree", lambda d: d.update(variants=lose([], ["n3-s1.1"])), "this one cuts n3 off"),
        ("mesh", lambda d: d.update(variants=lose(["r0.0.0"])), "cuts n0 off"),
        ("tree", lambda d: d.update(variants=lose()), "expected at least one lost switch or link"),
        (
            "tree",
            lambda d: d.update(
                variants={
                    "shared": {"descr": "x", "links": "all", "share": number(1.0), "packet_bytes": number(4096)}
                }
            ),
            "variants.shared.share: expected less than 1",
        ),
    ],
)  # fmt: skip
def test_what_is_wrong_is_named(make, topology, change, message):
    with pytest.raises(InputError, match=message) as error:
        make(topology, change)
    assert "made.yaml: line " in str(error.value)


def test_a_file_that_is_no_fabric(tmp_path):
    path = tmp_path / "list.yaml"
    path.write_text("- 1\n")
    with pytest.raises(InputError, match="line 1: the document: expected a fabric"):
        load_fabric(path)


def test_an_unknown_fabric_names_the_nearest():
    with pytest.raises(InputError, match=r"unknown fabric 'hrd-8'.*did you mean 'hdr-8'"):
        find_fabric(SHIPPED, "hrd-8")
