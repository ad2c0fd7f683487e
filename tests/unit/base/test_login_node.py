"""The login node's facts of users and nodes, from the code that runs on the nodes."""

import os
import pathlib
import pwd

from reframe_checks.node import partition_health

OWN = pwd.getpwuid(os.getuid()).pw_name


def test_who_matters():
    assert partition_health.users_that_matter(["games", OWN])[:2] == [OWN, "games"]


def test_owners_of_the_folders_beside_a_home(tmp_path):
    (tmp_path / "home").mkdir()
    assert partition_health._neighbours(tmp_path) == [OWN]
    assert partition_health._neighbours(tmp_path / "gone") == []
    assert partition_health._neighbours(pathlib.Path("/")) == []


def test_nodes_that_it_does_not_resolve_are_not_compared():
    facts = partition_health.facts_of_login_node([OWN], ["localhost", "no-such-node.invalid"])
    assert facts["host.localhost"] == "127.0.0.1"
    assert "host.no-such-node.invalid" not in facts
    assert str(facts[f"account.{OWN}"]).startswith(f"number {os.getuid()}, ")
