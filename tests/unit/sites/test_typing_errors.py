"""A hundred single-letter errors in the files of the three sites, each refused by name when the site is loaded."""

import pathlib
import random
import re
import shutil
import string

import pytest
import yaml

from kappa.app.conduct.preflight import require_sound
from kappa.core.ground.errors import InputError
from kappa.core.sites.load import Site

SITES = pathlib.Path(__file__).parents[3] / "site_configs"
EXAMPLES = ("embedded", "cpu-infiniband", "ibisco-like")
ERRORS = 100
# Free text that Kappa cannot check: paths, job options, shell commands, variables of MPI and Slurm, text for people.
# (In lists and mappings below such a key, only keys of `storage`, `placements`, `hash_files`, `tuning` are names.)
FREE_KEYS = {
    "descr", "access", "path", "env_vars", "image", "options", "arguments", "uniform_files", "gpu_options", "gpu_arch",
    "preconnect", "tag_matching", "rendezvous", "unreliable", "short_queues", "sharp", "rails",
    "prepare_cmds", "slurm_job_cancel_reasons", "build_dir", "cc", "cxx", "mpi_version", "working_set",
    "problem_class", "method", "text", "title",
    "why", "adapters", "protocols", "users", "to_build", "parties", "id", "max_pending_time", "slurm_partition",
}  # fmt: skip
FREE_VALUES = {"not_provided", "placements", "hash_files"}


def names_in(path):
    """Each scalar of a file that is a key or a name, as PyYAML's node."""
    found = {}

    def walk(node, free, above):
        if isinstance(node, yaml.MappingNode):
            # The metrics of a node are known only after the measurement: a clause on another metric is INCOMPLETE.
            of_nodes = {key.value: value for key, value in node.value}.get("statistic")
            if isinstance(of_nodes, yaml.MappingNode) and of_nodes.value[0][0].value == "every_node":
                above = "every_node"
            for key, value in node.value:
                if not free and key.value != "<<":
                    found[key.start_mark.index] = key
                of_contract = path.name == "acceptance.yaml" and key.value == "source"
                inner = "every_node" if (above, key.value) == ("every_node", "selector") else key.value
                measured = (above, key.value) == ("every_node", "metric")
                walk(value, free or key.value in FREE_KEYS or above in FREE_VALUES or of_contract or measured, inner)
        elif isinstance(node, yaml.SequenceNode):
            for item in node.value:
                walk(item, free, above)
        elif not free and node.tag in ("tag:yaml.org,2002:str", "tag:yaml.org,2002:bool"):
            found[node.start_mark.index] = node

    walk(yaml.compose(path.read_text(encoding="utf-8")), False, "")
    # A name that is defined elsewhere and only used here is found at its definition.
    return [node for node in found.values() if any(map(str.isascii, node.value)) and any(map(str.isalpha, node.value))]


def mistyped(word, chance):
    """``word`` with one letter changed, dropped, doubled, or swapped with the next."""
    while True:
        at = chance.choice([number for number, letter in enumerate(word) if letter in string.ascii_letters])
        kind = chance.choice(("change", "drop", "double", "swap"))
        if kind == "change":
            new = word[:at] + chance.choice(string.ascii_lowercase) + word[at + 1 :]
        elif kind == "drop":
            new = word[:at] + word[at + 1 :]
        elif kind == "double":
            new = word[:at] + word[at] + word[at:]
        else:
            new = word[:at] + word[at + 1 : at + 2] + word[at] + word[at + 2 :]
        if new not in (word, ""):
            return new


def errors():
    """The file, the node and the error of each, no two of the same name in a place."""
    chance = random.Random(14)
    files = [
        path.relative_to(SITES)
        for site in EXAMPLES
        for path in sorted([*(SITES / site).glob("*.yaml"), *(SITES / site).glob("references/*.yaml")])
    ]
    left = {file: chance.sample(names, len(names)) for file in files if (names := names_in(SITES / file))}
    found = []
    # One of each file in turn, so that small files have theirs.
    while len(found) < ERRORS:
        for file in list(left):
            node = left[file].pop()
            found.append((file, node, mistyped(node.value, chance)))
            if not left[file]:
                del left[file]
    return found[:ERRORS]


@pytest.fixture(scope="module")
def copied(tmp_path_factory):
    folder = tmp_path_factory.mktemp("typing") / "site_configs"
    # Beside them the fabrics that their partitions are predicted by.
    for site in (*EXAMPLES, "simulated"):
        shutil.copytree(SITES / site, folder / site, ignore=shutil.ignore_patterns("spack", "cluster*", "osu"))
    return folder


@pytest.mark.parametrize("site", EXAMPLES)
def test_without_an_error_nothing_is_refused(copied, site):
    require_sound(Site(copied / site))


@pytest.mark.parametrize(
    ("file", "node", "word"),
    errors(),
    ids=lambda part: part.value if isinstance(part, yaml.Node) else str(part),
)
def test_an_error_is_refused_by_name(copied, file, node, word):
    path = copied / file
    text = path.read_text(encoding="utf-8")
    start, end = node.start_mark.index, node.end_mark.index
    assert node.value in text[start:end]
    path.write_text(text[:start] + text[start:end].replace(node.value, word, 1) + text[end:], encoding="utf-8")
    try:
        with pytest.raises(InputError) as refused:
            require_sound(Site(copied / file.parts[0]))
    finally:
        path.write_text(text, encoding="utf-8")
    message = str(refused.value)
    assert re.search(rf"^{re.escape(str(copied / file.parts[0]))}/\S+\.yaml: line \d+: ", message), message
    # The nearest name is the one that was meant, or, where a definition is mistyped, what it has become.
    meant, became = ({*re.findall(r"[A-Za-z0-9$/:-]+", one)} for one in (node.value, word))
    assert any(part in message for part in meant ^ became), message
