#include "tools/output_file.hpp"

#include <fmt/format.h>

#include "lib/base/error.hpp"
#include "lib/base/files.hpp"
#include "lib/base/shown_url.hpp"
#include "lib/base/text.hpp"

using namespace tare;

void require_replaceable(const Terminal& terminal, const std::string& path, bool force) {
  if (is_url(path)) {
    throw Error(Status::invalid_argument, shown_url(path) + ": a file of this machine is written",
                "name one, and upload it");
  }
  const FileType there = local_files().type(path);
  if (there == FileType::absent) return;
  if (there != FileType::file) {
    throw Error(Status::refused, path + ": is there, and is no file that could be replaced", "name another one");
  }
  if (!force) terminal.require_yes(fmt::format("Replace {}?", escaped(path)), "--force");
}
