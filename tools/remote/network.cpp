// `tare-remote`: the same command, with a network.
#include "tools/network.hpp"

#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <iterator>
#include <string_view>
#include <utility>
#include <vector>

#include "lib/checkpoint/paths_matching.hpp"
#include "lib/remote/azure_objects.hpp"
#include "lib/remote/gcs_objects.hpp"
#include "lib/remote/remote_files.hpp"
#include "lib/remote/s3_objects.hpp"
#include "lib/remote/stores.hpp"
#include "lib/remote/url.hpp"
#include "lib/remote/written_urls.hpp"
#include "tools/network_options.hpp"

void reach(const std::string&) {}
void reach_output(const std::string&) {}

namespace {

tare::WrittenUrls& written_urls() {
  static tare::WrittenUrls urls;
  return urls;
}

const tare::RemoteFiles& remote_files() {
  static const tare::RemoteFiles remote(tare::read_store_settings([](const char* name) {
                                          const char* value = std::getenv(name);
                                          return std::string(value == nullptr ? "" : value);
                                        }),
                                        network_limits(), written_urls());
  return remote;
}

/// A web server's names have a '?' of their own, and no list that could be gone by.
std::vector<std::string> matching(const std::string& path) {
  if (!tare::is_url(path)) return tare::local_paths_matching(tare::local_files(), path);
  const tare::ObjectStore* store = tare::store_of(path);
  const std::size_t root = store == nullptr ? path.size() : store->root_bytes(path);
  return tare::paths_matching(remote_files(), path, std::min(root, path.size()));
}

/// A word of the command line, or what stands behind the '=' of an option.
char* value_in(char* word) {
  char* const equals = *word == '-' ? std::strchr(word, '=') : nullptr;
  return equals == nullptr ? word : equals + 1;
}

/// As it may be told. Never longer than it was; of what it was nothing stays behind its end.
void leave_out_secrets(char* value) {
  const std::string called = written_urls().keep(value);
  const std::size_t room = std::strlen(value);
  if (called.size() > room) return;
  std::memset(value, 0, room);
  called.copy(value, called.size());
}

}  // namespace

/// Nothing that is told from here on has a secret of a URL, whoever tells it.
void keep_arguments(char** arguments) {
  std::vector<char*> values;
  for (char** word = arguments; *word != nullptr; ++word) values.push_back(value_in(*word));
  // There is no room for a number behind a plain URL: its name is its own before another one can take it.
  std::stable_partition(values.begin(), values.end(),
                        [](const char* value) { return tare::shown_url(value) == value; });
  for (char* value : values) leave_out_secrets(value);
}

const tare::Files& files_of(const std::string& path) {
  return tare::is_url(path) ? remote_files() : tare::local_files();
}

tare::ObjectLayer* changeable_objects(const std::string& path) {
  static tare::S3Objects s3(remote_files());
  static tare::GcsObjects google(remote_files());
  static tare::AzureObjects azure(remote_files());
  const std::pair<std::string_view, tare::ObjectLayer*> stores[] = {
      {"s3://", &s3}, {"gs://", &google}, {"az://", &azure}};
  const auto* found = std::ranges::find_if(stores, [&](const auto& row) { return tare::has_scheme(path, row.first); });
  return found == std::end(stores) ? nullptr : found->second;
}

std::vector<std::string> reached(const std::vector<std::string>& paths) {
  std::vector<std::string> meant;
  for (const std::string& path : paths) {
    const auto found = matching(path);
    meant.insert(meant.end(), found.begin(), found.end());
  }
  return meant;
}
