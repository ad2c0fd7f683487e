#include "import/read_grid.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>

#include "import/matpower.hpp"
#include "import/psse.hpp"

namespace emt {
namespace {

bool looks_like_psse(const std::string& text, const std::string& path) {
    std::string extension = std::filesystem::path(path).extension().string();
    std::transform(extension.begin(), extension.end(), extension.begin(), [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
    if (extension == ".raw" || extension == ".m") return extension == ".raw";
    // "0, 100.00, 33, ...": no statement of the MATLAB language begins with a number.
    const std::size_t first = text.find_first_not_of(" \t\r\n");
    return first != text.npos && (std::isdigit(static_cast<unsigned char>(text[first])) != 0 || text.compare(first, 2, "@!") == 0);
}

}  // namespace

Grid read_grid(const std::string& text, const std::string& path, const std::string& format) {
    return format == "psse" || (format.empty() && looks_like_psse(text, path)) ? read_psse(text, path) : read_matpower(text, path);
}

}  // namespace emt
