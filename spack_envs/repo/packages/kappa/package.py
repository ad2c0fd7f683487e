from spack.package import *


class Kappa(Package):
    """Kappa itself, the cluster validation suite, from the source tree that `spack develop` names.

    Spack has not all of its Python packages in the versions that it needs: pip puts them into a virtual environment in
    the prefix, from where the site's pip takes packages. Without a network `PIP_FIND_LINKS` and `PIP_NO_INDEX` name a
    folder with what `pip download` fetched elsewhere.
    """

    version("0.1.0")

    variant("embedded", default=False, description="Also what the embedded cluster runs")

    depends_on("python@3.11:", type=("build", "run"))
    depends_on("mpi", type=("build", "run"), when="+embedded")

    def install(self, spec, prefix):
        environment = prefix.libexec.kappa
        spec["python"].command("-m", "venv", environment)
        extra = "[embedded]" if spec.satisfies("+embedded") else ""
        Executable(environment.bin.python)("-m", "pip", "install", f"{self.stage.source_path}{extra}")
        mkdirp(prefix.bin)
        symlink(environment.bin.kappa, prefix.bin.kappa)

    @run_after("install")
    def starts(self):
        Executable(self.prefix.bin.kappa)("--version")
