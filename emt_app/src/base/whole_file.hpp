// Files that a run writes. None is opened through a link, because a link that another user has put there may lead to any
// file of this user.
#pragma once
#include <sys/types.h>

#include <cstddef>
#include <string>
#include <string_view>

namespace emt {

/// A file that gets its name only when it is complete. Until then its name is `path` with an ending, and it is new:
/// whatever has that name is removed first. Functions throw std::runtime_error.
class WholeFile {
public:
    /// The ending `.part` and the process's number.
    explicit WholeFile(const std::string& path);
    WholeFile(const std::string& path, const std::string& ending);
    /// Removes an incomplete file.
    ~WholeFile();
    WholeFile(const WholeFile&) = delete;
    WholeFile& operator=(const WholeFile&) = delete;

    /// Writes behind all that was added before.
    void add(std::string_view text);
    void write(const void* data, std::size_t bytes, off_t at);
    /// Gives the file its name, instead of an older file or a link with this name. `lasting`: flushes it to the disk.
    void appear(bool lasting);

private:
    [[noreturn]] void refuse() const;

    std::string path_, part_;
    int file_ = -1;
    off_t end_ = 0;
};

/// Opens `path` for writing in place, empty. Returns the descriptor, or -1; `failure` then gets the reason. Refuses a
/// link, and a file that has another name, too.
[[nodiscard]] int open_in_place(const std::string& path, std::string& failure);

}  // namespace emt
