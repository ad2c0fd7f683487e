#include "pairs/packet_counters.hpp"

#include <gtest/gtest.h>
#include <unistd.h>

#include <fstream>
#include <string>

using namespace measure::pairs;

namespace {

void put(const std::filesystem::path& path, const std::string& text) {
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
}

}  // namespace

TEST(TcpCounters, FindsColumnsByName) {
    const auto found = tcp_counters(
        "Ip: Forwarding DefaultTTL\nIp: 1 64\n"
        "Tcp: RtoAlgorithm MaxConn InSegs OutSegs RetransSegs InErrs\nTcp: 1 -1 700 900 18 3\n",
        "TcpExt: SyncookiesSent TCPDSACKRecv TCPDSACKRecvSegs\nTcpExt: 0 2 5\nIpExt: InNoRoutes\nIpExt: 0\n");
    EXPECT_EQ(found.sent, 900);
    EXPECT_EQ(found.lost, 13);
}

TEST(TcpCounters, NothingInEmptyText) { EXPECT_EQ(tcp_counters("", "").sent, 0); }

TEST(RdmaCounters, SumsAllPorts) {
    const auto root = std::filesystem::temp_directory_path() / ("rdma-" + std::to_string(getpid()));
    put(root / "mlx5_0/ports/1/counters/port_xmit_packets", "1000\n");
    put(root / "mlx5_0/ports/1/counters/port_xmit_discards", "2\n");
    put(root / "mlx5_0/ports/1/hw_counters/packet_seq_err", "3\n");
    put(root / "mlx5_1/ports/1/counters/port_xmit_packets", "500\n");
    put(root / "mlx5_1/ports/1/counters/port_rcv_errors", "N/A\n");
    const auto found = rdma_counters(root);
    std::filesystem::remove_all(root);
    EXPECT_EQ(found.sent, 1500);
    EXPECT_EQ(found.lost, 5);
}

TEST(RdmaCounters, NothingWithoutDevices) { EXPECT_EQ(rdma_counters("/nowhere").sent, 0); }

TEST(PacketCounters, AResetCountsNothing) {
    const auto passed = PacketCounters{5, 9}.since({7, 4});
    EXPECT_EQ(passed.sent, 0);
    EXPECT_EQ(passed.lost, 5);
}
