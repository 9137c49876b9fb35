#include "lib/container/pickle/write/new_stream.hpp"

#include <algorithm>
#include <iterator>

#include "lib/base/error.hpp"
#include "lib/container/pickle/read/opcode.hpp"
#include "lib/container/pickle/read/storage_stream.hpp"
#include "lib/container/pickle/read/tensor.hpp"
#include "lib/container/pickle/write/encode.hpp"

namespace tare {

using namespace std::string_view_literals;

Bytes new_stream(std::string_view storage_class, ByteView elements) {
  const std::size_t size = storage_element(storage_class).size;
  const auto count = static_cast<std::uint32_t>(elements.size() / size);
  Bytes stream;
  const auto append = [&](std::string_view text) {
    const ByteView bytes = as_bytes(text);
    std::copy(bytes.begin(), bytes.end(), std::back_inserter(stream));
  };
  append(usual_stream_beginning);
  append(
      "\x80\x02(X\x07\x00\x00\x00storageq\x00"
      "ctorch\n"sv);
  append(storage_class);
  append(
      "\nq\x01X\x01\x00\x00\x00"
      "0q\x02X\x03\x00\x00\x00"
      "cpuq\x03J"sv);
  append_le(stream, count);
  append(
      "Ntq\x04Q.\x80\x02]q\x00X\x01\x00\x00\x00"
      "0q\x01"
      "a."sv);
  append_le(stream, std::uint64_t{count});
  std::copy(elements.begin(), elements.end(), std::back_inserter(stream));
  return stream;
}

Bytes stream_with_elements(ByteView stream, std::int64_t count, ByteView elements) {
  const auto usual = read_usual_stream(stream);
  if (!usual) throw Error(Status::refused, "a tensor that is not written as torch does keeps its size");
  PickleScanner scanner(stream, "", usual->count_op.offset);
  const Bytes count_op = encode_like(scanner.next(), Integer{count, {}});
  constexpr std::uint64_t count_size = 8;
  const std::uint64_t count_at = usual->storage.data.offset - count_size;
  Bytes result;
  const auto append = [&](ByteView part) { result.insert(result.end(), part.begin(), part.end()); };
  append(stream.first(usual->count_op.offset));
  append(count_op);
  append(stream.subspan(usual->count_op.end(), count_at - usual->count_op.end()));
  append_le(result, static_cast<std::uint64_t>(count));
  append(elements);
  return result;
}

}  // namespace tare
