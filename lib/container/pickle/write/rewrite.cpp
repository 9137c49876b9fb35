#include "lib/container/pickle/write/rewrite.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <initializer_list>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "lib/base/error.hpp"
#include "lib/container/nested.hpp"
#include "lib/container/pickle/read/tensor_pattern.hpp"
#include "lib/container/pickle/read/value_extents.hpp"
#include "lib/container/pickle/write/detach_storage.hpp"
#include "lib/container/pickle/write/encode.hpp"
#include "lib/container/pickle/write/frame.hpp"
#include "lib/container/pickle/write/holders.hpp"
#include "lib/container/pickle/write/memo.hpp"
#include "lib/container/pickle/write/memo_room.hpp"
#include "lib/container/pickle/write/new_pickle.hpp"
#include "lib/container/pickle/write/new_stream.hpp"
#include "lib/container/stored_tensors.hpp"

namespace tare {
namespace {

std::int64_t growth(const std::vector<Replacement>& replacements) {
  std::int64_t sum = 0;
  for (const auto& r : replacements)
    sum += static_cast<std::int64_t>(r.after.size()) - static_cast<std::int64_t>(r.place.size);
  return sum;
}

/// An int may be written longer than need be: where room comes in fives, that fills the rest.
bool stretch(std::vector<Replacement>& replacements, std::span<const NodeChange> integers, std::size_t bytes) {
  for (std::size_t i = 0; i < integers.size(); ++i) {
    const auto* integer = std::get_if<Integer>(&integers[i].value);
    const std::size_t wanted = replacements[i].after.size() + bytes;
    if (integer == nullptr || wanted < 2 + two_complement_size(integer->value) || wanted > 10) continue;
    if (facts(static_cast<Opcode>(replacements[i].after[0])).argument == Argument::line) continue;
    replacements[i].after = encode_long1(integer->value, wanted - 2);
    return true;
  }
  return false;
}

/// What is put in before bytes that are replaced comes first. Throws `internal` where two replace the same bytes.
Bytes applied(ByteView text, Span range, std::vector<Replacement> replacements) {
  std::ranges::stable_sort(replacements, {},
                           [](const Replacement& r) { return std::pair(r.place.offset, r.place.size); });
  Bytes result;
  result.reserve(static_cast<std::size_t>(static_cast<std::int64_t>(range.size) + growth(replacements)));
  std::uint64_t at = range.offset;
  const auto copy = [&](std::uint64_t from, std::uint64_t to) {
    const ByteView part = text.subspan(from, to - from);
    result.insert(result.end(), part.begin(), part.end());
  };
  for (const Replacement& replacement : replacements) {
    if (replacement.place.offset < at) {
      throw Error(Status::internal,
                  fmt::format("two changes of a pickle's bytes at offset {}", replacement.place.offset));
    }
    copy(at, replacement.place.offset);
    result.insert(result.end(), replacement.after.begin(), replacement.after.end());
    at = replacement.place.end();
  }
  copy(at, range.end());
  return result;
}

/// The same size where there is room, else a longer or shorter pickle.
void fit(const PickleLayout& layout, std::vector<Replacement>& replacements, std::span<const NodeChange> changes) {
  if (growth(replacements) == 0) return;
  static constexpr std::size_t most_stretched = 6;
  for (std::size_t extra = 0; extra <= most_stretched; ++extra) {
    std::vector<Replacement> stretched = replacements;
    if (extra > 0 && !stretch(stretched, changes, extra)) continue;
    const auto room = make_room(layout, replacements.front().place, growth(stretched));
    if (!room) continue;
    replacements = std::move(stretched);
    replacements.insert(replacements.end(), room->begin(), room->end());
    return;
  }
}

/// Collects what the changes ask for.
class Rewriter {
 public:
  Rewriter(const Pickle& pickle, std::uint64_t begin, const PickleTensors& tensors)
      : pickle_(pickle), tree_(pickle.tree), begin_(begin), tensors_(tensors), holders_(tree_) {}

