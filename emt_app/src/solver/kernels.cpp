#include <cstring>

#include "solver/batch_view.hpp"

namespace emt {
namespace kernel_portable {
extern const Kernels kernels;
}
#ifdef EMT_X86_KERNELS
namespace kernel_avx2 {
extern const Kernels kernels;
}
namespace kernel_avx512 {
extern const Kernels kernels;
}
#endif

const Kernels* find_kernels(const char* name) {
    const bool best = std::strcmp(name, "auto") == 0;
#ifdef EMT_X86_KERNELS
    if ((best || std::strcmp(name, "avx512") == 0) && __builtin_cpu_supports("avx512f") &&
        __builtin_cpu_supports("avx512dq") && __builtin_cpu_supports("avx512vl"))
        return &kernel_avx512::kernels;
    if ((best || std::strcmp(name, "avx2") == 0) && __builtin_cpu_supports("avx2")) return &kernel_avx2::kernels;
#endif
    if (best || std::strcmp(name, "portable") == 0) return &kernel_portable::kernels;
    return nullptr;
}

}  // namespace emt
