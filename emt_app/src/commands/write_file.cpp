#include <filesystem>
#include <stdexcept>

#include "base/whole_file.hpp"
#include "commands/commands.hpp"

namespace emt {

void check_writable(const std::string& path) {
    if (path.empty()) return;
    if (std::filesystem::is_directory(path)) throw std::runtime_error(path + ": is a folder");
    const WholeFile removed_again(path);
}

void write_file(const std::string& path, const std::string& text) {
    WholeFile file(path);
    file.add(text);
    file.appear(false);
}

}  // namespace emt
