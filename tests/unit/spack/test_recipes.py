"""Environments and recipes without Spack: they are well-formed and belong together."""

import ast

import pytest
import yaml

from kappa.core.vocabulary import spack_tables
from spack_envs.installer.chosen import roots, with_roots

RECIPES = sorted((spack_tables.ENVIRONMENTS / "repo/packages").glob("*/package.py"))


@pytest.mark.parametrize("file", RECIPES, ids=lambda file: file.parent.name)
def test_a_recipe_holds_the_class_that_its_folder_promises(file):
    tree = ast.parse(file.read_text())
    promised = "".join(word.capitalize() for word in file.parent.name.split("-"))
    assert promised in [node.name for node in tree.body if isinstance(node, ast.ClassDef)]


@pytest.mark.parametrize("name", spack_tables.names())
def test_an_environment_pins_versions_and_knows_its_recipes(name):
    text = (spack_tables.ENVIRONMENTS / name / "spack.yaml").read_text()
    document = yaml.safe_load(text)["spack"]
    assert roots(text) == document["specs"]
    assert yaml.safe_load(with_roots(text, ["a", "b ^c"]))["spack"] == {**document, "specs": ["a", "b ^c"]}
    own = {spec.removeprefix("kappa.").split("@")[0] for spec in document["specs"] if spec.startswith("kappa.")}
    assert own <= {file.parent.name for file in RECIPES}
    assert [spec for spec in document["specs"] if "@" not in spec] == []
    assert document["view"]["default"]["root"] == "view"
    # By which `mirror` knows them.
    assert [name.replace("-", "_") for name in document.get("develop", {})] == list(spack_tables.read(name).sources)
