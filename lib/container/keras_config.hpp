// What a `.keras` archive's config.json asks of whoever loads it.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/base/finding.hpp"
#include "lib/container/container.hpp"

namespace tare {

/// A container that holds a configuration beside its values: Keras says in JSON how what it saved is run.
class WithConfiguration {
 public:
  virtual ~WithConfiguration() = default;
  /// Null where it cannot be read.
  [[nodiscard]] virtual const Tree* configuration() const = 0;
};

/// The configuration that a container holds; null for those that hold none.
const Tree* configuration_of(const Container& container);

struct KerasConfig {
  std::optional<Tree> tree;  ///< nothing where it cannot be read
  std::vector<Finding> findings;
  std::vector<GlobalName> foreign;  ///< what loading it imports or runs beside Keras's own classes; offsets in the text
};

/// What an object of a configuration makes Keras import or run beside its own classes: names, or `marshal.loads`.
std::vector<GlobalName> foreign_keras_names(const Tree& tree);

/// The configuration, with warnings about code and classes that no Keras ships, and where it cannot be read. `source`
/// names it, `budget` is that of the file that it stands in.
KerasConfig read_keras_config(ByteView config, const std::string& source, const std::shared_ptr<Budget>& budget);

/// The same as a document, format "keras_config", whose globals are what is foreign. It is never changed.
std::unique_ptr<Container> open_keras_config(const std::shared_ptr<const Source>& source);

}  // namespace tare
