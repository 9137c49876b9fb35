// SentencePiece's tokenizers. Source: sentencepiece_model.proto of SentencePiece 0.1 to 0.2.3.
#pragma once

#include "lib/base/source.hpp"

namespace tare {

/// Whether all of a file is one: pieces, and settings with the fields that SentencePiece has for them. TensorFlow's
/// SavedModel, which runs, is a message with fields of the same numbers.
bool is_sentence_pieces(const Source& source);

}  // namespace tare
