from spack.package import *


class EmtApp(CMakePackage):
    """Kappa's electromagnetic-transient application, from the source tree that the environment's `develop` names."""

    homepage = "https://www.ipstconf.org/papers/Proc_IPST2023/23IPST045.pdf"

    version("1.0.0")

    variant("hdf5", default=False, description="Waveforms as HDF5, too")

    depends_on("c", type="build")
    depends_on("cxx", type="build")
    depends_on("cmake@3.20:", type="build")
    depends_on("mpi")
    depends_on("nlohmann-json@3.9:")
    depends_on("cli11")
    depends_on("eigen@3.3:")
    depends_on("metis")
    depends_on("hdf5~mpi", when="+hdf5")

    @property
    def build_directory(self):
        # In the source, which the installer copies anew: never goes on from what an interrupted build left.
        return join_path(self.stage.source_path, "spack-build")

    def cmake_args(self):
        return [self.define("EMT_TESTS", False), self.define_from_variant("EMT_HDF5", "hdf5")]
