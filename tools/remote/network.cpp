// `tare-remote`: the same command, with a network.
#include "tools/network.hpp"

#include <cstdlib>

#include "lib/remote/remote_files.hpp"
#include "tools/network_options.hpp"

void keep_arguments(char**) {}
void reach(const std::string&) {}
void reach_output(const std::string&) {}

const tare::Files& files_of(const std::string& path) {
  if (!tare::is_url(path)) return tare::local_files();
  static const tare::RemoteFiles remote(tare::read_store_settings([](const char* name) {
                                          const char* value = std::getenv(name);
                                          return std::string(value == nullptr ? "" : value);
                                        }),
                                        network_limits());
  return remote;
}
