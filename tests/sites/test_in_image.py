"""An environment whose programs lie in a container's image: every check calls them there, and what mistakes say."""

import os
import subprocess

import pytest

from kappa.core.ground.errors import InputError
from kappa.core.sites.site_file import describe
from tests.sites.dry_run import SITES
from tests.sites.test_worked_site import reframe

SITE = """\
descr: eight nodes that run an image
partitions:
  batch:
    nodes: 8
    cores: {per_node: 32}
    environments: [image]
    container: Apptainer
    memory_gib_per_node: 64
    peak_gflops_per_core: 40
    features: [scale_one_node, scale_two_nodes, scale_each_node, network, compute]
    storage:
      shared: {path: /nfs/kappa, parallel: true}
environments:
  image:
    features: [osu, hpl, fio, ior, emt]
    image: /apps/kappa.sif
    image_options: [--bind, "/var/spool/slurm d"]
    hpl: hpcc
    env_vars: {SLURM_MPI_TYPE: pmix}
"""


def write(folder, text=SITE):
    site = folder / "site_configs/boxed"
    (site / "references").mkdir(parents=True)
    (site / "site.yaml").write_text(text)
    (site / "settings.py").write_text((SITES / "embedded/settings.py").read_text())
    return site


def test_every_check_calls_its_programs_in_the_image(tmp_path, monkeypatch):
    site = write(tmp_path)
    names = ("OsuLatency", "Hpl", "EmtCorrectness", "IorNode", "PartitionHealth")
    done = reframe(site, "--dry-run", "--mode=full", *(word for name in names for word in ("-n", name)))
    assert done.returncode == 0, done.stdout + done.stderr
    scripts = {path.parent: path.read_text() for path in site.glob("stage/boxed/batch/image/*/rfm_job.sh")}
    called = {stage.name.partition("_")[0] for stage in scripts if (stage / "in_image").exists()}
    assert called == {*names, "HplScaling"} - {"PartitionHealth"}  # which asks the nodes themselves
    for stage, text in scripts.items():
        if not (stage / "in_image").exists():
            continue
        # Before anything looks for a program.
        assert text.index(f"export PATH={stage}/in_image:$PATH") < text.index("record_provenance.sh")
        assert "/apps/kappa.sif" in text, "the image's checksum is kept"
        # The commands of a job, with a runtime that prints its arguments.
        (tmp_path / "apptainer").write_text('#!/bin/sh\nprintf "%s\\n" "$@"\n')
        (tmp_path / "apptainer").chmod(0o755)
        monkeypatch.setenv("PATH", f"{stage}/in_image:{tmp_path}:{os.environ['PATH']}")
        for program in ("osu_bw", "hpcc", "emt", "ior", "fio"):
            words = subprocess.run([program, "-x", "a b"], cwd=stage, capture_output=True, text=True, check=True).stdout
            assert words.splitlines() == [
                "exec", "--bind", f"{stage},/nfs/kappa", "--bind", "/var/spool/slurm d", "--pwd", str(stage),
                "/apps/kappa.sif", program, "-x", "a b",
            ]  # fmt: skip


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("    container: Apptainer\n", ""), "image has an image, which needs `container: Apptainer or Singularity`"),
        (("container: Apptainer", "container: Docker"), "image has an image, which needs `container: Apptainer or"),
        (("hpl: hpcc", "hpl: hpcc\n    build_dir: build"), "build_dir: programs that Kappa builds run outside"),
    ],
)
def test_what_cannot_run_an_image_is_refused(tmp_path, change, said):
    assert change[0] in SITE
    with pytest.raises(InputError, match=said):
        describe(write(tmp_path, SITE.replace(*change).replace("ior, emt]", "ior, emt, emt-build]")))
