// Files: atomic writes, and the kernel's files with a number.
#pragma once

#include <fcntl.h>
#include <unistd.h>

#include <cerrno>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace measure {

// Makes a new, empty file in place of what has its name. It is not opened through a link, which may lead to any file.
inline void make_anew(const std::filesystem::path& path) {
    unlink(path.c_str());
    const int file = open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file >= 0)
        close(file);
    else
        throw std::runtime_error("cannot write " + path.string() + ": " + std::generic_category().message(errno));
}

inline void write_file(const std::filesystem::path& path, const std::string& text) {
    auto unfinished = path;
    unfinished += ".part";
    make_anew(unfinished);
    std::ofstream file(unfinished, std::ios::binary);
    file << text;
    file.close();
    if (!file) {
        const std::error_code why(errno, std::generic_category());
        std::filesystem::remove(unfinished);
        throw std::runtime_error("cannot write " + unfinished.string() + ": " + why.message());
    }
    std::filesystem::rename(unfinished, path);
}

// Returns the number in a file of the kernel; 0 if there is none.
inline std::int64_t number_in(const std::filesystem::path& path) {
    std::ifstream file(path);
    std::int64_t value = 0;
    file >> value;
    return file ? value : 0;
}

}  // namespace measure
