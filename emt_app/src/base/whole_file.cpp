#include "base/whole_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <stdexcept>

namespace emt {

WholeFile::WholeFile(const std::string& path) : WholeFile(path, ".part" + std::to_string(getpid())) {}

WholeFile::WholeFile(const std::string& path, const std::string& ending) : path_(path), part_(path + ending) {
    if (unlink(part_.c_str()) != 0 && errno != ENOENT) refuse();
    file_ = open(part_.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (file_ < 0) refuse();
}

WholeFile::~WholeFile() {
    if (file_ < 0) return;
    close(file_);
    unlink(part_.c_str());
}

void WholeFile::add(std::string_view text) {
    write(text.data(), text.size(), end_);
    end_ += static_cast<off_t>(text.size());
}

void WholeFile::write(const void* data, std::size_t bytes, off_t at) {
    const char* from = static_cast<const char*>(data);
    while (bytes > 0) {
        const ssize_t done = pwrite(file_, from, bytes, at);
        if (done < 0 && errno == EINTR) continue;
        if (done <= 0) refuse();
        from += done;
        at += done;
        bytes -= static_cast<std::size_t>(done);
    }
}

void WholeFile::appear(bool lasting) {
    if (lasting && fsync(file_) != 0) refuse();
    if (std::rename(part_.c_str(), path_.c_str()) != 0) refuse();
    const bool closed = close(file_) == 0;
    file_ = -1;
    if (!closed) refuse();
    if (!lasting) return;
    const std::size_t slash = path_.rfind('/');
    const int folder = open(slash == std::string::npos ? "." : path_.substr(0, slash + 1).c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    // Best effort: some file systems cannot flush a folder.
    if (folder >= 0) static_cast<void>(fsync(folder)), close(folder);
}

void WholeFile::refuse() const {
    throw std::runtime_error(path_ + ": cannot be written: " + std::strerror(errno) + "; an older file with this name is intact");
}

int open_in_place(const std::string& path, std::string& failure) {
    const int file = open(path.c_str(), O_RDWR | O_CREAT | O_NOFOLLOW | O_CLOEXEC, 0666);
    struct stat about {};
    if (file < 0 && errno == ELOOP)
        failure = "it is a link, which may lead to any file: name that file, or remove the link";
    else if (file < 0 || fstat(file, &about) != 0)
        failure = std::strerror(errno);
    else if (S_ISREG(about.st_mode) && about.st_nlink > 1)
        failure = "the file has another name, too: remove this name, or choose another";
    else if (S_ISREG(about.st_mode) && ftruncate(file, 0) != 0)
        failure = std::strerror(errno);
    else
        return file;
    if (file >= 0) close(file);
    return -1;
}

}  // namespace emt
