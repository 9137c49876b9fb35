#include "lib/monitor/line_file.hpp"

#include <span>

#include "lib/base/own_content.hpp"
#include "lib/monitor/text.hpp"

namespace tare::monitor {

void LineFile::write(const ObservedStep& step) {
  require_own_content(path(), line_beginning, "lines of a monitor");
  std::string line;
  if (ends_within_line(path())) line.push_back('\n');
  line += line_of(step);
  append_whole(path(), {}, std::as_bytes(std::span(line)));
}

}  // namespace tare::monitor
