// `emt watch`: prints signals of a running simulation, started with --live, as CSV.
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <cinttypes>
#include <cstdio>
#include <cstring>
#include <memory>
#include <nlohmann/json.hpp>
#include <stdexcept>

#include "base/whole_file.hpp"
#include "commands/commands.hpp"
#include "commands/csv_cell.hpp"
#include "live/protocol.hpp"

namespace emt {
namespace {

using nlohmann::json;

class RunConnection {
public:
    explicit RunConnection(const std::string& path) : path_(path), socket_(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)) {
        const sockaddr_un address = socket_address(path);
        if (socket_ < 0 || connect(socket_, reinterpret_cast<const sockaddr*>(&address), sizeof address) != 0)
            throw std::runtime_error(path + ": " + std::strerror(errno) + ": check that a run with --live " + path + " of the same user is on this node");
    }
    ~RunConnection() {
        if (socket_ >= 0) close(socket_);
    }
    RunConnection(const RunConnection&) = delete;
    RunConnection& operator=(const RunConnection&) = delete;

    void say(const std::string& text) const {
        if (send(socket_, text.data(), text.size(), MSG_NOSIGNAL) != static_cast<ssize_t>(text.size())) throw std::runtime_error(path_ + ": the run takes no requests");
    }
    /// Returns false at the end of the stream.
    bool read(void* data, std::size_t bytes) {
        for (auto* to = static_cast<char*>(data); bytes > 0;) {
            const ssize_t got = recv(socket_, to, bytes, 0);
            if (got < 0 && errno == EINTR) continue;
            if (got <= 0) return false;
            to += got;
            bytes -= static_cast<std::size_t>(got);
        }
        return true;
    }

private:
    std::string path_;
    int socket_;
};

}  // namespace

int watch_command(const WatchOptions& o) {
    RunConnection run(o.socket_path);
    run.say(json{{"signals", o.signals}, {"decimate", o.decimate}}.dump() + "\n");
    std::string line;
    for (char c = 0; c != '\n';) {
        if (!run.read(&c, 1)) throw std::runtime_error(o.socket_path + ": the run has ended or has too many readers");
        line += c;
    }
    const json head = json::parse(line);
    if (head.contains("error")) throw std::runtime_error(o.socket_path + ": " + head["error"].get<std::string>());
    if (head.value("format", "") != "kappa-emt-live" || head.value("version", 0) != 1) throw std::runtime_error(o.socket_path + ": the run there is of another version of emt");
    std::string failure;
    const std::unique_ptr<std::FILE, int (*)(std::FILE*)> file(o.csv_path.empty() ? nullptr : fdopen(open_in_place(o.csv_path, failure), "w"), std::fclose);
    if (!o.csv_path.empty() && file == nullptr) throw std::runtime_error(o.csv_path + ": " + failure);
    std::FILE* const out = file ? file.get() : stdout;
    std::string text = "time";
    for (const json& name : head["signals"]) text += "," + csv_cell(name.get<std::string>());
    std::fprintf(out, "%s\n", text.c_str());
    const double dt_s = head["dt_s"];
    std::vector<double> values(head["signals"].size());
    std::uint64_t frame[2] = {0, 0}, rows = 0;  // step, frames dropped so far
    while ((o.rows == 0 || rows < o.rows) && run.read(frame, sizeof frame) && run.read(values.data(), values.size() * sizeof values[0])) {
        std::fprintf(out, "%.12g", static_cast<double>(frame[0]) * dt_s);
        for (const double v : values) std::fprintf(out, ",%.17g", v);
        if (std::fputc('\n', out) == EOF) throw std::runtime_error("the rows cannot be written");
        ++rows;
    }
    if (std::fflush(out) != 0) throw std::runtime_error("the rows cannot be written");
    std::fprintf(stderr, "emt watch: %" PRIu64 " rows, %" PRIu64 " dropped\n", rows, frame[1]);
    return 0;
}

}  // namespace emt
