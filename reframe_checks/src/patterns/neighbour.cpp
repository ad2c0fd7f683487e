// Exchange on a task graph, as in the EMT application: every rank with each rank that shares lines with it.
//
// The graph is a text file. Each line has two ranks, the number of lines that join them, and the bytes that each line
// sends in each direction; `#` begins a comment. Message `pair`: one message per pair of ranks and direction, with all
// lines' bytes; `line`: one message per line.
//
// The time of an exchange is the longest of all ranks from posting the first message to the arrival of all messages.
// All ranks start together; the median counts.

#include <fstream>
#include <set>
#include <sstream>
#include <stdexcept>

#include "common/payload.hpp"
#include "patterns/patterns.hpp"

namespace measure::patterns {
namespace {

struct Edge {
    int first;
    int second;
    int lines;
    int bytes;
};

std::vector<Edge> read_graph(const std::filesystem::path& path, int ranks) {
    std::ifstream file(path);
    if (!file) {
        throw std::runtime_error("cannot read the graph " + path.string());
    }
    std::vector<Edge> edges;
    std::set<std::pair<int, int>> pairs;
    std::string text;
    for (int number = 1; std::getline(file, text); ++number) {
        const std::string content = text.substr(0, text.find('#'));
        if (content.find_first_not_of(" \t\r") == std::string::npos) {
            continue;
        }
        std::istringstream words(content);
        Edge edge{};
        std::string rest;
        const bool whole = words >> edge.first >> edge.second >> edge.lines >> edge.bytes && !(words >> rest);
        const bool right = whole && edge.first >= 0 && edge.second > edge.first && edge.second < ranks && edge.lines > 0 &&
                           edge.bytes > 0 && edge.bytes <= (1 << 30) / edge.lines;
        if (!right || !pairs.insert({edge.first, edge.second}).second) {
            throw std::runtime_error(path.string() + ", line " + std::to_string(number) + ": expected `RANK RANK LINES BYTES`, the smaller of " +
                                     std::to_string(ranks) + " ranks first, each pair once; found \"" + text.substr(0, 80) + "\"");
        }
        edges.push_back(edge);
    }
    if (edges.empty()) {
        throw std::runtime_error(path.string() + ": no line `RANK RANK LINES BYTES`");
    }
    return edges;
}

// Messages to and from a neighbour.
struct Link {
    int neighbour;
    int messages;
    std::size_t bytes;  // of each
    std::vector<char> sent;
    std::vector<char> received;
};

std::vector<Link> own_links(const std::vector<Edge>& edges, const std::string& message, int rank) {
    std::vector<Link> links;
    for (const Edge& edge : edges) {
        if (edge.first == rank || edge.second == rank) {
            const int messages = message == "line" ? edge.lines : 1;
            const std::size_t all = at(edge.lines) * at(edge.bytes);
            links.push_back({edge.first == rank ? edge.second : edge.first, messages, all / at(messages), std::vector<char>(all),
                             std::vector<char>(all)});
        }
    }
    return links;
}

void exchange(const Run& run, std::vector<Link>& links, const std::string& names) {
    std::vector<MPI_Request> requests;
    const auto each = [&](const auto& post) {
        for (Link& link : links) {
            for (int part = 0; part < link.messages; ++part) {
                requests.push_back(MPI_REQUEST_NULL);
                post(link, part, at(part) * link.bytes, static_cast<int>(link.bytes));
            }
        }
    };
    each([&](Link& link, int part, std::size_t start, int bytes) {
        MPI_Irecv(link.received.data() + start, bytes, MPI_BYTE, link.neighbour, part, MPI_COMM_WORLD, &requests.back());
    });
    each([&](Link& link, int part, std::size_t start, int bytes) {
        MPI_Isend(link.sent.data() + start, bytes, MPI_BYTE, link.neighbour, part, MPI_COMM_WORLD, &requests.back());
    });
    run.wait_all(requests, names);
}

template <typename Act>
void each_message(std::vector<Link>& links, const Act& act) {
    for (Link& link : links) {
        for (int part = 0; part < link.messages; ++part) {
            act(link, part, at(part) * link.bytes);
        }
    }
}

}  // namespace

void neighbour(const Run& run, const Neighbour& options) {
    const std::vector<Edge> edges = read_graph(options.graph, run.size());
    std::vector<Link> links = own_links(edges, options.message, run.rank());
    std::string names = "messages with ranks";
    for (const Link& link : links) {
        names.append(" ").append(std::to_string(link.neighbour));
    }
    std::vector<double> seconds;
    // The first exchange opens the connections.
    for (int iteration = -1; iteration < run.options().iterations; ++iteration) {
        each_message(links, [&](Link& link, int part, std::size_t start) {
            fill(std::span(link.sent).subspan(start, link.bytes), {run.rank(), link.neighbour, iteration, part});
        });
        run.start_together();
        const double start = now();
        exchange(run, links, names);
        if (iteration >= 0) {
            seconds.push_back(now() - start);
        }
        each_message(links, [&](Link& link, int part, std::size_t begin) {
            require(std::span(link.received).subspan(begin, link.bytes), {link.neighbour, run.rank(), iteration, part});
        });
    }
    long long messages = 0;
    long long bytes = 0;
    long long lines = 0;
    for (const Edge& edge : edges) {
        messages += 2LL * (options.message == "line" ? edge.lines : 1);
        bytes += 2LL * edge.lines * edge.bytes;
        lines += edge.lines;
    }
    run.write({{"message", options.message},
               {"pairs", edges.size()},
               {"lines", lines},
               {"messages", messages},
               {"message_bytes", bytes},
               {"iterations", seconds.size()},
               {"times_us", run.longest_us(seconds)}});
}

}  // namespace measure::patterns