  void add(const NodeChange& change) {
    if (std::holds_alternative<NewNone>(change.value)) return add_none(change);
    const bool is_none = tree_.kind(change.node) == Kind::none;
    const auto* document = std::get_if<NewDocument>(&change.value);
    if (document != nullptr && is_none) return add_document(change, document->document);
    if (document != nullptr || std::holds_alternative<Removal>(change.value)) return add_exchange(change);
    if (const auto* anew = std::get_if<NewEntries>(&change.value)) return add_entries(change, *anew);
    switch (tree_.kind(change.node)) {
      case Kind::tensor:
        return add_tensor(change);
      case Kind::boolean:
      case Kind::integer:
      case Kind::floating:
        return add_value(change, tree_.span(change.node),
                         [&](const PickleOp& old) { return encode_like(old, number_of(change)); });
      case Kind::string:
        return add_text(change);
      case Kind::array:
        return add_array(change);
      case Kind::bytes:
      case Kind::opaque:
        return add_contents(change);
      default:
        throw Error(Status::refused, change.meaning + ": the field holds no number");
    }
  }

  PickleRewrite finish() && {
    const ByteView text = tree_.bytes();
    exchange(text);
    if (moves_something()) {
      // A parted tensor's description is longer, and a new storage is appended anyway: no room is looked for then.
      if (in_place_.empty() && !values_.empty()) fit(layout(), values_, changes_);
      values_.insert(values_.end(), in_place_.begin(), in_place_.end());
      mend_frames(layout().frames, values_);
    }
    rewrite_.pickle = applied(text, {begin_, pickle_.end - begin_}, std::move(values_));
    return std::move(rewrite_);
  }

 private:
  /// One opcode for another: `encode` makes the new one of the old.
  template <typename Encode>
  void add_value(const NodeChange& change, Span at, const Encode& encode) {
    holders_.require_one_at(at, change);
    PickleScanner scanner(tree_.bytes(), "", at.offset);
    const PickleOp old = scanner.next();
    values_.push_back({old.span(), encode(old)});
    changes_.push_back(change);
  }

  void add_text(const NodeChange& change) {
    const auto* anew = std::get_if<NewText>(&change.value);
    if (anew == nullptr) throw Error(Status::refused, change.meaning + ": the field holds no number");
    add_value(change, tree_.span(change.node), [&](const PickleOp& old) { return encode_text_like(old, anew->text); });
  }

  void add_array(const NodeChange& change) {
    holders_.require_one(change.node, change);
    const NodeId state = tree_.state(change.node);
    require_one_of_each({state != nowhere ? state : tree_.arguments(change.node)}, change);
    const Tensor array = tensors_.describe(change.node);
    const NodeId data = tensors_.array_bytes(change.node);
    Bytes contents(as_bytes(tree_.text(data)).begin(), as_bytes(tree_.text(data)).end());
    if (contents.size() != array.count() * array.type.size) {
      throw Error(Status::corrupt, change.meaning + ": an array of another size");
    }
    const TensorPlace place{array, {0, contents.size()}, tensors_.array_order(change.node), true};
    for (const NewElement& element : elements_of(change, array)) {
      const Bytes bytes = element_bytes(array.type, element, place.order);
      for_each_index(element, [&](std::uint64_t index) {
        std::copy(bytes.begin(), bytes.end(),
                  contents.begin() + static_cast<std::ptrdiff_t>(place.element(index).offset));
      });
    }
    add_value(change, tree_.span(data), [&](const PickleOp& old) { return encode_bytes_like(old, contents); });
  }

  void add_contents(const NodeChange& change) {
    holders_.require_one(change.node, change);
    const auto* contents = std::get_if<NewContents>(&change.value);
    const NodeId bytes = bytes_node(tree_, change.node);
    if (contents == nullptr || bytes == nowhere) throw Error(Status::refused, change.meaning + ": is no number");
    add_value(change, tree_.span(bytes), [&](const PickleOp& old) { return encode_bytes_like(old, contents->bytes); });
  }

  /// Elements in place, or a single one in a storage of its own where another tensor shows it too.
  void add_tensor(const NodeChange& change) {
    holders_.require_one(change.node, change);
    const TensorPlace place = tensors_.place_of(change.node);
    if (!shared_) shared_.emplace(tree_);
    const bool is_shared = shared_->is_shown_elsewhere(tree_, change.node);
    if (is_shared && !place.is_in_pickle && place.tensor.count() == 1) {
      return move(change, element_bytes(place.tensor.type, elements_of(change, place.tensor).front(), place.order));
    }
    if (is_shared) {
      throw Error(Status::refused, change.meaning + ": another tensor of the file shows the same elements",
                  "load the checkpoint with its framework, clone that tensor, and save it anew");
    }
    if (const auto* contents = std::get_if<NewContents>(&change.value)) return add_bytes(change, place, *contents);
    if (const auto* anew = std::get_if<NewTensor>(&change.value)) return add_anew(change, place, *anew);
    if (strides_overlap(place.tensor)) {
      throw Error(Status::refused,
                  change.meaning + ": the tensor's strides overlap: other elements may be the same bytes of the file",
                  "load the checkpoint with its framework, clone that tensor, and save it anew");
    }
    for (const NewElement& element : elements_of(change, place.tensor)) {
      const Bytes bytes = element_bytes(place.tensor.type, element, place.order);
      for_each_index(element, [&](std::uint64_t index) { write(change, place, place.element(index), bytes); });
    }
  }

