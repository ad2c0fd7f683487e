#include "pairs/collectives.hpp"

#include <algorithm>
#include <cstdint>
#include <numeric>

#include "common/heartbeat.hpp"
#include "common/payload.hpp"

namespace measure::pairs {

namespace {

constexpr int kMostRoots = 8;

class Checker {
  public:
    Checker(const World& world, int bytes, int group)
        : first_(world.rank() / group * group), world_(world), bytes_(bytes), block_(static_cast<std::size_t>(bytes)) {
        MPI_Comm_split(MPI_COMM_WORLD, first_, world.rank(), &group_);
        MPI_Comm_rank(group_, &rank_);
        MPI_Comm_size(group_, &size_);
    }
    ~Checker() { MPI_Comm_free(&group_); }
    Checker(const Checker&) = delete;
    Checker& operator=(const Checker&) = delete;

    // These calls add only wrong blocks of this rank to `wrong_`.
    void broadcast(int number) {
        for (int root = 0; root < std::min(size_, kMostRoots); ++root) {
            std::vector<char> block(block_);
            if (root == rank_) {
                fill(block, content(root, number));
            }
            MPI_Bcast(block.data(), bytes_, MPI_CHAR, root, group_);
            compare(block, root, number);
        }
    }
    void all_gather(int number) {
        std::vector<char> own(block_), all(block_ * id(size_));
        fill(own, content(rank_, number));
        MPI_Allgather(own.data(), bytes_, MPI_CHAR, all.data(), bytes_, MPI_CHAR, group_);
        compare_all(all, [number](int) { return number; });
    }
    void all_to_all(int number) {
        const auto to = [&](int receiver) { return number + receiver; };
        std::vector<char> own(block_ * id(size_)), all(own.size());
        for (int receiver = 0; receiver < size_; ++receiver) {
            fill(std::span(own).subspan(id(receiver) * block_, block_), content(rank_, to(receiver)));
        }
        MPI_Alltoall(own.data(), bytes_, MPI_CHAR, all.data(), bytes_, MPI_CHAR, group_);
        compare_all(all, [&](int) { return to(rank_); });
    }
    // Sums of integers are the same in any order.
    void all_reduce(int number) {
        std::vector<std::uint64_t> own(block_ / sizeof(std::uint64_t)), sums(own.size());
        const std::uint64_t first = id(number);
        std::iota(own.begin(), own.end(), first + id(rank_));
        MPI_Allreduce(own.data(), sums.data(), static_cast<int>(own.size()), MPI_UINT64_T, MPI_SUM, group_);
        const std::uint64_t ranks = id(size_);
        bool right = true;
        for (std::uint64_t place = 0; place < sums.size(); ++place) {
            right = right && sums[place] == ranks * (first + place) + ranks * (ranks - 1) / 2;
        }
        note(right, rank_);
    }
    // Returns the wrong blocks of all ranks since the last call, on rank 0.
    std::vector<WrongBlock> collect() {
        const int count = 2 * static_cast<int>(wrong_.size());
        std::vector<int> counts(id(world_.size())), starts(counts);
        MPI_Gather(&count, 1, MPI_INT, counts.data(), 1, MPI_INT, 0, MPI_COMM_WORLD);
        std::exclusive_scan(counts.begin(), counts.end(), starts.begin(), 0);
        std::vector<WrongBlock> all(id(starts.back() + counts.back()) / 2);
        MPI_Gatherv(wrong_.data(), count, MPI_INT, all.data(), counts.data(), starts.data(), MPI_INT, 0, MPI_COMM_WORLD);
        wrong_.clear();
        return all;
    }

  private:
    static Label content(int sender, int number) { return {sender, -1, number}; }
    static std::size_t id(int rank) { return static_cast<std::size_t>(rank); }
    void note(bool right, int sender) {
        if (!right) {
            wrong_.push_back({first_ + sender, world_.rank()});
        }
    }
    void compare(std::span<const char> block, int sender, int number) {
        note(arrived(block, content(sender, number)), sender);
    }
    template <typename NumberOf>
    void compare_all(const std::vector<char>& all, const NumberOf& number_of) {
        for (int sender = 0; sender < size_; ++sender) {
            compare(std::span(all).subspan(id(sender) * block_, block_), sender, number_of(sender));
        }
    }

    int first_;  // rank in the world of the group's rank 0
    int rank_ = 0, size_ = 0;
    MPI_Comm group_ = MPI_COMM_NULL;
    const World& world_;
    int bytes_;
    std::size_t block_;
    std::vector<WrongBlock> wrong_;
};

}  // namespace

std::vector<CollectiveResult> check_collectives(const World& world, int bytes, int repeats, int group) {
    static_assert(sizeof(WrongBlock) == 2 * sizeof(int));
    Checker checker(world, bytes, group);
    std::vector<CollectiveResult> found;
    const auto check = [&](const char* operation, void (Checker::*call)(int)) {
        heartbeat::phase(kPatience_s, operation);
        for (int repeat = 0; repeat < repeats; ++repeat) {
            (checker.*call)(repeat);
        }
        found.push_back({operation, checker.collect()});
    };
    check("broadcast", &Checker::broadcast);
    check("all-gather", &Checker::all_gather);
    check("all-to-all", &Checker::all_to_all);
    check("all-reduce", &Checker::all_reduce);
    return found;
}

}  // namespace measure::pairs
