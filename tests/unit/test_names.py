"""No module is named like one of Python's: an import, or a program started in its folder, would find the wrong one."""

import pathlib
import subprocess
import sys

REPOSITORY = pathlib.Path(__file__).parents[2]


def test_no_module_has_the_name_of_one_of_the_standard_library():
    listed = subprocess.run(["git", "ls-files", "-z", "*.py"], cwd=REPOSITORY, capture_output=True, text=True, check=True)
    modules = {path: pathlib.PurePath(path) for path in listed.stdout.split("\0") if path}
    names = {path: {module.stem, *module.parts[:-1]} for path, module in modules.items()}
    assert len(names) > 300
    taken = sys.stdlib_module_names - {"__init__", "__main__"}
    assert {path: found & taken for path, found in names.items() if found & taken} == {}
