"""ReFrame settings of a site where every word that may hold a blank holds shell commands; dry run only."""

import os
import pathlib

from tests.hardening.hostile_settings import WORD
from tests.sites.dry_run import settings

FOLDER = pathlib.Path(os.environ["KAPPA_HOSTILE_FOLDER"])

site_configuration = settings("ibisco-like")
[_system] = site_configuration["systems"]
_system["name"] = "hostile"
_system["prefix"] = str(FOLDER)
[_partition] = _system["partitions"]
_extras = _partition["extras"]
_partition["features"].append("storage_scratch")
_extras["storage"] = {name: f"{FOLDER}/{WORD}/{name}" for name in (*_extras["storage"], "scratch")}
_extras["uniform_files"] = [f"/{WORD}", f"-{WORD}"]
_extras["slurm_partition"] = WORD
_extras["tuning"] = {"Stream": {"working_set": WORD}}
for _environment in site_configuration["environments"]:
    _stated = _environment.setdefault("extras", {})
    if "stream" in _stated:
        _stated["stream"] = "likwid-bench"
    if "build_dir" in _stated:
        _stated["build_dir"] = f"{FOLDER}/{WORD}"
    if "hpl_nvidia" in _stated:
        _stated["hpl_nvidia"] = {"image": f"/{WORD}", "arguments": []}
    _stated["hash_files"] = {feature: [f"/{WORD}"] for feature in _environment["features"]}
site_configuration["storage"] = []
