// A file that is there whole or not at all.
#pragma once

#include <cerrno>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <stdexcept>
#include <string>
#include <system_error>

namespace sweep {

inline void write_file(const std::filesystem::path& path, const std::string& text) {
    auto unfinished = path;
    unfinished += ".part";
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

}  // namespace sweep
