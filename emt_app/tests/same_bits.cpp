// mpirun -n P emt_same_bits PLAN RESULT: many cases, each in many settings, in one process per rank.
//
// PLAN    {"cases": [{"case": FILE, "steps": N, "runs": [SETTINGS, …]}, …]}
// RESULT  {"instruction_sets": [those of this processor], "cases": [[what each run gave, …], …]}
//
// SETTINGS has "ranks" (1 … P), "exchange", "transport" and "isa" as `emt run` takes them, "mapping", which is "own" or the
// seed of a random one, and perhaps "restart": {"file", "after_step", "mapping"}, to go on from a snapshot with another random mapping
// and in the other exchange mode, and "watch": true, with which the digest of each task and what happened are told, too.
#include <algorithm>
#include <array>
#include <fstream>
#include <functional>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <numeric>
#include <random>
#include <stdexcept>

#include "case/case_file.hpp"
#include "commands/commands.hpp"
#include "measure/checksum.hpp"
#include "snapshot/snapshot.hpp"

namespace emt {
namespace {

using nlohmann::json;

struct Loaded {
    explicit Loaded(const std::string& path) : study(load_case(path)), parts(decompose(study.network)) {}
    Case study;
    Decomposition parts;
};

/// Every rank has a task as long as there are enough. The same everywhere: no distribution of the standard library, whose
/// algorithms are its own.
Mapping random_mapping(std::size_t tasks, int ranks, std::uint64_t seed) {
    std::mt19937_64 random(seed);
    std::vector<std::size_t> order(tasks);
    std::iota(order.begin(), order.end(), std::size_t{0});
    for (std::size_t i = tasks; i > 1; --i) std::swap(order[i - 1], order[random() % i]);
    Mapping out{std::vector<int>(tasks), "random", 0};
    for (std::size_t i = 0; i < tasks; ++i)
        out.rank_of_task[order[i]] = static_cast<int>(i < static_cast<std::size_t>(ranks) ? i : random() % static_cast<std::uint64_t>(ranks));
    return out;
}

/// Counts the events on this rank.
class Watch {
public:
    explicit Watch(Engine& engine) : engine_(engine), before_(topologies()) {}
    void look() {
        std::vector<std::vector<Topology>> now = topologies();
        for (std::size_t b = 0; b < now.size(); ++b) {
            int tasks = 0;
            for (std::size_t l = 0; l < now[b].size(); ++l) {
                const long poles = changes(before_[b][l].closed, now[b][l].closed);
                poles_ += poles;
                segments_ += changes(before_[b][l].segment, now[b][l].segment);
                tasks += poles > 0 ? 1 : 0;
            }
            together_ += tasks > 1 ? 1 : 0;
        }
        before_ = std::move(now);
    }
    /// Poles that switched, segments that elements went to, times that several tasks of a batch switched in one step, and
    /// solutions with sparse factors. Summed at rank 0.
    [[nodiscard]] json told(MPI_Comm comm) const {
        long sparse = 0;
        for (const Batch& b : engine_.batches()) sparse += b.sparse() ? b.lanes() : 0;
        std::array<long, 4> sums{poles_, segments_, together_, sparse}, all{};
        MPI_Reduce(sums.data(), all.data(), static_cast<int>(sums.size()), MPI_LONG, MPI_SUM, 0, comm);
        return {{"poles", all[0]}, {"segments", all[1]}, {"together", all[2]}, {"sparse_tasks", all[3]}};
    }

private:
    [[nodiscard]] std::vector<std::vector<Topology>> topologies() const {
        std::vector<std::vector<Topology>> out;
        for (const Batch& b : engine_.batches()) {
            std::vector<Topology>& lanes = out.emplace_back();
            for (int l = 0; l < b.lanes(); ++l) lanes.push_back(b.lane(l).topology);
        }
        return out;
    }
    template <class T>
    static long changes(const std::vector<T>& before, const std::vector<T>& now) {
        return std::inner_product(before.begin(), before.end(), now.begin(), 0L, std::plus<>(), [](T a, T b) { return a != b ? 1L : 0L; });
    }

