#include "lib/monitor/line_file.hpp"

#include "lib/monitor/text.hpp"

namespace tare::monitor {

void LineFile::write(const ObservedStep& step) {
  const std::string line = line_of(step);
  append_whole(path(), {}, std::as_bytes(std::span(line)));
}

}  // namespace tare::monitor
