// FNV-1a, 64 bit (Fowler, Noll, Vo): digests of files and results. Not for secrets.
#pragma once
#include <cstddef>
#include <cstdint>

namespace emt {

[[nodiscard]] inline std::uint64_t fnv1a(const void* data, std::size_t bytes, std::uint64_t hash = 0xcbf29ce484222325ULL) {
    const auto* p = static_cast<const unsigned char*>(data);
    for (std::size_t i = 0; i < bytes; ++i) hash = (hash ^ p[i]) * 0x100000001b3ULL;
    return hash;
}

}  // namespace emt
