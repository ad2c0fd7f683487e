#include "measure/alike.hpp"

#ifdef __GLIBC__
#include <gnu/libc-version.h>
#endif

#include <Eigen/Core>

namespace emt {

std::string basis_of_bits() {
#ifdef __GLIBC__
    std::string basis = std::string("glibc ") + gnu_get_libc_version();
#else
    std::string basis = "another C library";
#endif
#if defined(__x86_64__)
    basis += __builtin_cpu_supports("fma") ? ", fused" : ", not fused";
#endif
    return basis + ", Eigen " + std::to_string(EIGEN_WORLD_VERSION) + "." + std::to_string(EIGEN_MAJOR_VERSION) + "." +
           std::to_string(EIGEN_MINOR_VERSION);
}

}  // namespace emt
