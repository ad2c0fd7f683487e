"""Rules for the whole repository."""

import pathlib
import subprocess
import sys

import yaml

REPOSITORY = pathlib.Path(__file__).parents[2]


def test_no_module_has_the_name_of_one_of_the_standard_library():
    """An import, or a program started in its folder, would find the wrong one."""
    command = ["git", "ls-files", "-z", "*.py"]
    listed = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    modules = {path: pathlib.PurePath(path) for path in listed.stdout.split("\0") if path}
    names = {path: {module.stem, *module.parts[:-1]} for path, module in modules.items()}
    assert len(names) > 300
    taken = sys.stdlib_module_names - {"__init__", "__main__"}
    assert {path: found & taken for path, found in names.items() if found & taken} == {}


def test_every_commit_is_asked_what_make_lint_asks():
    configuration = yaml.safe_load((REPOSITORY / ".pre-commit-config.yaml").read_text(encoding="utf-8"))
    (hook,) = (hook for repository in configuration["repos"] for hook in repository["hooks"])
    assert (hook["entry"], hook["pass_filenames"], hook.get("stages")) == ("make lint", False, None)
