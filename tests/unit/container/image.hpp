// A file in memory, as the container tests and the fuzz targets open, change and compare it. Throws where a change does
// not fit the image: no test goes on after that.
#pragma once

#include <initializer_list>
#include <memory>
#include <string>
#include <string_view>
#include <variant>
#include <vector>

#include "lib/container/container.hpp"

namespace tare::test {

/// A file of the corpus: "torch/train-t2.15/model.pt".
std::string corpus_path(std::string_view file);
Bytes corpus_bytes(std::string_view file);

std::unique_ptr<Container> open_image(const Bytes& image);
std::unique_ptr<Container> open_corpus(std::string_view file);

/// The image after `change`. Every `before` must be what stands there.
Bytes applied(Bytes image, const FileChange& change);

/// A step down: a key of a map or attribute of an object, or the number of an item.
using Step = std::variant<std::string_view, std::size_t>;
/// The node at the end of `steps`; nowhere where there is none.
NodeId node_at(const Tree& tree, std::initializer_list<Step> steps);

/// All that a reader sees of a node itself: kind, value, elements of a small tensor; not what it holds.
std::string seen(const Tree& tree, NodeId node);
/// Nodes that two readings of one tree differ in. Throws where the trees have not the same nodes at all.
std::vector<NodeId> differing(const Tree& a, const Tree& b);

/// Offsets at which two images of the same size differ.
std::vector<std::uint64_t> changed_offsets(const Bytes& a, const Bytes& b);

/// The bytes that a test writes as text: "\x80\x02}."
Bytes bytes_of(std::string_view text);
/// The opcode of a text of up to 255 bytes, as protocol 2 writes it.
std::string text_op(std::string_view text);

}  // namespace tare::test