    Engine& engine_;
    std::vector<std::vector<Topology>> before_;
    long poles_ = 0, segments_ = 0, together_ = 0;
};

/// Another engine that goes on from a snapshot of this one, in the other exchange mode and with tasks elsewhere.
std::unique_ptr<Engine> restarted(MPI_Comm comm, const Loaded& loaded, std::unique_ptr<Engine> engine, EngineOptions options, const json& how) {
    const Network& net = loaded.study.network;
    const std::string path = how.at("file");
    const StudyId id{loaded.study.hash, net.dt_s, loaded.parts.tasks.size(), net.lines.size()};
    while (engine->steps() < how.at("after_step")) engine->step();
    write_snapshot(comm, path, id, *engine, {});
    engine->drain();
    engine.reset();
    MPI_Barrier(comm);
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    Snapshot snapshot(comm, path, id);
    options.resume = [&](Engine& next) { snapshot.into(next); };
    options.exchange = options.exchange == ExchangeMode::step ? ExchangeMode::slack : ExchangeMode::step;
    return std::make_unique<Engine>(comm, net, loaded.parts, random_mapping(loaded.parts.tasks.size(), ranks, how.at("mapping")), options);
}

/// Returns the result of a run, at rank 0 of `comm`.
json simulate(MPI_Comm comm, const Loaded& loaded, std::uint64_t steps, const json& settings) {
    const Network& net = loaded.study.network;
    const std::vector<Task>& tasks = loaded.parts.tasks;
    int ranks = 0;
    MPI_Comm_size(comm, &ranks);
    const std::string isa = settings.at("isa");
    const Kernels* kernels = find_kernels(isa.c_str());
    if (kernels == nullptr) throw std::runtime_error("this processor has no '" + isa + "' kernels");
    const json& mapping = settings.at("mapping");
    const EngineOptions options{exchange_mode(settings.at("exchange")), transport(settings.at("transport")), kernels};
    auto first = std::make_unique<Engine>(
        comm, net, loaded.parts, mapping == "own" ? map_tasks(net, loaded.parts, ranks) : random_mapping(tasks.size(), ranks, mapping), options);
    if (settings.contains("restart")) first = restarted(comm, loaded, std::move(first), options, settings.at("restart"));
    Engine& engine = *first;
    const bool watched = settings.value("watch", false);
    Watch watch(engine);
    while (engine.steps() < steps) {
        engine.step();
        if (watched) watch.look();
    }
    engine.drain();
    const std::vector<std::uint64_t> digests = task_digests(comm, engine, tasks.size());
    json out{{"checksum", checksum(digests)}};
    if (!watched) return out;
    out["happened"] = watch.told(comm);
    for (std::size_t t = 0; t < tasks.size(); ++t)
        out["tasks"][net.node_names[static_cast<std::size_t>(tasks[t].nodes.front())]] = sixteen_digits(digests[t]);
    return out;
}

/// Ranks that take runs of so many ranks together; several such teams share these runs.
struct Team {
    explicit Team(int ranks_) : ranks(ranks_) {
        int world = 0, rank = 0;
        MPI_Comm_size(MPI_COMM_WORLD, &world);
        MPI_Comm_rank(MPI_COMM_WORLD, &rank);
        // In runs of three ranks, the last of four is idle: it takes the runs of one rank.
        teams = ranks == 1 ? 1 : world / ranks;
        number = ranks == 1 ? world - 1 - rank : rank / ranks;
        MPI_Comm_split(MPI_COMM_WORLD, number < teams ? number : MPI_UNDEFINED, rank, &comm);
    }
    Team(Team&&) = delete;
    ~Team() {
        if (comm != MPI_COMM_NULL) MPI_Comm_free(&comm);
    }
    int ranks, teams = 0, number = 0;
    MPI_Comm comm = MPI_COMM_NULL;
};

/// All runs of so many ranks that are this rank's to take; those that it is to tell of are added to `told`.
void take_runs(const json& plan, const Team& team, std::map<std::string, Loaded>& loaded, json& told) {
    int taken = 0;
    for (std::size_t c = 0; c < plan.size(); ++c) {
        const std::string path = plan[c].at("case");
        const json& runs = plan[c].at("runs");
        for (std::size_t r = 0; r < runs.size(); ++r) {
            if (runs[r].at("ranks") != team.ranks) continue;
            if (team.teams == 0) throw std::runtime_error("a run of " + std::to_string(team.ranks) + " ranks needs as many processes");
            if (taken++ % team.teams != team.number) continue;
            try {
                const json result = simulate(team.comm, loaded.try_emplace(path, path).first->second, plan[c].at("steps"), runs[r]);
                int rank = 0;
                MPI_Comm_rank(team.comm, &rank);
                if (rank == 0) told.push_back({{"case", c}, {"run", r}, {"result", result}});
            } catch (const std::exception& e) {
                throw std::runtime_error(path + ", " + runs[r].dump() + ": " + e.what());
            }
            // The next engine's messages must not meet what this one's still waits for.
            MPI_Barrier(team.comm);
        }
    }
}

/// The lists of all ranks as one, at rank 0.
json gathered(const json& own) {
    constexpr int kTag = 1;
    int rank = 0, size = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
    std::string text = own.dump();
    if (rank != 0) {
        MPI_Send(text.data(), static_cast<int>(text.size()), MPI_CHAR, 0, kTag, MPI_COMM_WORLD);
        return {};
    }
    json all = own;
    for (int other = 1; other < size; ++other) {
        MPI_Status status;
        int bytes = 0;
        MPI_Probe(other, kTag, MPI_COMM_WORLD, &status);
        MPI_Get_count(&status, MPI_CHAR, &bytes);
        text.resize(static_cast<std::size_t>(bytes));
        MPI_Recv(text.data(), bytes, MPI_CHAR, other, kTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
        for (json& one : json::parse(text)) all.push_back(std::move(one));
    }
    return all;
}

void run(const std::string& plan_path, const std::string& result_path) {
    std::ifstream file(plan_path);
    if (!file) throw std::runtime_error(plan_path + ": cannot be read");
    const json plan = json::parse(file).at("cases");
    std::map<std::string, Loaded> loaded;
    json told = json::array();
    // Runs of one rank while the others take those of three.
    const std::array<Team, 4> teams{Team(4), Team(3), Team(1), Team(2)};
    for (const Team& team : teams) take_runs(plan, team, loaded, told);
    const json all = gathered(told);
    int rank = 0;
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    if (rank != 0) return;
    json cases = json::array();
    for (const json& c : plan) cases.push_back(std::vector<json>(c.at("runs").size()));
    for (const json& one : all) cases[one["case"].get<std::size_t>()][one["run"].get<std::size_t>()] = one["result"];
    json sets = json::array();
    for (const char* name : {"portable", "avx2", "avx512"})
        if (find_kernels(name) != nullptr) sets.push_back(name);
    write_file(result_path, json{{"instruction_sets", sets}, {"cases", cases}}.dump() + "\n");
}

}  // namespace
}  // namespace emt

int main(int argc, char** argv) {
    MPI_Init(&argc, &argv);
    try {
        if (argc != 3) throw std::runtime_error("usage: emt_same_bits PLAN RESULT");
        emt::run(argv[1], argv[2]);
    } catch (const std::exception& e) {
        std::cerr << "emt_same_bits: " << e.what() << std::endl;
        MPI_Abort(MPI_COMM_WORLD, 1);
    }
    MPI_Finalize();
}
