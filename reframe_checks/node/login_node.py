"""What the login node, where ReFrame runs, knows of users and of nodes, as the nodes tell it: by the same code."""

import importlib.util
import os
import pathlib
import pwd

from kappa.core.vocabulary.node_facts import Value

_NAMES = pathlib.Path(__file__).parent / "src/node_facts/names.py"
SAMPLE = 20


def users_that_matter(listed: list[str]) -> list[str]:
    """Who runs the suite, whom the site lists, and some of those whose folders lie beside that home."""
    own = pwd.getpwuid(os.getuid())
    return list(dict.fromkeys([own.pw_name, *listed, *_neighbours(pathlib.Path(own.pw_dir).parent)]))


def _neighbours(homes: pathlib.Path) -> list[str]:
    if homes == homes.parent:  # beside /root lie the system's folders
        return []
    try:
        owners = {entry.stat(follow_symlinks=False).st_uid for entry in os.scandir(homes)}
    except OSError:
        return []
    known = []
    for number in sorted(owners):
        try:
            known.append(pwd.getpwuid(number).pw_name)
        except KeyError:
            continue  # of a user who is gone
    return known[:SAMPLE]


def facts(users: list[str], nodes: list[str]) -> dict[str, Value]:
    """Accounts of users, and addresses of the nodes that the login node resolves at all."""
    spec = importlib.util.spec_from_file_location("names_of_nodes", _NAMES)
    assert spec is not None and spec.loader is not None
    names = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(names)
    addresses = {f"host.{node}": names.address(node) for node in nodes}
    return {**names.accounts(users), **{name: address for name, address in addresses.items() if address is not None}}