  /// As torch's expand and unfold show a storage: a dimension steps by less than what those that step by less reach.
  static bool strides_overlap(const Tensor& tensor) {
    if (tensor.count() == 0) return false;
    std::vector<std::pair<std::int64_t, std::int64_t>> dimensions;  // stride and length
    for (std::size_t d = 0; d < tensor.shape.size(); ++d) {
      if (tensor.shape[d] > 1) dimensions.emplace_back(tensor.strides[d], tensor.shape[d]);
    }
    std::ranges::sort(dimensions);
    std::int64_t reach = 1;
    for (const auto& [stride, count] : dimensions) {
      if (stride < reach) return true;
      reach += stride * (count - 1);
    }
    return false;
  }

  /// Another length of a tensor's first dimension. Its storage stays where the elements have room in it, so that no
  /// record moves and none is missed; a longer one is given a storage of its own.
  void add_rows(const NodeChange& change, const TensorPlace& place, std::int64_t rows, const SharedBytes& elements) {
    const std::uint64_t size = place.tensor.count() * place.tensor.type.size;
    if (elements.size() > size) {
      const SharedBytes stored = in_order(place, elements);
      move(change, Bytes(stored.begin(), stored.end()));
    } else if (!elements.empty()) {
      write(change, place, {place.element(0).offset, elements.size()}, in_order(place, elements));
    }
    if (rows == place.tensor.shape[0]) return;
    const Integer count{rows, {}};
    add_value({change.node, count, change.meaning}, {size_opcode(change), 0},
              [&](const PickleOp& old) { return encode_like(old, count); });
  }

  /// One opcode for another of its size leaves every frame as it is: the rest of the pickle need not be looked at.
  [[nodiscard]] bool moves_something() const {
    const auto keeps_size = [](const Replacement& r) { return r.after.size() == r.place.size; };
    return !in_place_.empty() || !std::all_of(values_.begin(), values_.end(), keeps_size);
  }

  /// One pass over the pickle, however many changes ask for it.
  const PickleLayout& layout() {
    if (!layout_) {
      tree_.take_steps(pickle_.end - begin_);
      layout_ = survey_pickle(tree_.bytes(), begin_, pickle_.end, pickle_.hopped);
    }
    return *layout_;
  }

  /// What a description is made of changes along with it.
  void require_one_of_each(std::initializer_list<NodeId> parts, const NodeChange& change) const {
    for (const NodeId part : parts) {
      if (part != nowhere) holders_.require_one(part, change);
    }
  }

  /// A description that was left unread (tensor_pattern.hpp) has no part that is fetched.
  void require_own_description(const NodeChange& change) const {
    const NodeId arguments = tree_.arguments(change.node);
    if (arguments == nowhere) return;
    const NodeId storage = tree_.items(arguments)[0], offset = tree_.items(arguments)[1];
    require_one_of_each({arguments, storage, tree_.arguments(storage), offset}, change);
  }

  /// The elements in a storage that the file does not have yet.
  void move(const NodeChange& change, Bytes elements) {
    require_own_description(change);
    const std::uint64_t size = elements.size();
    const std::string key = new_storage(std::move(elements), change.meaning);
    if (!detacher_) detacher_.emplace(pickle_, begin_, layout());
    for (Replacement& replacement : detacher_->detach(change.node, key, size)) {
      in_place_.push_back(std::move(replacement));
    }
  }

  std::string new_storage(Bytes data, const std::string& meaning) {
    auto& storages = rewrite_.storages;
    std::string key = tensors_.unused_key(storages.empty() ? std::string_view() : storages.back().key);
    storages.push_back({key, std::move(data), meaning});
    rewrite_.names_other_storages = true;
    return key;
  }

