"""A step over problem sizes: `emt caches` and `emt run` run the same simulation."""

from __future__ import annotations

from pathlib import Path

from reframe_checks.parsers.emt import read_caches

from .conftest import Emt


def test_networks_of_growing_size_on_one_core(emt: Emt, tmp_path: Path) -> None:
    networks = [tmp_path / f"network-{scale}.json" for scale in (1, 2)]
    for scale, network in enumerate(networks, start=1):
        emt("generate", "hq", "--network-only", "--scale", str(scale), "-o", network)
    result = tmp_path / "caches.json"
    emt("caches", *networks, "--steps", "8", "--result", result, ranks=1)
    (node,) = read_caches(result.read_text(), networks=2).values()
    assert [one.tasks for one in node.sizes] == [172, 344]
    # A quarter of the steps and one come before the timed ones.
    ran = emt.run(networks[1], tmp_path, "--steps", "8", "--warm-up", "3")
    assert (node.sizes[1].checksum, node.sizes[1].bytes_touched) == (ran["checksum"], ran["bytes_touched"])
