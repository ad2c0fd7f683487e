// The protocol of `emt run --live` and its readers on a Unix socket.
//
// The reader sends one line, {"signals": [PATTERN, …], "decimate": N}. The answer is one line, {"format":
// "kappa-emt-live", "version": 1, "dt_s": …, "signals": [NAME, …]}, or {"error": …}. Then frames follow in the
// machine's byte order, until one side ends: the step, the number of this reader's dropped frames (8 bytes each), and a
// double for each signal.
#pragma once
#include <sys/un.h>

#include <cstring>
#include <stdexcept>
#include <string>

namespace emt {

inline constexpr std::size_t kLongestRequest = 65536;

/// Throws std::runtime_error if no socket can have this path.
[[nodiscard]] inline sockaddr_un socket_address(const std::string& path) {
    sockaddr_un address{};
    address.sun_family = AF_UNIX;
    if (path.empty() || path.size() >= sizeof address.sun_path)
        throw std::runtime_error("'" + path + "': a socket's path must have 1 to " + std::to_string(sizeof address.sun_path - 1) + " bytes: give a shorter one, for instance below /tmp");
    std::memcpy(address.sun_path, path.c_str(), path.size());
    return address;
}

}  // namespace emt
