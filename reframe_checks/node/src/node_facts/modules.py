"""Test whether the node loads the environment's modules, as a user's shell does (Lmod, Environment Modules)."""

import os
import re
import subprocess

PATIENCE_S = 60
# State of modules that the job has loaded already: it must not hide a module that the node does not find.
STATE = re.compile(r"LOADEDMODULES|_LMFILES_.*|__LMOD.*|_ModuleTable.*|__MODULES.*|MODULES_.*")
# A login shell reads the module paths; `module load` of some versions fails with exit status 0.
LOAD = """
if [[ -n $1 ]]; then export MODULEPATH=$1; fi
module load "$2" && [[ ":${LOADEDMODULES-}" == *":$2"[:/]* || ":${LOADEDMODULES-}" == *":$2" ]]
"""


def facts(names):
    """Return module -> None if it loads, else the message."""
    return {"environment_module." + name: problem(name) for name in names}


def problem(name):
    own = {key: value for key, value in os.environ.items() if not STATE.fullmatch(key)}
    command = ["bash", "-l", "-c", LOAD, "bash", os.environ.get("MODULEPATH", ""), name]
    try:
        done = subprocess.run(
            command, env=own, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            timeout=PATIENCE_S, check=False,
        )  # fmt: skip
    except subprocess.TimeoutExpired:
        return f"does not load within {PATIENCE_S} s"
    said = " ".join(done.stdout.decode("utf-8", "replace").split())
    return None if done.returncode == 0 else said[:300] or "is not among the loaded modules"
