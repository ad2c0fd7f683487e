#include "common/world.hpp"

#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <stdexcept>
#include <thread>

namespace measure {
namespace {

constexpr std::size_t kNameBytes = 256;

// In a simulation all ranks are on the machine that simulates; MPI knows where they would be.
std::string name_of_own_node() {
    if (!kSimulated) {
        return own_node_name();
    }
    std::array<char, MPI_MAX_PROCESSOR_NAME> own{};
    int length = 0;
    MPI_Get_processor_name(own.data(), &length);
    return own.data();
}

}  // namespace

World::World(int* argc, char*** argv, int wanted) {
    heartbeat::phase(kPatience_s, "MPI_Init");
    MPI_Init_thread(argc, argv, wanted, &provided_);
    heartbeat::phase(kPatience_s, "start");
    MPI_Comm_rank(MPI_COMM_WORLD, &rank_);
    MPI_Comm_size(MPI_COMM_WORLD, &size_);
}

World::~World() {
    heartbeat::phase(kPatience_s, "MPI_Finalize");
    MPI_Finalize();
}

void World::barrier() const {
    // Without a limit: what the others do may take its time, and has its own.
    heartbeat::phase(0, "waits for all ranks");
    MPI_Request request = MPI_REQUEST_NULL;
    MPI_Ibarrier(MPI_COMM_WORLD, &request);
    for (;;) {
        int arrived = 0;
        MPI_Test(&request, &arrived, MPI_STATUS_IGNORE);
        if (arrived != 0) {
            return;
        }
        std::this_thread::sleep_for(std::chrono::microseconds(200));
    }
}

std::vector<std::string> World::gathered(const std::string& own) const {
    const int length = static_cast<int>(own.size());
    const auto ranks = static_cast<std::size_t>(rank_ == 0 ? size_ : 0);
    std::vector<int> lengths(ranks);
    MPI_Gather(&length, 1, MPI_INT, lengths.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
    std::vector<int> starts(ranks);
    int total = 0;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        starts[rank] = total;
        total += lengths[rank];
    }
    std::string all(static_cast<std::size_t>(total), '\0');
    MPI_Gatherv(own.data(), length, MPI_CHAR, all.data(), lengths.data(), starts.data(), MPI_CHAR, 0, MPI_COMM_WORLD);
    std::vector<std::string> texts;
    for (std::size_t rank = 0; rank < ranks; ++rank) {
        texts.push_back(all.substr(static_cast<std::size_t>(starts[rank]), static_cast<std::size_t>(lengths[rank])));
    }
    return texts;
}

std::vector<std::string> World::node_names() const {
    std::array<char, kNameBytes> own{};
    name_of_own_node().copy(own.data(), own.size() - 1);
    std::vector<char> all(kNameBytes * static_cast<std::size_t>(size_));
    MPI_Allgather(own.data(), kNameBytes, MPI_CHAR, all.data(), kNameBytes, MPI_CHAR, MPI_COMM_WORLD);
    std::vector<std::string> names;
    for (std::size_t start = 0; start < all.size(); start += kNameBytes) {
        names.emplace_back(all.data() + start);
    }
    return names;
}

std::string World::library() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    std::string version(text, static_cast<std::size_t>(length));
    std::replace(version.begin(), version.end(), '\t', ' ');  // MPICH's
    return version.substr(0, version.find_first_of("\r\n,"));
}

std::string own_node_name() {
    if (const char* slurm = std::getenv("SLURMD_NODENAME"); slurm != nullptr && *slurm != '\0') {
        return slurm;
    }
    std::array<char, kNameBytes> host{};
    if (gethostname(host.data(), host.size() - 1) != 0) {
        throw std::runtime_error("gethostname failed");
    }
    const std::string name(host.data());
    return name.substr(0, name.find('.'));
}

void require_one_rank_per_node(std::vector<std::string> names) {
    std::sort(names.begin(), names.end());
    const auto twice = std::adjacent_find(names.begin(), names.end());
    if (twice != names.end()) {
        throw std::runtime_error(*twice + " has several ranks: start one on each node, with all of its cores");
    }
}

}  // namespace measure
