// A snapshot in which somebody has written other values, with right checksums, is refused or continues: it breaks nothing.
#include <gtest/gtest.h>
#include <unistd.h>

#include <array>
#include <cmath>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/fnv1a.hpp"
#include "simulation.hpp"
#include "snapshot/snapshot.hpp"

namespace emt::test {
namespace {

constexpr std::size_t kHead = 88, kRecord = 16;

/// Poles that move by themselves, segments, a line, and a block with a state.
const std::string kCase = make_case(
    R"({"type":"source","name":"E","bus":"S","amplitude":600e3,"r1":1,"l1":0.08,"r0":1,"l0":0.05},
       {"type":"switch","name":"B","buses":["S","A"],"closed":true,"current_zero":true,"operations":[{"time":0.0006,"action":"open"}]},
       {"type":"line","name":"L","from":"A","to":"Z","length":40e3,"r1":0.012e-3,"l1":0.87e-6,"c1":13.4e-12,"r0":0.25e-3,"l0":2.7e-6,"c0":9e-12},
       {"type":"arrester","name":"V","buses":["Z","0"],"curve":[[100e3,1],[200e3,20],[300e3,100],[600e3,5000]]},
       {"type":"resistor","name":"R","nodes":["S.a","d"],"r":1000},
       {"type":"diode","name":"D","nodes":["d","0"]},
       {"type":"measurement","name":"m","quantity":"voltage","nodes":["d","0"]},
       {"type":"block","name":"lag","kind":"lag","input":"m","time_constant":0.01})",
    50e-6, R"("buses":["S","A","Z"],"nodes":["d"],)");

template <class T>
void put(std::string& bytes, std::size_t at, T value) {
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

template <class T>
T get(const std::string& bytes, std::size_t at) {
    T value;
    std::memcpy(&value, bytes.data() + at, sizeof value);
    return value;
}

class Crafted : public testing::Test {
protected:
    Crafted() : simulation_(kCase) {
        simulation_.run(10);
        write_snapshot(MPI_COMM_SELF, path_, id(), simulation_.engine(), {});
        std::ifstream file(path_, std::ios::binary);
        whole_.assign(std::istreambuf_iterator<char>(file), {});
    }
    ~Crafted() override { std::filesystem::remove(path_); }

    [[nodiscard]] StudyId id() const {
        return {simulation_.study().hash, simulation_.dt(), simulation_.parts().tasks.size(), simulation_.study().network.lines.size()};
    }
    /// Gives the snapshot right checksums, and goes on from it. Returns the reason of a refusal, or an empty text.
    std::string go_on(std::string bytes) {
        put(bytes, 64, std::uint64_t{bytes.size() - kHead});
        return go_on_as_it_is(std::move(bytes));
    }
    std::string go_on_as_it_is(std::string bytes) {
        put(bytes, 72, fnv1a(bytes.data() + kHead, bytes.size() - kHead));
        put(bytes, 80, fnv1a(bytes.data(), 80));
        std::ofstream(path_, std::ios::binary) << bytes;
        try {
            Snapshot snapshot(MPI_COMM_SELF, path_, id());
            EngineOptions options;
            options.kernels = find_kernels("auto");
            options.resume = [&](Engine& engine) { snapshot.into(engine); };
            const Case& study = simulation_.study();
            Engine engine(MPI_COMM_SELF, study.network, simulation_.parts(), map_tasks(study.network, simulation_.parts(), 1), options);
            for (int i = 0; i < 40; ++i) engine.step();
            engine.drain();
        } catch (const std::runtime_error& e) {
            return e.what();
        }
        return "";
    }
    /// Calls visit(position of the record, position of its state, bytes of its state).
    template <class Visit>
    void for_each_record(Visit visit) const {
        for (std::size_t at = kHead; at < whole_.size();) {
            const auto size = static_cast<std::size_t>(get<std::uint64_t>(whole_, at + 8));
            visit(at, at + kRecord, size);
            at += kRecord + size;
        }
    }
    template <class T>
    [[nodiscard]] std::string with(std::size_t at, T value) const {
        std::string bytes = whole_;
        put(bytes, at, value);
        return bytes;
    }

    Simulation simulation_;
    std::string path_ = (std::filesystem::temp_directory_path() / ("emt_snapshot_test." + std::to_string(getpid()))).string();
    std::string whole_;
};

constexpr std::array<std::uint64_t, 7> kExtremes{0, 1, 0x7fffffff, 0x80000000, 0xffffffff, std::uint64_t{1} << 63, ~std::uint64_t{0}};

TEST_F(Crafted, UnchangedSnapshotGoesOn) { EXPECT_EQ(go_on(whole_), ""); }

TEST_F(Crafted, HeadWithAnExtremeFieldIsRefusedOrGoesOn) {
    for (const std::size_t field : {8U, 16U, 24U, 32U, 40U, 48U, 56U, 64U})
        for (const std::uint64_t value : kExtremes) {
            const std::string why = go_on_as_it_is(with(field, value));
            const bool counts = (field == 32 || field == 40) && value <= 0xffffffff;  // steps and unsettled solutions
            const bool same = get<std::uint64_t>(whole_, field) == value;
            EXPECT_EQ(why.empty(), counts || same) << "byte " << field << ", value " << value << ": " << why;
        }
}

TEST_F(Crafted, RecordWithAnExtremeKindNumberOrSizeIsRefused) {
    for_each_record([&](std::size_t record, std::size_t, std::size_t size) {
        for (const std::uint64_t value : kExtremes) {
            const auto half = static_cast<std::uint32_t>(value);
            for (const std::size_t field : {0U, 4U}) {
                if (get<std::uint32_t>(whole_, record + field) == half) continue;
                EXPECT_NE(go_on(with(record + field, half)), "") << record + field << ' ' << half;
            }
            if (value != size) {
                EXPECT_NE(go_on(with(record + 8, value)), "") << record << ' ' << value;
            }
        }
    });
}

TEST_F(Crafted, AnyByteOfTheStateIsRefusedOrGoesOn) {
    for_each_record([&](std::size_t, std::size_t state, std::size_t size) {
        for (std::size_t at = state; at < state + size; ++at)
            for (const char value : {'\x02', '\xff'}) go_on(with(at, value));
    });
}

TEST_F(Crafted, AnyNumberOfTheStateIsRefusedOrGoesOn) {
    for_each_record([&](std::size_t, std::size_t state, std::size_t size) {
        for (std::size_t at = state; at < state + size; ++at) {
            if (at + 4 <= state + size)
                for (const std::uint32_t value : {0x80000000U, 1000000000U}) go_on(with(at, value));
            if (at + 8 <= state + size)
                for (const double value : {1e308, std::nan("")}) go_on(with(at, value));
        }
    });
}

TEST_F(Crafted, MoreContentThanTheStateIsRefusedBeforeItIsRead) {
    std::string bytes = whole_;
    const std::uint64_t much = std::uint64_t{1} << 36;
    put(bytes, 64, much);
    put(bytes, 80, fnv1a(bytes.data(), 80));
    std::ofstream(path_, std::ios::binary) << bytes;
    std::filesystem::resize_file(path_, kHead + much);  // without blocks on the disk
    Snapshot snapshot(MPI_COMM_SELF, path_, id());
    EXPECT_THROW(snapshot.into(simulation_.engine()), std::runtime_error);
}

}  // namespace
}  // namespace emt::test
