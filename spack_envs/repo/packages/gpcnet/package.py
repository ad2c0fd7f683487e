from spack.package import *


class Gpcnet(Package):
    """GPCNeT's ``network_load_test``: messages of some nodes while the others load the network.

    Spack has no recipe. Version 1.3 has no tag, so the recipe names its commit.
    """

    homepage = "https://github.com/netbench/GPCNET"
    git = "https://github.com/netbench/GPCNET.git"

    version("1.3", commit="c56fd950ae6552ffce7a55cfa6d5617454e983e3")

    depends_on("c", type="build")
    depends_on("mpi")

    def install(self, spec, prefix):
        make("load", f"CC={spec['mpi'].mpicc}", "FLAGS=-O2")
        mkdirp(prefix.bin)
        install("network_load_test", prefix.bin)
