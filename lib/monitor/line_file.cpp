#include "lib/monitor/line_file.hpp"

#include <filesystem>
#include <fstream>

#include "lib/monitor/text.hpp"

namespace tare::monitor {
namespace {

/// Whether the file ends within a line, as after a power cut.
bool is_torn(const std::string& path) {
  std::error_code error;
  if (!std::filesystem::is_regular_file(path, error) || std::filesystem::file_size(path, error) == 0 || error) {
    return false;
  }
  std::ifstream file(path, std::ios::binary);
  file.seekg(-1, std::ios::end);
  const int last = file.get();
  return file.good() && last != '\n';
}

}  // namespace

void LineFile::write(const ObservedStep& step) {
  std::string line;
  if (is_torn(path())) line.push_back('\n');
  line += line_of(step);
  append_whole(path(), {}, std::as_bytes(std::span(line)));
}

}  // namespace tare::monitor
