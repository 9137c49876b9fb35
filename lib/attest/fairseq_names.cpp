#include "lib/attest/fairseq_names.hpp"

#include <array>
#include <string>
#include <string_view>

#include "lib/attest/naming_keys.hpp"
#include "lib/attest/python_expression.hpp"
#include "lib/attest/text_value.hpp"
#include "lib/base/holds.hpp"

namespace tare {
namespace {

/// Wherever they stand: nobody else has them.
constexpr auto own_keys = std::to_array<std::string_view>({
    "adafactor_eps",
    "adam_betas",
    "adamax_betas",
    "adaptive_input_cutoff",
    "adaptive_softmax_cutoff",
    "character_filters",
    "conv_aggregator_layers",
    "conv_dec_config",
    "conv_enc_config",
    "conv_feature_layers",
    "decoder_xformers_att_config",
    "encoder_xformers_att_config",
    "feature_encoder_spec",
    "lamb_betas",
    "override_encoder_layers",
    "pipeline_decoder_balance",
    "pipeline_decoder_devices",
    "pipeline_encoder_balance",
    "pipeline_encoder_devices",
    "transformer_dec_config",
    "transformer_enc_config",
    "vggblock_enc_config",
    "xformers_att_config",
});
/// Below the settings of a whole checkpoint.
constexpr auto roots_of_settings = std::to_array<std::string_view>({"args", "cfg"});
constexpr auto keys_of_settings = std::to_array<std::string_view>(
    {"decoder_attention", "decoder_layers", "downsample", "encoder_attention", "encoder_layers", "gated_attention",
     "left_pad_source", "left_pad_target", "pipeline_balance", "pipeline_devices", "pretrained", "project_input",
     "self_attention", "wer_args"});

class FairseqNames {
 public:
  explicit FairseqNames(const Tree& tree) : tree_(tree) {}

  std::vector<GlobalName> all() && {
    for (NodeId node = 0; node < tree_.size(); ++node) {
      if (tree_.kind(node) == Kind::map) look_at(node, own_keys);
    }
    for (const std::string_view key : roots_of_settings) look_below(tree_.find(tree_.root, key), 0);
    return std::move(names_);
  }

 private:
  void look_below(NodeId node, int depth) {
    constexpr int deepest = 8;
    const NodeId map = node == nowhere || depth == deepest ? nowhere : keyed(tree_, node);
    if (map == nowhere) return;
    look_at(map, keys_of_settings);
    const auto pairs = tree_.items(map);
    tree_.take_steps(pairs.size());
    for (std::size_t i = 1; i < pairs.size(); i += 2) look_below(pairs[i], depth + 1);
  }

  void look_at(NodeId map, const auto& keys) {
    const auto pairs = tree_.items(map);
    for (std::size_t i = 0; i + 1 < pairs.size(); i += 2) {
      if (holds(keys, text_in(tree_, pairs[i]))) evaluate(text_in(tree_, pairs[i + 1]), pairs[i + 1]);
    }
  }

  /// OmegaConf puts another text in the place of an interpolation.
  void evaluate(std::string_view text, NodeId node) {
    tree_.take_steps(text.size());
    const bool is_filled_in = text.find("${") != text.npos;
    if (!is_filled_in && reach_of(text) != Reach::calls) return;
    const std::uint64_t offset = tree_.span(node).offset;
    names_.push_back(is_filled_in ? GlobalName{std::string(text), "(interpolated)", offset}
                                  : GlobalName{"builtins", "eval", offset});
    tree_.take_memory(memory_of(names_.back()));
  }

  const Tree& tree_;
  std::vector<GlobalName> names_;
};

}  // namespace

std::vector<GlobalName> names_for_fairseq(const Tree& tree) {
  return FairseqNames(tree).all();
}

}  // namespace tare
