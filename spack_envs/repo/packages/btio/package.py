from spack.package import *


class Btio(MakefilePackage):
    """BT-IO: the block tridiagonal solver of the NAS Parallel Benchmarks, writing its solution every five steps.

    One ``make`` for each program, so that none is missing without an error. The number of ranks is chosen when it
    runs and must be a square.
    """

    homepage = "https://www.nas.nasa.gov/software/npb.html"
    url = "https://www.nas.nasa.gov/assets/npb/NPB3.4.3.tar.gz"

    version("3.4.3", sha256="a97c03d7e87ab826fba79c754415a13632c5273877abad270c85201db0f86aeb")

    variant("classes", default="S,W,A,B,C,D", values=tuple("SWABCDEF"), multi=True, description="Problem sizes")
    variant(
        "subtypes",
        default="full,simple,epio",
        values=("full", "simple", "epio"),
        multi=True,
        description="MPI-IO collective, MPI-IO independent, one file for each rank",
    )

    depends_on("c", type="build")
    depends_on("fortran", type="build")
    depends_on("mpi@2:")

    build_directory = "NPB3.4-MPI"
    parallel = False

    def edit(self, spec, prefix):
        definitions = {
            "MPIFC": spec["mpi"].mpifc,
            "FLINK": "$(MPIFC)",
            "FFLAGS": "-O3",
            "FLINKFLAGS": "$(FFLAGS)",
            "MPICC": spec["mpi"].mpicc,
            "CLINK": "$(MPICC)",
            "CFLAGS": "-O3",
            "CLINKFLAGS": "$(CFLAGS)",
            "CC": f"{spack_cc} -g",
            "UCC": spack_cc,
            "BINDIR": "../bin",
            "RAND": "randi8",
        }
        with open(join_path(self.build_directory, "config", "make.def"), "w") as file:
            file.writelines(f"{key} = {value}\n" for key, value in definitions.items())

    def build(self, spec, prefix):
        with working_dir(self.build_directory):
            mkdirp("bin")
            for name in spec.variants["classes"].value:
                # The objects hold the class's sizes.
                make("-C", "BT", "clean")
                for subtype in spec.variants["subtypes"].value:
                    make("bt", f"CLASS={name}", f"SUBTYPE={subtype}")

    def install(self, spec, prefix):
        install_tree(join_path(self.build_directory, "bin"), prefix.bin)
