// An end to every wait: MPI may never return from a call, and then the program says for what it waited, and ends.
#pragma once

#include <unistd.h>

#include <array>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>

#include "heartbeat.hpp"
#include "node_names.hpp"

namespace sweep {

class Overdue {
  public:
    Overdue(const char* program, int rank, double timeout_s) : program_(program), rank_(rank), timeout_s_(timeout_s) {
        std::signal(SIGALRM, end);
    }

    // From now on this rank waits for `what`: when that takes longer than the timeout the program ends. Main thread only.
    void waits_for(const std::string& what) const {
        heartbeat::phase(timeout_s_, what);
        std::snprintf(text().data(), text().size(), "%s: error on rank %d of %s: nothing came for %g s while it waited for %s\n",
                      program_, rank_, own_node_name().c_str(), timeout_s_, what.c_str());
        alarm(static_cast<unsigned>(timeout_s_) + 1);
    }
    static void waits_no_more() { alarm(0); }

  private:
    static std::array<char, 400>& text() {
        static std::array<char, 400> said{};
        return said;
    }
    static void end(int) {
        [[maybe_unused]] const auto written = write(STDERR_FILENO, text().data(), strnlen(text().data(), text().size()));
        _exit(1);
    }

    const char* program_;
    int rank_;
    double timeout_s_;
};

}  // namespace sweep
