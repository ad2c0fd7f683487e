"""The definition of the image with the suite's benchmarks: what it names is there. No container can be built here."""

import re
import subprocess

from kappa.core.ground.folders import SUITE
from kappa.core.vocabulary.features import ENVIRONMENT_FEATURES
from kappa.core.vocabulary.programs import OF_FEATURE

DEFINITION = SUITE / "spack_envs/containers/kappa.def"
# In Debian 12, and in no group of the embedded site's list.
MORE_PACKAGES = {"ca-certificates", "numactl", "python3-dev"}


def sections():
    header, *parts = re.split(r"^%(\w+)\n", DEFINITION.read_text(encoding="utf-8"), flags=re.MULTILINE)
    return header, dict(zip(parts[::2], parts[1::2], strict=True))


def test_its_sections_are_whole():
    header, parts = sections()
    assert re.findall(r"^\w+: \S+$", header, re.MULTILINE) == ["Bootstrap: docker", "From: debian:12"]
    assert parts.keys() == {"files", "post", "environment", "test", "labels"}
    for name in ("post", "environment", "test"):
        subprocess.run(["sh", "-n"], input=parts[name], text=True, check=True)


def test_what_it_copies_and_installs_is_there():
    _, parts = sections()
    for line in parts["files"].split("\n"):
        if line:
            source, _ = line.split()
            assert (SUITE / source).is_dir()
    [install] = re.findall(r"apt-get -qq install (.*)", parts["post"].replace("\\\n", " "))
    packages = {word for word in install.split() if not word.startswith("--")}
    listed = (SUITE / "site_configs/embedded/packages.txt").read_text().splitlines()
    known = {line.split()[1] for line in listed if not line.startswith("#")}
    assert packages - known == MORE_PACKAGES
    assert set(re.findall(r"--target (\w+)", parts["post"])) == {"emt"}


def test_its_features_and_programs_are_those_of_an_environment():
    _, parts = sections()
    features = parts["labels"].split()[1:]
    assert not set(features) - ENVIRONMENT_FEATURES.keys()
    programs = {name for feature in features for name in OF_FEATURE[feature]}
    tried = set(re.findall(r"for program in (.*); do", parts["test"])[0].split())
    assert tried <= programs
    # Each feature has one of its programs tried.
    assert {feature for feature in features if set(OF_FEATURE[feature]) & tried} == set(features) - {"numactl"}
