#include <unistd.h>

#include <cstdio>
#include <fstream>
#include <stdexcept>

#include "commands/commands.hpp"

namespace emt {

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
