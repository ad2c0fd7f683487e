#include "measure/checksum.hpp"

#include <cstdio>

#include "base/fnv1a.hpp"

namespace emt {

std::vector<std::uint64_t> task_digests(MPI_Comm comm, const Engine& engine, std::size_t tasks) {
    std::vector<std::uint64_t> mine(tasks), all(tasks);
    for (const auto& [task, value] : engine.digests()) mine[static_cast<std::size_t>(task)] = value;
    MPI_Reduce(mine.data(), all.data(), static_cast<int>(tasks), MPI_UINT64_T, MPI_BXOR, 0, comm);
    return all;
}

std::string checksum(const std::vector<std::uint64_t>& digests) {
    return sixteen_digits(fnv1a(digests.data(), digests.size() * sizeof(std::uint64_t)));
}

std::string sixteen_digits(std::uint64_t digest) {
    char text[24];
    std::snprintf(text, sizeof text, "%016llx", static_cast<unsigned long long>(digest));
    return text;
}

}  // namespace emt
