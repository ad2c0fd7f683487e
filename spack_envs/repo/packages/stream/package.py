from spack.package import *


class Stream(Package):
    """STREAM in C with OpenMP, from a fixed commit, as the program ``stream``.

    The recipe of the same name that comes with Spack takes whatever the branch holds and one thread.
    """

    homepage = "https://www.cs.virginia.edu/stream/"
    git = "https://github.com/jeffhammond/STREAM.git"

    version("5.10", commit="4dbce1d0fdb7410e8f21b48f3381bc0a1341967f")

    # STREAM's rule: each array at least four times all last-level caches together.
    variant("array_size", default="100000000", values=lambda text: text.isdigit(), description="Elements of 8 bytes")

    depends_on("c", type="build")

    def install(self, spec, prefix):
        flags = ["-O3", "-fopenmp", f"-DSTREAM_ARRAY_SIZE={spec.variants['array_size'].value}"]
        if spec.satisfies("target=x86_64:"):
            flags.append("-mcmodel=medium")  # static arrays beyond 2 GB
        mkdirp(prefix.bin)
        Executable(spack_cc)(*flags, "stream.c", "-o", prefix.bin.stream)