  /// Takes out values, or items with their keys, and writes what is to stand there instead.
  void exchange(ByteView text) {
    if (exchanged_.empty()) return;
    rewrite_.names_other_storages = true;
    if (!pickle_.hopped.empty()) throw Error(Status::refused, "values of joblib's files are not taken out");
    std::vector<std::uint64_t> wanted;
    for (const auto& [offset, change] : exchanged_) wanted.push_back(offset);
    const std::vector<WrittenItem> items = written_items(text, begin_, pickle_.end, wanted);
    std::vector<Span> cuts;
    const std::size_t first = in_place_.size();
    for (auto item = items.begin(); const auto& [offset, change] : exchanged_) {
      const auto* anew = std::get_if<NewDocument>(&change.value);
      const Span cut = anew != nullptr ? item->value : item->item;
      const bool is_apart = cuts.empty() || cuts.back().end() <= cut.offset;
      if (cut.size == 0) {
        throw Error(Status::refused, change.meaning + ": stands by itself, in no map and no list",
                    "load the checkpoint with its framework and save it anew");
      }
      if (!is_apart) throw Error(Status::refused, change.meaning + ": is shared with another value that goes");
      cuts.push_back(cut);
      in_place_.push_back({cut, anew == nullptr ? Bytes() : opcodes_of(anew->document, change)});
      ++item;
    }
    const KeptMemo kept = kept_memo(text, begin_, pickle_.end, cuts);
    for (std::size_t i = 0; i < cuts.size(); ++i) {
      Bytes& after = in_place_[first + i].after;
      after.insert(after.begin(), kept.left[i].begin(), kept.left[i].end());
    }
    in_place_.insert(in_place_.end(), kept.elsewhere.begin(), kept.elsewhere.end());
  }

  /// Little-endian elements as the file has them.
  static SharedBytes in_order(const TensorPlace& place, const SharedBytes& elements) {
    if (place.order == std::endian::little) return elements;
    Bytes turned(elements.begin(), elements.end());
    turn_elements(turned, place.tensor.type.size, place.order);
    return turned;
  }

  /// Where the opcode of a tensor's first size stands.
  [[nodiscard]] std::uint64_t size_opcode(const NodeChange& change) const {
    const NodeId arguments = tree_.arguments(change.node);
    if (arguments != nowhere) {
      const NodeId shape = tree_.items(arguments)[2];
      require_one_of_each({arguments, shape}, change);
      return tree_.span(tree_.items(shape)[0]).offset;
    }
    const auto pattern = read_tensor_pattern(tree_.bytes(), tree_.span(change.node).offset);
    if (pattern->sizes.slot != TensorPattern::no_slot) {
      throw Error(Status::refused, change.meaning + ": another tensor of the file shares its shape",
                  "load the checkpoint with its framework and save it anew");
    }
    const bool is_marked = tree_.bytes()[pattern->sizes.ops.offset] == static_cast<std::byte>(Opcode::mark);
    return pattern->sizes.ops.offset + (is_marked ? 1 : 0);
  }

  /// None where an object stood that was made and filled: it is taken from the stack again.
  void add_none(const NodeChange& change) {
    holders_.require_one(change.node, change);
    const NodeId state = tree_.state(change.node);
    if (state == nowhere) throw Error(Status::refused, change.meaning + ": is no object that could become None");
    PickleScanner scanner(tree_.bytes(), "", tree_.span(state).offset);
    scanner.next();
    const PickleOp op = behind_memo(scanner);
    if (op.code != Opcode::build) throw Error(Status::refused, change.meaning + ": is written in an unusual way");
    in_place_.push_back({{op.end(), 0}, {static_cast<std::byte>(Opcode::pop), static_cast<std::byte>(Opcode::none)}});
  }

  /// The first opcode that does not put the top of the stack into the memo.
  static PickleOp behind_memo(PickleScanner& scanner) {
    PickleOp op = scanner.next();
    while (op.code == Opcode::put || op.code == Opcode::binput || op.code == Opcode::long_binput ||
           op.code == Opcode::memoize) {
      op = scanner.next();
    }
    return op;
  }

  /// A value in place of None.
  void add_document(const NodeChange& change, const Document& document) {
    holders_.require_one_at(tree_.span(change.node), change);
    in_place_.push_back({tree_.span(change.node), opcodes_of(document, change)});
  }

  /// Set as soon as the map is made: of what is set later none has the same key.
  void add_entries(const NodeChange& change, const NewEntries& anew) {
    holders_.require_one(change.node, change);
    PickleScanner scanner(tree_.bytes(), "", tree_.span(change.node).offset);
    const PickleOp made = scanner.next();
    if (made.code != Opcode::empty_dict && made.code != Opcode::dict) {
      throw Error(Status::refused, change.meaning + ": is no plain dict, which alone can be added to");
    }
    const std::uint64_t at = behind_memo(scanner).begin;
    in_place_.push_back({{at, 0}, as_entries(opcodes_of({anew.entries}, change))});
  }

