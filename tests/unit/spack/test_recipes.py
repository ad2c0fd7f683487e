"""What can be said of environments and recipes without Spack: that they are well-formed and belong together."""

import ast

import pytest
import yaml

from spack_envs.installer import table

RECIPES = sorted((table.ENVIRONMENTS / "repo/packages").glob("*/package.py"))


@pytest.mark.parametrize("file", RECIPES, ids=lambda file: file.parent.name)
def test_a_recipe_holds_the_class_that_its_folder_promises(file):
    tree = ast.parse(file.read_text())
    promised = "".join(word.capitalize() for word in file.parent.name.split("-"))
    assert promised in [node.name for node in tree.body if isinstance(node, ast.ClassDef)]


@pytest.mark.parametrize("name", table.names())
def test_an_environment_pins_versions_and_knows_its_recipes(name):
    document = yaml.safe_load((table.ENVIRONMENTS / name / "spack.yaml").read_text())["spack"]
    own = {spec.removeprefix("kappa.").split("@")[0] for spec in document["specs"] if spec.startswith("kappa.")}
    assert own <= {file.parent.name for file in RECIPES}
    assert [spec for spec in document["specs"] if "@" not in spec] == []
    assert document["view"]["default"]["root"] == "view"
