#include "pairs/packet_counters.hpp"

#include <algorithm>
#include <array>
#include <fstream>
#include <iterator>
#include <sstream>
#include <string>
#include <system_error>
#include <vector>

#include "common/files.hpp"

namespace measure::pairs {

namespace {

constexpr std::array kLost{"counters/port_rcv_errors", "counters/port_xmit_discards", "hw_counters/packet_seq_err",
                           "hw_counters/out_of_sequence", "hw_counters/local_ack_timeout_err"};

std::vector<std::string> words(const std::string& line) {
    std::istringstream stream(line);
    return {std::istream_iterator<std::string>(stream), {}};
}

// Two lines begin with the table's name: column names, then values.
std::int64_t value_in(std::string_view text, const std::string& table, const std::string& column) {
    std::istringstream lines{std::string(text)};
    std::vector<std::string> names;
    for (std::string line; std::getline(lines, line);) {
        if (!line.starts_with(table + ":")) {
            continue;
        }
        const auto row = words(line);
        const auto place = std::find(names.begin(), names.end(), column);
        if (place != names.end() && place - names.begin() < std::ssize(row)) {
            return std::stoll(row[static_cast<std::size_t>(place - names.begin())]);
        }
        names = row;
    }
    return 0;
}

std::string text_of(const std::filesystem::path& path) {
    std::ifstream file(path);
    return {std::istreambuf_iterator<char>(file), {}};
}

}  // namespace

PacketCounters& PacketCounters::operator+=(const PacketCounters& other) {
    sent += other.sent;
    lost += other.lost;
    return *this;
}

PacketCounters PacketCounters::since(const PacketCounters& before) const {
    return {std::max<std::int64_t>(sent - before.sent, 0), std::max<std::int64_t>(lost - before.lost, 0)};
}

PacketCounters tcp_counters(std::string_view snmp, std::string_view netstat) {
    return {value_in(snmp, "Tcp", "OutSegs"),
            value_in(snmp, "Tcp", "RetransSegs") - value_in(netstat, "TcpExt", "TCPDSACKRecvSegs")};
}

PacketCounters rdma_counters(const std::filesystem::path& devices) {
    PacketCounters found;
    std::error_code absent;
    for (const auto& device : std::filesystem::directory_iterator(devices, absent)) {
        for (const auto& port : std::filesystem::directory_iterator(device.path() / "ports", absent)) {
            found.sent += number_in(port.path() / "counters/port_xmit_packets");
            for (const char* name : kLost) {
                found.lost += number_in(port.path() / name);
            }
        }
    }
    return found;
}

PacketCounters read_packet_counters() {
    PacketCounters found = tcp_counters(text_of("/proc/self/net/snmp"), text_of("/proc/self/net/netstat"));
    found += rdma_counters("/sys/class/infiniband");
    return found;
}

}  // namespace measure::pairs
