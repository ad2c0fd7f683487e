// A SimGrid platform as a program: it reads platform.xml and counts the bytes that each link carries.
//
//   smpirun -platform ./link_use.so -hostfile hosts.txt --cfg=network/model:CM02 ...
//
// SimGrid asks a callback for the latency factor of each message and passes its links. This callback counts and returns
// 1. The model SMPI allows no callback; it is CM02 with factors by size, which are 1 in Kappa's platforms. Writes
// link_use.json when the simulation ends. KAPPA_PLATFORM and KAPPA_LINK_USE name other files.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <nlohmann/json.hpp>
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <unordered_map>
#include <vector>

namespace {

using simgrid::s4u::Engine;
using simgrid::s4u::Link;

constexpr std::size_t shown = 10;

struct Carried {
  std::uint64_t messages = 0;
  double bytes = 0;
};

std::unordered_map<const Link*, Carried> carried;

std::string from_environment(const char* name, const char* otherwise)
{
  const char* given = std::getenv(name);
  return given != nullptr && *given != '\0' ? given : otherwise;
}

double count(double bytes, const std::vector<Link*>& links)
{
  for (const Link* link : links)
    if (link->is_shared()) {
      Carried& by = carried[link];
      ++by.messages;
      by.bytes += bytes;
    }
  return 1;
}

nlohmann::ordered_json busiest(double seconds)
{
  struct Use {
    const Link* link;
    double use;
  };
  std::vector<Use> uses;
  for (const auto& [link, by] : carried)
    uses.push_back({link, seconds > 0 ? by.bytes / (link->get_bandwidth() * seconds) : 0});
  std::ranges::sort(uses, [](const Use& one, const Use& other) {
    return one.use != other.use ? one.use > other.use : one.link->get_name() < other.link->get_name();
  });
  auto list = nlohmann::ordered_json::array();
  for (std::size_t i = 0; i < std::min(shown, uses.size()); ++i) {
    const auto& [link, use] = uses[i];
    const Carried& by = carried[link];
    list.push_back({{"link", link->get_name()},
                    {"bandwidth_bytes_s", link->get_bandwidth()},
                    {"messages", by.messages},
                    {"bytes", static_cast<std::uint64_t>(by.bytes)},
                    {"use", use}});
  }
  return list;
}

void write_busiest()
{
  const double seconds = Engine::get_clock();
  const nlohmann::ordered_json document = {{"format", "kappa-link-use"},
                                           {"version", 1},
                                           {"simulated_s", seconds},
                                           {"links_used", carried.size()},
                                           {"busiest", busiest(seconds)}};
  const std::filesystem::path path = from_environment("KAPPA_LINK_USE", "link_use.json");
  const std::filesystem::path part = path.string() + ".part";
  std::error_code error;
  std::filesystem::remove(part, error);  // a link there may lead to any file
  std::ofstream file(part);
  file << document.dump(1) << '\n';
  file.close();
  if (file)
    std::filesystem::rename(part, path, error);
  if (!file || error)
    std::cerr << "link_use: cannot write " << path << '\n';
}

}  // namespace

extern "C" void load_platform(const Engine& engine)
{
  engine.load_platform(from_environment("KAPPA_PLATFORM", "platform.xml"));
  engine.get_netzone_root()->get_network_model()->set_lat_factor_cb(
    [](double bytes, const auto*, const auto*, const std::vector<Link*>& links, const auto&) {
      return count(bytes, links);
    });
  Engine::on_simulation_end_cb(write_busiest);
}
