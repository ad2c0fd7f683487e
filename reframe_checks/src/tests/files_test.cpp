#include "common/files.hpp"

#include <gtest/gtest.h>

#include <string>

namespace {

std::string content(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

TEST(WriteFile, LeavesTheTargetOfALinkAlone) {
    char name[] = "/tmp/kappa-files-test-XXXXXX";
    const std::filesystem::path folder = mkdtemp(name), victim = folder / "victim", result = folder / "result";
    std::ofstream(victim) << "of the user";
    for (const auto& link : {result, folder / "result.part"}) {
        std::filesystem::create_symlink(victim, link);
        measure::write_file(result, "new");
        EXPECT_EQ(content(victim), "of the user");
        EXPECT_EQ(content(result), "new");
        std::filesystem::remove(result);
    }
    std::filesystem::remove_all(folder);
}
