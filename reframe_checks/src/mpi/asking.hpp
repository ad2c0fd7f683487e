// What measurements of MPI share: a message and its answer, turns of two ways to do the same, the repeats in the result.
#pragma once

#include <vector>

#include "common/payload.hpp"
#include "common/run.hpp"

namespace measure::mpi {

// Of two ranks: rank 0 asks, the other one answers.
constexpr int kAskTag = 1;
constexpr int kAnswerTag = 2;

// Seconds until the answer of `partner` is there: its receive, from `source` (the partner or MPI_ANY_SOURCE), is posted
// first, then an empty message asks for it. The answer is compared with its label.
inline double ask(int partner, int source, std::vector<char>& answer, const Label& label) {
    MPI_Request request = MPI_REQUEST_NULL;
    const double start = now();
    MPI_Irecv(answer.data(), static_cast<int>(answer.size()), MPI_BYTE, source, kAnswerTag, MPI_COMM_WORLD, &request);
    MPI_Send(nullptr, 0, MPI_BYTE, partner, kAskTag, MPI_COMM_WORLD);
    MPI_Wait(&request, MPI_STATUS_IGNORE);
    const double seconds = now() - start;
    require(answer, label);
    return seconds;
}

// The other side: the answer lies ready before the question comes.
inline void answer(int partner, std::vector<char>& message, const Label& label) {
    fill(message, label);
    MPI_Recv(nullptr, 0, MPI_BYTE, partner, kAskTag, MPI_COMM_WORLD, MPI_STATUS_IGNORE);
    MPI_Send(message.data(), static_cast<int>(message.size()), MPI_BYTE, partner, kAnswerTag, MPI_COMM_WORLD);
}

// The document of a measurement that was repeated: `series`, and what else the facts have.
inline void write_repeats(const Run& run, json facts) {
    facts["repeats"] = run.options().repeats;
    run.write(facts, {"series"});
}

// Both of two ways, the one first that was last before, so that a slow moment meets both.
template <typename Act>
void in_turns(int iteration, const Act& act) {
    const int first = iteration % 2;
    act(first);
    act(1 - first);
}

}  // namespace measure::mpi
