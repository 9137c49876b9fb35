// A sink: an event file of TensorBoard's, in a folder of its runs.
#pragma once

#include <cstdint>
#include <optional>

#include "lib/monitor/sink.hpp"

namespace tare::monitor {

/// What a reader of the frameworks' own event files looks for.
struct EventTags {
  std::string_view name;  ///< as the configuration calls them
  std::string_view scale;
};

/// Null where there are none of that name.
const EventTags* find_event_tags(std::string_view name);
/// "megatron, deepspeed"
std::string event_tag_names();

class EventFile : public Sink {
 public:
  EventFile(std::string folder, const EventTags& tags) : Sink(std::move(folder)), tags_(tags) {}
  [[nodiscard]] std::string_view kind() const override { return "tensorboard"; }

 protected:
  void write(const ObservedStep& step) override;

 private:
  const EventTags& tags_;
  std::string file_;                  ///< its path, once there is one
  std::optional<std::int64_t> last_;  ///< step
};

}  // namespace tare::monitor
