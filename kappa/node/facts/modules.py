"""Test whether the node loads the environment's modules, as a user's shell does (Lmod, Environment Modules)."""

import os
import re

from kappa.node.children import run

PATIENCE_S = 60
# State of modules that the job has loaded already: it must not hide a module that the node does not find.
STATE = re.compile(r"LOADEDMODULES|_LMFILES_.*|__LMOD.*|_ModuleTable.*|__MODULES.*|MODULES_.*")
# A login shell reads the module paths; `module load` of some versions fails with exit status 0.
LOAD = """
if [[ -n $1 ]]; then export MODULEPATH=$1; fi
module load "$2" && [[ ":${LOADEDMODULES-}" == *":$2"[:/]* || ":${LOADEDMODULES-}" == *":$2" ]]
"""


def facts(modules):
    """Return module -> None if it loads, else the message."""
    return {"environment_module." + name: problem(name) for name in modules}


def problem(name):
    own = {key: value for key, value in os.environ.items() if not STATE.fullmatch(key)}
    command = ["bash", "-l", "-c", LOAD, "bash", os.environ.get("MODULEPATH", ""), name]
    status, said = run(PATIENCE_S, *command, environment=own, errors=True)
    if status is None:
        return f"does not load within {PATIENCE_S} s"
    return None if status == 0 else " ".join(said.split())[:300] or "is not among the loaded modules"
