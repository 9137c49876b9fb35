#include <fmt/format.h>

#include <array>

#include "lib/base/error.hpp"
#include "lib/container/container.hpp"
#include "lib/container/torch_zip.hpp"

namespace tare {

std::unique_ptr<Container> open_container(std::shared_ptr<const Source> source) {
  auto archive = std::make_unique<const ZipArchive>(std::move(source));
  return open_torch_zip(std::move(archive));
}

}  // namespace tare
