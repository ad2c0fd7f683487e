// What the network adapters of this node have sent, and what of it got lost: TCP's segments and RDMA's packets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace measure::pairs {

struct PacketCounters {
    std::int64_t sent = 0;
    std::int64_t lost = 0;

    PacketCounters& operator+=(const PacketCounters& other);
    // A counter that was reset in between counts nothing.
    [[nodiscard]] PacketCounters since(const PacketCounters& before) const;
};

// Sum over the node since it started; what is not there counts nothing.
PacketCounters read_packet_counters();

// Texts of /proc/net/snmp and /proc/net/netstat (the kernel's networking/snmp_counter): OutSegs; of RetransSegs those
// that the receiver did not have already (TCPDSACKRecvSegs, RFC 2883), which TCP sends for mere reordering, too.
PacketCounters tcp_counters(std::string_view snmp, std::string_view netstat);

// Every port below /sys/class/infiniband (the kernel's ABI document sysfs-class-infiniband): port_xmit_packets, and
// for what got lost what the port discarded or received damaged, sequence errors and timeouts of acknowledgements.
PacketCounters rdma_counters(const std::filesystem::path& devices);

}  // namespace measure::pairs
