#include "commands/waveforms.hpp"

#include <mpi.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <iterator>
#include <sstream>
#include <stdexcept>

#include "base/heartbeat.hpp"
#include "base/smpi.hpp"
#include "commands/measurements.hpp"
#include "measure/timer.hpp"
#include "waveforms/comtrade.hpp"
#include "waveforms/hdf5.hpp"

namespace emt {
namespace {

using nlohmann::json;

/// Returns the name of a rank's own file. The rank stands before the ending, because readers detect the format by the
/// ending.
std::string path_of_rank(const std::string& path, int rank) {
    char part[24];
    std::snprintf(part, sizeof part, ".rank%04d", rank);
    const std::filesystem::path whole(path);
    return (whole.parent_path() / (whole.stem().string() + part + whole.extension().string())).string();
}

/// Returns "comtrade" or "hdf5" according to the name's ending, as other readers do.
std::string format_of(const std::string& path) {
    const std::string ending = std::filesystem::path(path).extension().string();
    if (ending == ".cff") return "comtrade";
    if (ending == ".h5" || ending == ".hdf5") return "hdf5";
    throw std::runtime_error("--waveforms " + path + ": the name must end in .cff (COMTRADE in one file), or in .h5 or .hdf5 (HDF5)");
}

/// Returns a text if the file system of the path has no room for another buffer, else an empty text.
std::string disk_full(const std::string& path) {
    std::error_code unknown;
    const auto space = std::filesystem::space(std::filesystem::absolute(path).parent_path(), unknown);
    constexpr std::uint64_t kFull = 1U << 20;
    return !unknown && space.available < kFull ? "the disk is full, " + std::to_string(space.available >> 10) + " KiB are left: " : "";
}

/// Describes the file that a run leaves if it cannot write.
std::string left_in(const RecordFile& file) {
    if (!file.there()) return "No file is left. Make room there or write elsewhere";
    const std::string left = file.records() == 0 ? "It can be read and has no record"
                                                 : "It can be read and ends with its last whole record, number " + std::to_string(file.records());
    return left + ". Make room there, write elsewhere, write fewer --channels, or use a larger --decimate";
}

std::vector<Known> chosen_channels(const Network& net, const RunOptions& o) {
    return o.waveforms_path.empty() ? std::vector<Known>{} : matching(known(net), o.channels);
}

std::vector<Probe> probes_of(const std::vector<Known>& chosen) {
    std::vector<Probe> out;
    for (const Known& k : chosen) out.push_back(k.probe);
    return out;
}

RecordLayout layout_of(const RunOptions& o, const std::vector<Column>& columns, const Sampling& sampling) {
    return format_of(o.waveforms_path) == "hdf5" ? hdf5_layout(columns, sampling) : comtrade_layout(columns, sampling);
}

std::string host() {
    char name[MPI_MAX_PROCESSOR_NAME];
    int length = 0;
    MPI_Get_processor_name(name, &length);
    return {name, static_cast<std::size_t>(length)};
}

/// Rounds to nanoseconds, so that readers can recompute the rate from the printed time.
double whole_ns(double seconds) { return std::round(seconds * 1e9) / 1e9; }

json mib_s(std::uint64_t bytes, double seconds) {
    return bytes > 0 && seconds > 0 ? json(static_cast<double>(bytes) / 1048576 / seconds) : json(nullptr);
}

}  // namespace

void check_waveforms(const Network& net, const RunOptions& o, bool say) {
    if (o.waveforms_path.empty()) return;
    const std::vector<Known> chosen = chosen_channels(net, o);
    std::vector<Column> columns;
    for (const Known& k : chosen) columns.push_back({k.name, k.unit});
    static_cast<void>(layout_of(o, columns, {"", net.frequency_hz, net.dt_s, 0, 0}));
    if (say && o.channels.empty())
        std::fprintf(stderr, "emt: --waveforms without --channels takes all %zu channels of the case\n", chosen.size());
}

Waveforms::Waveforms(const Mpi& mpi, const Case& study, const Decomposition& parts, const Engine& engine, const RunOptions& o)
    : mpi_(mpi), options_(o), observed_(study.network, parts, engine, probes_of(chosen_channels(study.network, o))) {
    if (o.waveforms_path.empty()) return;
    const Network& net = study.network;
    const std::vector<Known> chosen = chosen_channels(net, o);
    std::vector<int> rank_of;
    for (const Probe& p : observed_.probes()) rank_of.push_back(p.owned ? mpi.rank : 0);  // channels in no task are zero; rank 0 owns them
    MPI_Allreduce(MPI_IN_PLACE, rank_of.data(), static_cast<int>(rank_of.size()), MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    for (std::size_t i = 0; i < chosen.size(); ++i) {
        columns_.push_back({chosen[i].name, chosen[i].unit, rank_of[i]});
        if (rank_of[i] != mpi.rank) continue;
        own_.push_back(observed_.probes()[i]);
        const Probe& p = chosen[i].probe;
        every_step_ |= p.of == Probe::Of::channel && net.channels.all()[static_cast<std::size_t>(p.number)].quantity == Channel::Quantity::energy;
    }
    const std::uint64_t begin = engine.steps(), end = begin + o.warm_up + o.steps;
    const std::uint64_t first = (begin + o.decimate - 1) / o.decimate;
    sampling_ = {study.title.empty() ? std::filesystem::path(o.case_path).stem().string() : study.title, net.frequency_hz,
                 net.dt_s * static_cast<double>(o.decimate), first, end / o.decimate + 1 - first};
    buffer_records_ = buffered(layout_of(o, columns_, sampling_));
    if (const std::vector<Column> of_file = columns_of_file(mpi.rank); !of_file.empty())
        file_ = std::make_unique<RecordFile>(shared() ? MPI_COMM_WORLD : MPI_COMM_SELF, mpi.rank, path_of_file(mpi.rank), layout_of(o, of_file, sampling_),
                                             of_file, buffer_records_, together(), o.verify_waveforms != "none");
    agree_or_end();
}

std::vector<Column> Waveforms::columns_of_file(int rank) const {
    if (shared()) return columns_;
    std::vector<Column> out;
    std::copy_if(columns_.begin(), columns_.end(), std::back_inserter(out), [rank](const Column& c) { return c.rank == rank; });
    return out;
}

std::string Waveforms::path_of_file(int rank) const {
    return shared() ? options_.waveforms_path : path_of_rank(options_.waveforms_path, rank);
}

std::uint64_t Waveforms::buffered(const RecordLayout& layout) const {
    constexpr std::uint64_t kMostOfRank = 1U << 30;  // MPI counts the bytes of a call with 31 bits
    std::uint64_t largest_share = layout.record_bytes(own_.size());
    MPI_Allreduce(MPI_IN_PLACE, &largest_share, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    const std::uint64_t records = std::min((options_.waveform_buffer_mib << 20) / layout.record_bytes(columns_.size()), kMostOfRank / largest_share);
    return std::clamp<std::uint64_t>(records, 1, sampling_.records);
}

bool Waveforms::take(const Engine& engine) {
    const bool due = engine.steps() % options_.decimate == 0;
    if (due || every_step_) observed_.observe(engine);
    if (!due) return false;
    if (file_ != nullptr) {
        values_.clear();
        for (const Probe& p : own_) values_.push_back(observed_.value(engine, p));
        file_->add(values_);
    }
    if (++waiting_ < buffer_records_) return false;
    write();
    return true;
}

void Waveforms::write() {
    heartbeat::phase(kFilePatience_s, "writes waveforms");
    const std::uint64_t ticks = Ticks::now();
    const double start = clock_s();
    if (file_ != nullptr) file_->write();
    agree_or_end();
    if (file_ != nullptr) file_->look();
    agree_or_end();
    if (file_ != nullptr) file_->keep();
    waiting_ = 0;
    io_s_ += clock_s() - start;
    last_write_ticks_ = Ticks::now() - ticks;
    heartbeat::phase(kPatience_s, "steps");
}

void Waveforms::finish() {
    if (!wanted()) return;
    if (waiting_ > 0) write();
    heartbeat::phase(kFilePatience_s, "makes waveforms durable");
    if (file_ != nullptr) file_->flush();
    agree_or_end();
    if (file_ != nullptr) file_->end();
    if (options_.verify_waveforms != "none") verify();
}

void Waveforms::agree_or_end() {
    const std::string failure = file_ == nullptr ? "" : file_->failure();
    int failed = failure.empty() ? 0 : 1;
    MPI_Allreduce(MPI_IN_PLACE, &failed, 1, MPI_INT, MPI_MAX, MPI_COMM_WORLD);
    if (failed == 0) return;
    if (file_ != nullptr) file_->give_up();
    end_if(failure.empty() ? "" : file_->path() + ": " + disk_full(file_->path()) + failure + ". " + left_in(*file_));
}

void Waveforms::end_if(const std::string& failure) {
    int mine = failure.empty() ? mpi_.size : mpi_.rank, first = 0;
    MPI_Allreduce(&mine, &first, 1, MPI_INT, MPI_MIN, MPI_COMM_WORLD);
    if (first == mpi_.size) return;
    if (first != mpi_.rank) MPI_Barrier(MPI_COMM_WORLD);  // the rank that failed ends the run
    throw std::runtime_error(mpi_.size > 1 ? "on " + host() + ": " + failure : failure);
}

void Waveforms::verify() {
    // If launchers fill one node after the other, the rank half the ranks away is on another node, if there are
    // several.
    read_of_ = options_.verify_waveforms == "own" ? mpi_.rank : (mpi_.rank + std::max(mpi_.size / 2, 1)) % mpi_.size;
    const std::vector<Column> of_file = columns_of_file(read_of_);
    std::uint64_t records = file_ ? file_->records() : 0;  // fewer than planned if a signal ended the run
    MPI_Allreduce(MPI_IN_PLACE, &records, 1, MPI_UINT64_T, MPI_MAX, MPI_COMM_WORLD);
    heartbeat::phase(kFilePatience_s, "reads waveforms back");
    if (!of_file.empty()) {
        const RecordLayout layout = layout_of(options_, of_file, sampling_);
        const Share share(layout, of_file, read_of_, !shared() || read_of_ == 0);
        read_ = read_back(shared() ? MPI_COMM_WORLD : MPI_COMM_SELF, path_of_file(read_of_), layout, layout.record_bytes(of_file.size()), share,
                          records, buffer_records_, together());
    }
    const std::uint64_t own = file_ ? file_->digest() : ReadBack{}.digest;
    std::vector<std::uint64_t> written(static_cast<std::size_t>(mpi_.size));
    MPI_Allgather(&own, 1, MPI_UINT64_T, written.data(), 1, MPI_UINT64_T, MPI_COMM_WORLD);
    std::string failure = read_.failure;
    if (failure.empty() && read_.digest != written[static_cast<std::size_t>(read_of_)])
        failure = "the data read back differ from the data that rank " + std::to_string(read_of_) + " wrote";
    end_if(failure.empty() ? "" : path_of_file(read_of_) + ": " + failure);
}

json Waveforms::result() const {
    const bool verified = options_.verify_waveforms != "none";
    const double write_of_rank_s = whole_ns(file_ ? file_->write_s() : 0), flush_of_rank_s = whole_ns(file_ ? file_->flush_s() : 0);
    const double read_of_rank_s = whole_ns(read_.read_s);
    const std::uint64_t bytes_of_rank = file_ ? file_->bytes() : 0;
    json own{{"rank", mpi_.rank}, {"host", host()}, {"bytes", bytes_of_rank}, {"write_s", write_of_rank_s}, {"flush_s", flush_of_rank_s},
             {"write_mib_s", mib_s(bytes_of_rank, write_of_rank_s + flush_of_rank_s)}, {"channels", own_.size()}, {"records", file_ ? file_->records() : 0}};
    if (verified) own.update({{"read_of", read_of_}, {"read_bytes", read_.bytes}, {"read_s", read_of_rank_s}, {"read_mib_s", mib_s(read_.bytes, read_of_rank_s)}});
    std::istringstream lines(gathered(mpi_, own.dump() + "\n"));
    if (mpi_.rank != 0) return {};
    json by_rank = json::array();
    std::uint64_t bytes = 0, records = 0;
    double write_s = 0, flush_s = 0, read_s = 0;
    for (std::string line; std::getline(lines, line);) {
        by_rank.push_back(json::parse(line));
        const json& r = by_rank.back();
        bytes += r["bytes"].get<std::uint64_t>();
        records = std::max(records, r["records"].get<std::uint64_t>());
        write_s = std::max(write_s, r["write_s"].get<double>());
        flush_s = std::max(flush_s, r["flush_s"].get<double>());
        if (verified) read_s = std::max(read_s, r["read_s"].get<double>());
    }
    return {{"file", options_.waveforms_path}, {"format", format_of(options_.waveforms_path)}, {"files", options_.waveform_files}, {"io", options_.waveform_io},
            {"channels", columns_.size()}, {"records", records}, {"decimate", options_.decimate}, {"interval_us", sampling_.interval_s * 1e6},
            {"bytes", bytes}, {"buffer_records", buffer_records_}, {"write_s", write_s}, {"flush_s", flush_s},
            {"throughput_mib_s", mib_s(bytes, write_s + flush_s)}, {"verified", options_.verify_waveforms}, {"read_s", verified ? json(read_s) : json(nullptr)},
            {"read_throughput_mib_s", verified ? mib_s(bytes, read_s) : json(nullptr)}, {"by_rank", by_rank}};
}

}  // namespace emt