  Bytes opcodes_of(const Document& document, const NodeChange& change) {
    if (!tensors_.has_storages()) return numpy_value(document);
    return torch_value(document, [&](const DocumentTensor& tensor) {
      Bytes elements = tensor.elements;
      turn_elements(elements, tensor.type.size, tensors_.storage_order());
      return new_storage(std::move(elements), change.meaning);
    });
  }

  void add_exchange(const NodeChange& change) {
    holders_.require_one(change.node, change);
    exchanged_.emplace(tree_.span(change.node).offset, change);
  }

  void add_bytes(const NodeChange& change, const TensorPlace& place, const NewContents& contents) {
    const Tensor& tensor = place.tensor;
    if (tensor.type.size != 1 || tensor.strides != std::vector<std::int64_t>{1}) {
      throw Error(Status::refused, fmt::format("{}: {} is no row of bytes", change.meaning, tensor.type_text()));
    }
    add_rows(change, place, static_cast<std::int64_t>(contents.bytes.size()), contents.bytes);
  }

  /// Another shape and other elements.
  void add_anew(const NodeChange& change, const TensorPlace& place, const NewTensor& anew) {
    const Tensor& tensor = place.tensor;
    const bool is_like = anew.shape.size() == tensor.shape.size() && !anew.shape.empty() &&
                         std::equal(anew.shape.begin() + 1, anew.shape.end(), tensor.shape.begin() + 1);
    if (!is_like || !has_rows_in_order(tensor)) {
      throw Error(Status::refused, fmt::format("{}: {} keeps its shape", change.meaning, tensor.type_text()));
    }
    const NodeId stream = tensors_.stream_of(change.node);
    if (stream == nowhere) return add_rows(change, place, anew.shape[0], anew.elements);
    const auto count = static_cast<std::int64_t>(anew.elements.size() / tensor.type.size);
    add_value(change, tree_.span(stream), [&](const PickleOp& old) {
      return encode_bytes_like(old, stream_with_elements(as_bytes(tree_.text(stream)), count, anew.elements));
    });
    set_number(change, 2, 0, anew.shape[0]);
  }

  /// Row behind row, and every row without gaps.
  static bool has_rows_in_order(const Tensor& tensor) {
    std::int64_t stride = 1;
    for (std::size_t i = tensor.shape.size(); i-- > 0;) {
      if (tensor.strides[i] != stride && (tensor.shape[i] != 1 || i == 0)) return false;
      stride *= tensor.shape[i];
    }
    return true;
  }

  /// One number of a tensor's sizes (argument 2) or strides (argument 3).
  void set_number(const NodeChange& change, std::size_t argument, std::size_t index, std::int64_t number) {
    const NodeId arguments = tree_.arguments(change.node);
    const NodeId tuple = tree_.items(arguments)[argument];
    const NodeId old = tree_.items(tuple)[index];
    if (tree_.integer(old).value == number) return;
    require_one_of_each({arguments, tuple}, change);
    add_value({change.node, Integer{number, {}}, change.meaning}, tree_.span(old), [&](const PickleOp& op) {
      return encode_like(op, Integer{number, {}});
    });
  }

  void write(const NodeChange& change, const TensorPlace& place, Span at, SharedBytes bytes) {
    if (place.is_in_pickle) {
      in_place_.push_back({at, Bytes(bytes.begin(), bytes.end())});
    } else {
      rewrite_.elements.push_back({at, std::move(bytes), change.meaning});
    }
  }

  const Pickle& pickle_;
  const Tree& tree_;
  std::uint64_t begin_;
  const PickleTensors& tensors_;
  Holders holders_;
  std::optional<SharedStorages> shared_;
  std::optional<PickleLayout> layout_;
  std::optional<StorageDetacher> detacher_;
  PickleRewrite rewrite_;
  std::vector<Replacement> values_;  ///< of opcodes, one for each of changes_
  std::vector<NodeChange> changes_;
  std::vector<Replacement> in_place_;              ///< of a tensor's elements and description
  std::map<std::uint64_t, NodeChange> exchanged_;  ///< values that go, by their opcode
};

}  // namespace

PickleRewrite rewrite_pickle(const Pickle& pickle, std::uint64_t begin, const PickleTensors& tensors,
                             std::span<const NodeChange> changes) {
  Rewriter rewriter(pickle, begin, tensors);
  for (const NodeChange& change : changes) rewriter.add(change);
  return std::move(rewriter).finish();
}

}  // namespace tare
