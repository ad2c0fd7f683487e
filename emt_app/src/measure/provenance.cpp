#include "measure/provenance.hpp"

#include <sys/utsname.h>

#include <ctime>
#include <fstream>
#include <set>
#include <string>
#include <vector>

#include "build_info.hpp"

namespace emt {
namespace {

std::string processor_model() {
    std::ifstream info("/proc/cpuinfo");
    for (std::string line; std::getline(info, line);)
        if (line.starts_with("model name")) return line.substr(line.find(':') + 2);
    return "unknown";
}

std::string utc_now() {
    const std::time_t now = std::time(nullptr);
    std::tm utc{};
    gmtime_r(&now, &utc);
    char text[32];
    std::strftime(text, sizeof text, "%Y-%m-%dT%H:%M:%SZ", &utc);
    return text;
}

std::string mpi_library() {
    char text[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(text, &length);
    const std::string full = text;  // up to its end: Open MPI's length counts the NUL
    return full.substr(0, full.find('\n'));
}

}  // namespace

std::string program_version() { return build::version; }

nlohmann::json provenance(MPI_Comm comm) {
    int size = 1, length = 0;
    MPI_Comm_size(comm, &size);
    std::vector<char> mine(MPI_MAX_PROCESSOR_NAME), all(static_cast<std::size_t>(size) * MPI_MAX_PROCESSOR_NAME);
    MPI_Get_processor_name(mine.data(), &length);
    MPI_Gather(mine.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, all.data(), MPI_MAX_PROCESSOR_NAME, MPI_CHAR, 0, comm);
    std::set<std::string> hosts;
    for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) hosts.insert(all.data() + i * MPI_MAX_PROCESSOR_NAME);
    hosts.erase("");
    utsname system{};
    uname(&system);
    return {{"version", build::version},      {"compiler", build::compiler}, {"flags", build::flags},
            {"mpi", mpi_library()},           {"metis", build::metis},       {"host", system.nodename},
            {"kernel", system.release},       {"processor", processor_model()}, {"nodes", hosts},
            {"date", utc_now()}};
}

}  // namespace emt
