#include "import/psse_network.hpp"

#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <utility>

namespace emt {
namespace {

constexpr long kLargestPsseBus = 999'997;
constexpr double kAssumedKv = 100;    // of buses without a base voltage
constexpr double kRounding = 5.1e-6;  // per unit: PSS/E writes VM to five decimals and VA to four, in degrees
enum PsseBusType : long { psse_load_bus = 1, psse_machine_bus, psse_swing_bus, psse_isolated_bus };

}  // namespace

PsseNetwork::PsseNetwork(PsseFile of) : file(std::move(of)) {
    grid.mva = file.mva;
    grid.frequency_hz = file.frequency_hz;
    grid.rounding = kRounding;
    grid.title = "PSS/E case " + std::filesystem::path(file.origin).filename().string();
    read_threshold();
    find_isolated();
    join_buses();
    for (const PsseRecord& record : file[PsseSection::bus]) read_bus(record);
    note(no_kv_.size(), "buses have no base voltage: taken for 100 kV");
    note(isolated_.size(), "buses are isolated (IDE 4): left out");
    std::size_t gone = 0;
    for (const auto& [number, place] : place_) gone += grid.bus[place].number != number ? 1 : 0;
    note(gone, "buses are one with another through lines of zero impedance");
}

/// THRSHZ of version 34: "GENERAL, THRSHZ=0.0001, ...".
void PsseNetwork::read_threshold() {
    for (const PsseRecord& record : file[PsseSection::system_wide]) {
        std::string text;
        for (const std::string& field : record.front().field) text += field;
        const std::string key = "THRSHZ=";
        if (const std::size_t at = text.find(key); at != text.npos) threshold_ = std::strtod(text.c_str() + at + key.size(), nullptr);
    }
}

void PsseNetwork::find_isolated() {
    Diagnostics later;  // read_bus() finds the same problems
    for (const PsseRecord& record : file[PsseSection::bus]) {
        PsseRow r(file, record.front(), later);
        if (r.whole(3, "IDE", psse_load_bus) == psse_isolated_bus) isolated_.insert(r.whole(0, "I"));
    }
}

void PsseNetwork::join_buses() {
    Diagnostics later;  // the readers of the sections find the same problems
    const auto join = [&](const PsseBranch& e) {
        if (!e.on || !is_zero_impedance(e) || isolated_.contains(e.i) || isolated_.contains(e.j)) return;
        const long i = joined(e.i), j = joined(e.j);
        if (i != j) joined_[j] = i;
    };
    for (const PsseRecord& record : file[PsseSection::branch]) {
        PsseRow row(file, record.front(), later);
        if (const PsseBranch e = branch(row); row.sound()) join(e);
    }
    for (const PsseRecord& record : file[PsseSection::switching_device]) {
        PsseRow row(file, record.front(), later);
        if (const PsseBranch e = switching_device(row); row.sound()) join(e);
    }
}

long PsseNetwork::joined(long number) const {
    while (joined_.contains(number)) number = joined_.at(number);
    return number;
}

void PsseNetwork::read_bus(const PsseRecord& record) {
    PsseRow r = row(record.front());
    const long number = r.whole(0, "I"), type = r.whole(3, "IDE", psse_load_bus);
    const double kv = r.number(2, "BASKV", 0.0), vm = r.number(7, "VM", 1.0), va = r.number(8, "VA", 0.0);
    if (!r.sound()) return;
    if (number < 1 || number > kLargestPsseBus) return r.refuse("the number of a bus is " + std::to_string(number) + ": expected 1 to 999997");
    if (type < psse_load_bus || type > psse_isolated_bus) return r.refuse("IDE (field 4) is " + std::to_string(type) + ": expected 1, 2, 3 or 4");
    if (!(vm > 0)) return r.refuse("VM (field 8) must be positive");
    if (kv < 0) return r.refuse("BASKV (field 3) must not be negative");
    if (!read_.insert(number).second) return r.refuse("bus " + std::to_string(number) + " occurs twice: expected one record for each bus");
    if (type == psse_isolated_bus) return;
    const bool slack = type == psse_swing_bus, regulated = type != psse_load_bus;
    const auto [found, is_new] = place_of_joined_.emplace(joined(number), grid.bus.size());
    place_[number] = found->second;
    if (is_new) {
        if (kv == 0) no_kv_.insert(found->second);
        grid.bus.push_back({r.where(), number, kv > 0 ? kv : kAssumedKv, vm, va});
    }
    GridBus& b = grid.bus[found->second];
    if (kv > 0 && kv != b.kv) r.refuse("a line of zero impedance connects it with bus " + std::to_string(b.number) + ": expected the same base voltage");
    b.slack = b.slack || slack;
    b.regulated = b.regulated || regulated;
}

const std::size_t* PsseNetwork::bus(PsseRow& r, long number) {
    if (const auto it = place_.find(number); it != place_.end()) return &it->second;
    if (!isolated_.contains(number)) r.refuse("there is no bus " + std::to_string(number) + ": expected one of the bus data");
    return nullptr;
}

bool PsseNetwork::first(PsseRow& r, const char* kind, std::set<long> buses, const std::string& id) {
    std::string key = kind;
    for (const long number : buses) key += " " + std::to_string(number);
    if (devices_.insert(key + " '" + id + "'").second) return true;
    r.refuse("a second " + key + " '" + id + "': expected another identifier");
    return false;
}

PsseBranch PsseNetwork::branch(PsseRow& r) const {
    const std::size_t shunts = file.version >= 34 ? 19 : 9;  // after a name and 12 ratings, or 3 ratings
    PsseBranch e;
    e.i = r.whole(0, "I");
    e.j = std::abs(r.whole(1, "J"));  // negative: J is the metered end
    e.id = r.id(2);
    e.r = r.number(3, "R", 0.0);
    e.x = r.number(4, "X");
    e.b = r.number(5, "B", 0.0);
    e.at_i = {r.number(shunts, "GI", 0.0), r.number(shunts + 1, "BI", 0.0)};
    e.at_j = {r.number(shunts + 2, "GJ", 0.0), r.number(shunts + 3, "BJ", 0.0)};
    e.on = r.whole(shunts + 4, "ST", 1) != 0;
    return e;
}

PsseBranch PsseNetwork::switching_device(PsseRow& r) const {
    PsseBranch e{r.whole(0, "I"), std::abs(r.whole(1, "J")), r.id(2), 0, r.number(3, "X", 0.0), 0, {}, {}, false};
    e.on = r.whole(16, "STAT", 1) != 0;
    return e;
}

}  // namespace emt
