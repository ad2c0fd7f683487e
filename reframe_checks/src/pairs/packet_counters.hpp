// Packets that this node's network adapters sent, and lost packets: TCP segments and RDMA packets.
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>

namespace measure::pairs {

struct PacketCounters {
    std::int64_t sent = 0;
    std::int64_t lost = 0;

    PacketCounters& operator+=(const PacketCounters& other);
    // Returns the difference; 0 for a counter that was reset in between.
    [[nodiscard]] PacketCounters since(const PacketCounters& before) const;
};

// Returns the sum over the node since its start; absent counters count 0.
PacketCounters read_packet_counters();

// Parses /proc/net/snmp and /proc/net/netstat (the kernel's networking/snmp_counter). Sent: OutSegs. Lost: RetransSegs
// less segments that the receiver already had (TCPDSACKRecvSegs, RFC 2883): TCP also resends after mere reordering.
PacketCounters tcp_counters(std::string_view snmp, std::string_view netstat);

// Reads every port below /sys/class/infiniband (the kernel's ABI document sysfs-class-infiniband). Sent:
// port_xmit_packets. Lost: discarded and damaged packets, sequence errors and timeouts of acknowledgements.
PacketCounters rdma_counters(const std::filesystem::path& devices);

}  // namespace measure::pairs
