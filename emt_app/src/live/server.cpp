#include "live/server.hpp"

#include <fnmatch.h>
#include <poll.h>
#include <sched.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>
#include <ctime>
#include <nlohmann/json.hpp>
#include <numeric>
#include <stdexcept>

#include "live/protocol.hpp"

namespace emt {
namespace {

using nlohmann::json;

constexpr std::size_t kMostReaders = 16, kBuffered = std::size_t{1} << 20;
constexpr int kPoll_ms = 1;
constexpr std::chrono::seconds kPatience{1}, kRequestPatience{2};
constexpr std::chrono::milliseconds kBetweenOrders{100};      // each order costs ranks time, and other readers frames
constexpr double kSearch_s = 0.1, kSearchPerName_s = 1e-6;  // processor time for the signals of a request

[[noreturn]] void refuse(const std::string& path, const std::string& why) { throw std::runtime_error("--live " + path + ": " + why); }

/// Lets the calling thread run on every core of the node, not only its rank's, and gives other work priority.
void stand_back() {
    cpu_set_t all;
    std::memset(&all, 0xff, sizeof all);
    static_cast<void>(sched_setaffinity(0, sizeof all, &all));
    static_cast<void>(setpriority(PRIO_PROCESS, static_cast<id_t>(gettid()), 19));
}

double processor_s() {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

/// Marks the names that match a pattern. Throws std::runtime_error if there are none, or if the search lasts beyond
/// `end_s`.
void choose(const std::string& pattern, const std::vector<std::string>& names, double end_s, std::vector<bool>& chosen) {
    bool any = false;
    for (std::size_t i = 0; i < names.size(); ++i) {
        if (fnmatch(pattern.c_str(), names[i].c_str(), 0) == 0) any = chosen[i] = true;
        if (i % 256 == 0 && processor_s() > end_s) throw std::runtime_error("it takes too long to find these signals: give fewer or simpler patterns");
    }
    if (!any) throw std::runtime_error("no signal is '" + pattern + "'");
}

/// Removes the socket of a run that has ended.
void remove_stale(const std::string& path, const sockaddr_un& address) {
    struct stat found {};
    if (lstat(path.c_str(), &found) != 0) return;
    if (!S_ISSOCK(found.st_mode)) refuse(path, "the path exists and is no socket: give another path");
    const int probe = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    const bool served = probe >= 0 && connect(probe, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0;
    const int why = errno;
    if (probe >= 0) close(probe);
    if (served || why != ECONNREFUSED) refuse(path, served ? "another run serves there: give another path" : std::strerror(why));
    unlink(path.c_str());
}

}  // namespace

LiveServer::LiveServer(std::string path, Board& board, std::vector<std::string> names, double dt_s)
    : path_(std::move(path)), board_(board), names_(std::move(names)), dt_s_(dt_s) {
    const sockaddr_un address = socket_address(path_);
    remove_stale(path_, address);
    listener_ = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    const mode_t before = umask(0177);  // restricted to this user from its creation
    const bool bound = listener_ >= 0 && bind(listener_, reinterpret_cast<const sockaddr*>(&address), sizeof address) == 0 && listen(listener_, SOMAXCONN) == 0;
    const int why = errno;
    umask(before);
    if (!bound) {
        if (listener_ >= 0) close(listener_);
        refuse(path_, std::strerror(why));
    }
    // The main thread handles signals.
    sigset_t all, old;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &old);
    thread_ = std::thread([this] { serve(); });
    pthread_sigmask(SIG_SETMASK, &old, nullptr);
}

LiveServer::~LiveServer() { stop(); }

void LiveServer::stop() {
    if (!thread_.joinable()) return;
    ends_.store(true);
    thread_.join();
    close(listener_);
    unlink(path_.c_str());
}

void LiveServer::serve() {
    stand_back();
    while (!ends_.load()) {
        std::vector<pollfd> watched{{listener_, POLLIN, 0}};
        for (const Reader& r : readers_) watched.push_back({r.socket, static_cast<short>(POLLIN | (r.out.empty() ? 0 : POLLOUT)), 0});
        // With readers, polls the rings, which have no descriptor; without readers, waits for one.
        static_cast<void>(poll(watched.data(), watched.size(), readers_.empty() ? 50 : kPoll_ms));
        accept_readers();
        for (Reader& r : readers_) listen_to(r);
        hand_out();
        for (Reader& r : readers_) send_to(r);
        const auto gone = [](const Reader& r) { return r.socket < 0; };
        const bool left = std::any_of(readers_.begin(), readers_.end(), gone);
        for (Reader& r : readers_)
            if (gone(r)) counts_.dropped += r.dropped;
        std::erase_if(readers_, gone);
        changed_ |= left;
        if (const auto now = std::chrono::steady_clock::now(); changed_ && now - ordered_ >= kBetweenOrders) {
            want_again();
            changed_ = false;
            ordered_ = now;
        }
    }
    hand_out();
    // The run has ended, so no step is delayed: send the remaining frames to readers that take them soon.
    const auto end = std::chrono::steady_clock::now() + kPatience;
    for (Reader& r : readers_) {
        for (send_to(r); r.socket >= 0 && !r.out.empty() && std::chrono::steady_clock::now() < end; send_to(r)) {
            pollfd room{r.socket, POLLOUT, 0};
            static_cast<void>(poll(&room, 1, kPoll_ms));
        }
        const std::size_t frame = (2 + r.places.size()) * 8;
        counts_.dropped += r.dropped + (r.asked ? (r.out.size() + frame - 1) / frame : 0);
        forget(r);
    }
}

void LiveServer::accept_readers() {
    const auto now = std::chrono::steady_clock::now();
    for (Reader& r : readers_)
        if (!r.asked && now - r.since > kRequestPatience) {
            ++counts_.refused;
            forget(r);
        }
    // Here and in listen_to(), limit the number at once: a client that never stops must not keep this thread from the
    // others.
    int s = -1;
    for (std::size_t n = 0; n < kMostReaders && (s = accept4(listener_, nullptr, nullptr, SOCK_CLOEXEC | SOCK_NONBLOCK)) >= 0; ++n) {
        ucred who{};
        socklen_t size = sizeof who;
        const bool own = getsockopt(s, SOL_SOCKET, SO_PEERCRED, &who, &size) == 0 && (who.uid == geteuid() || who.uid == 0);
        if (!own || readers_.size() >= kMostReaders) {
            ++counts_.refused;
            close(s);
            continue;
        }
        readers_.push_back({});
        readers_.back().socket = s;
        readers_.back().since = now;
    }
}

void LiveServer::forget(Reader& reader) {
    if (reader.socket >= 0) close(reader.socket);
    reader.socket = -1;
}

void LiveServer::listen_to(Reader& reader) {
    char text[4096];
    for (std::size_t n = 0; n <= kLongestRequest / sizeof text && reader.socket >= 0; ++n) {
        const ssize_t got = recv(reader.socket, text, sizeof text, MSG_DONTWAIT);
        if (got < 0 && (errno == EAGAIN || errno == EINTR)) return;
        if (got <= 0) return forget(reader);
        if (reader.asked) continue;  // ignores further text after the request
        reader.request.append(text, static_cast<std::size_t>(got));
        if (reader.request.find('\n') != std::string::npos)
            answer(reader);
        else if (reader.request.size() > kLongestRequest) {
            ++counts_.refused;
            forget(reader);
        }
    }
}

void LiveServer::answer(Reader& reader) {
    json told;
    try {
        const json request = json::parse(reader.request.substr(0, reader.request.find('\n')));
        const auto patterns = request.at("signals").get<std::vector<std::string>>();
        const auto every = request.at("decimate").get<std::int64_t>();
        if (every < 1) throw std::runtime_error("decimate must be 1 or more");
        reader.every = static_cast<std::uint64_t>(every);
        std::vector<bool> chosen(names_.size());
        const double end_s = processor_s() + kSearch_s + kSearchPerName_s * static_cast<double>(names_.size());
        for (const std::string& pattern : patterns) choose(pattern, names_, end_s, chosen);
        std::vector<std::uint32_t> all;
        for (const Reader& r : readers_) all.insert(all.end(), r.signals.begin(), r.signals.end());
        for (std::size_t i = 0; i < names_.size(); ++i)
            if (chosen[i]) {
                reader.signals.push_back(static_cast<std::uint32_t>(i));
                told["signals"].push_back(names_[i]);
            }
        all.insert(all.end(), reader.signals.begin(), reader.signals.end());
        std::sort(all.begin(), all.end());
        const auto count = static_cast<std::size_t>(std::unique(all.begin(), all.end()) - all.begin());
        if (reader.signals.empty() || count > kMostSignals)
            throw std::runtime_error("all readers together can read 1 to " + std::to_string(kMostSignals) + " signals; these would make " + std::to_string(count));
        told.update({{"format", "kappa-emt-live"}, {"version", 1}, {"dt_s", dt_s_}});
        reader.asked = true;
        ++counts_.readers;
    } catch (const std::exception& e) {
        ++counts_.refused;
        reader.signals.clear();
        told = {{"error", e.what()}};
    }
    reader.request.clear();
    reader.out = told.dump(-1, ' ', false, json::error_handler_t::replace) + "\n";
    send_to(reader);
    if (!reader.asked) return forget(reader);
    changed_ = true;
}

/// Gives the ranks the union of all readers' wishes.
void LiveServer::want_again() {
    std::vector<std::uint32_t> all;
    std::uint64_t every = 0;
    for (const Reader& r : readers_) {
        if (!r.asked || r.socket < 0) continue;
        all.insert(all.end(), r.signals.begin(), r.signals.end());
        every = std::gcd(every, r.every);
    }
    std::sort(all.begin(), all.end());
    all.erase(std::unique(all.begin(), all.end()), all.end());
    for (Reader& r : readers_) {
        r.places.clear();
        for (const std::uint32_t s : r.signals) r.places.push_back(static_cast<std::size_t>(std::lower_bound(all.begin(), all.end(), s) - all.begin()));
    }
    values_.assign(all.size(), 0);
    board_.want(all, std::max<std::uint64_t>(every, 1));
}

void LiveServer::hand_out() {
    if (values_.empty()) return;
    std::uint64_t step = 0;
    // At most one ring: a fast producer must not keep this thread from its readers.
    for (std::uint64_t n = 0; n < kFrames && board_.take(board_.generation(), step, values_); ++n)
        for (Reader& r : readers_) {
            if (r.places.empty() || r.socket < 0 || step % r.every != 0) continue;
            const std::size_t bytes = (2 + r.places.size()) * 8;
            if (r.out.size() + bytes > kBuffered) send_to(r);
            if (r.out.size() + bytes > kBuffered) continue;
            // Every missing step is a dropped frame, whatever the cause.
            if (r.begun) r.dropped += (step - r.last) / r.every - 1;
            r.begun = true;
            r.last = step;
            const auto append = [&](const auto& value) { r.out.append(reinterpret_cast<const char*>(&value), 8); };
            append(step);
            append(r.dropped);
            for (const std::size_t place : r.places) append(values_[place]);
            ++counts_.frames;
        }
}

void LiveServer::send_to(Reader& reader) {
    while (reader.socket >= 0 && !reader.out.empty()) {
        const ssize_t sent = send(reader.socket, reader.out.data(), reader.out.size(), MSG_DONTWAIT | MSG_NOSIGNAL);
        if (sent < 0 && errno == EINTR) continue;
        if (sent < 0) {
            if (errno == EAGAIN) return;
            close(reader.socket);
            reader.socket = -1;
            return;
        }
        reader.out.erase(0, static_cast<std::size_t>(sent));
    }
}

}  // namespace emt
