#include "lib/base/distant_window.hpp"

#include <utility>

namespace tare {

DistantWindow::DistantWindow(std::shared_ptr<const Source> whole, Span window, std::string name)
    : DistantSource(whole->budget()),
      whole_(std::move(whole)),
      window_(window),
      part_(whole_, window, std::move(name)) {}

const std::string& DistantWindow::version() const {
  return static_cast<const VersionedSource&>(*whole_).version();
}

void DistantWindow::fetch_ahead(std::vector<Span> ranges) const {
  std::erase_if(ranges, [&](Span range) { return range.offset > size() || range.size > size() - range.offset; });
  for (Span& range : ranges) range.offset += window_.offset;
  tare::fetch_ahead(*whole_, std::move(ranges));
}

std::shared_ptr<const Source> window_of(std::shared_ptr<const Source> whole, Span window, std::string name) {
  if (is_distant(*whole)) return std::make_shared<const DistantWindow>(std::move(whole), window, std::move(name));
  return std::make_shared<const WindowSource>(std::move(whole), window, std::move(name));
}

}  // namespace tare
