#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <stdexcept>

#include "commands/commands.hpp"

namespace emt {

void check_writable(const std::string& path) {
    if (path.empty()) return;
    if (std::filesystem::is_directory(path)) throw std::runtime_error(path + ": is a folder");
    const std::string temporary = path + ".part" + std::to_string(getpid());
    const bool written = static_cast<bool>(std::ofstream(temporary, std::ios::binary));
    const std::string why = std::strerror(errno);
    std::remove(temporary.c_str());
    if (!written) throw std::runtime_error(path + ": cannot be written: " + why);
}

void write_file(const std::string& path, const std::string& text) {
    const std::string temporary = path + ".part" + std::to_string(getpid());
    {
        std::ofstream out(temporary, std::ios::binary);
        out << text;
        out.flush();
        if (!out) {
            std::remove(temporary.c_str());
            throw std::runtime_error(path + ": cannot be written");
        }
    }
    if (std::rename(temporary.c_str(), path.c_str()) != 0) {
        std::remove(temporary.c_str());
        throw std::runtime_error(path + ": cannot be replaced");
    }
}

}  // namespace emt
