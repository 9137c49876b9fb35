#include "lib/edit/fp8_extra_state.hpp"

#include "lib/container/new_container.hpp"
#include "lib/container/pickle/write/new_pickle.hpp"

namespace tare {
namespace {

/// The last that kept streams, and the first that keeps an empty tensor where there is no FP8.
constexpr TeRelease last_with_streams{1, 13};
constexpr TeRelease first_with_empty_tensors{2, 4};

}  // namespace

Bytes extra_state_bytes(const ExtraState& state, TeRelease release) {
  const Document document = extra_state_document(state, release);
  return keeps_recipe(release) ? new_streamed_pickle(document) : new_container("torch_zip", document, "archive");
}

NewDocument extra_state_value(const ExtraState& state, TeRelease release) {
  Bytes bytes = extra_state_bytes(state, release);
  if (!keeps_recipe(release)) return {{DocumentStream{std::move(bytes)}}};
  const auto size = static_cast<std::int64_t>(bytes.size());
  return {{DocumentTensor{element_type("uint8"), {size}, std::move(bytes)}}};
}

NodeValue emptied(const Tree& tree, NodeId holder, const std::optional<TeRelease>& release) {
  if (tree.kind(holder) != Kind::tensor) return NewNone();
  const bool is_read_empty = release && *release >= first_with_empty_tensors;
  return NewContents{is_read_empty ? Bytes() : new_streamed_pickle(Document())};
}

TeRelease release_for(const UnscaledModule& place) {
  return place.is_stream ? last_with_streams : first_with_empty_tensors;
}

NodeValue filled(const UnscaledModule& place, const Tree& tree, const ExtraState& state, TeRelease release) {
  const bool is_tensor = tree.kind(place.holder) == Kind::tensor;
  const bool has_form = keeps_recipe(release) ? is_tensor : place.is_stream;
  if (has_form) return NewContents{extra_state_bytes(state, release)};
  return extra_state_value(state, release);
}

const char* form_of(TeRelease release) {
  return keeps_recipe(release) ? "uint8 tensor" : "io.BytesIO";
}

}  // namespace tare
