from spack.package import *


class Io500(Package):
    """IO500: IOR, mdtest and a parallel find by the rules of the IO500 list, as the program ``io500``.

    Release SC25, with the commits of IOR and pfind that its ``prepare.sh`` names.
    """

    homepage = "https://io500.org"
    git = "https://github.com/IO500/io500.git"

    version("sc25", commit="29cd47d852f6051e1d4502230d2d6d5b509a5a6d")
    resource(
        name="ior",
        git="https://github.com/hpc/ior.git",
        commit="8ab8f69b32b919889015122f351914ec12bc84a2",
        destination="build",
        placement="ior",
        when="@sc25",
    )
    resource(
        name="pfind",
        git="https://github.com/VI4IO/pfind.git",
        commit="aaba722a178d38799125a271a7f554d004713363",
        destination="build",
        placement="pfind",
        when="@sc25",
    )

    depends_on("c", type="build")
    depends_on("autoconf", type="build")
    depends_on("automake", type="build")
    depends_on("libtool", type="build")
    depends_on("m4", type="build")
    depends_on("pkgconf", type="build")
    depends_on("gmake", type="build")
    depends_on("mpi")

    def install(self, spec, prefix):
        # A warning of a newer compiler is no error.
        filter_file(r"-Werror\S*", "", "Makefile")
        make = Executable("make")
        with working_dir("build/ior"):
            Executable("./bootstrap")()
            Executable("./configure")(f"CC={spec['mpi'].mpicc}", "--without-hdf5", "--without-ncmpi")
            make("-C", "src", "libaiori.a", "build.conf")
        with working_dir("build/pfind"):
            # With lz4, as its `prepare.sh` would fetch, it only sends less.
            Executable("./compile.sh")(extra_env={"CC": spec["mpi"].mpicc})
        # Else it is what git says of the folder above, or nothing.
        make(f"CC={spec['mpi'].mpicc}", f"VERSION=io500-{spec.version}", "io500", "io500-verify")
        mkdirp(prefix.bin)
        install("io500", prefix.bin)
        install("io500-verify", prefix.bin)
