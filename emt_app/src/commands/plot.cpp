// `emt plot` starts a separate Python program, as git does for added commands, so `emt` itself needs no Python.
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <filesystem>
#include <stdexcept>
#include <system_error>

#include "commands/commands.hpp"

namespace emt {

void plot_command(const std::vector<std::string>& words) {
    const std::string name = "emt-plot";
    std::vector<char*> arguments{const_cast<char*>(name.c_str())};
    for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
    arguments.push_back(nullptr);
    std::error_code unknown;
    const auto beside = std::filesystem::read_symlink("/proc/self/exe", unknown).replace_filename(name);
    if (!unknown && access(beside.c_str(), X_OK) == 0) execv(beside.c_str(), arguments.data());
    execvp(name.c_str(), arguments.data());
    if (errno != ENOENT) throw std::runtime_error(name + ": " + std::strerror(errno));
    throw std::runtime_error("the program emt-plot is neither " + beside.string() +
                             " nor on PATH: `pip install .` in a checkout of Kappa installs it");
}

}  // namespace emt
