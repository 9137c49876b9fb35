#include "lib/container/zstd_frame.hpp"

#include <fmt/format.h>
#include <zstd.h>
#include <zstd_errors.h>

#include <algorithm>
#include <memory>
#include <new>

#include "lib/base/error.hpp"

namespace tare {
namespace {

/// Why a call failed; null where it did not. Throws std::bad_alloc where it had no memory, of which the bytes are
/// innocent.
const char* problem_of(std::size_t result) {
  if (ZSTD_isError(result) == 0) return nullptr;
  if (ZSTD_getErrorCode(result) == ZSTD_error_memory_allocation) throw std::bad_alloc();
  return ZSTD_getErrorName(result);
}

}  // namespace

Bytes zstd_content(ByteView frame, std::uint64_t most, const std::string& name, Budget* budget) {
  const auto fail = [&](const char* problem) {
    throw Error(Status::corrupt, fmt::format("{}: Zstandard: {}", name, problem),
                "the file is damaged; take another copy");
  };
  const std::unique_ptr<ZSTD_DStream, decltype(&ZSTD_freeDStream)> stream(ZSTD_createDStream(), ZSTD_freeDStream);
  if (stream == nullptr) throw std::bad_alloc();
  Bytes content;
  ZSTD_inBuffer input{frame.data(), frame.size(), 0};
  for (std::size_t left = 1; left != 0;) {
    if (content.size() > most) fail("holds more than it may");
    const std::size_t begin = content.size();
    content.resize(begin + std::min(ZSTD_DStreamOutSize(), most + 1 - begin + 1));
    ZSTD_outBuffer output{content.data() + begin, content.size() - begin, 0};
    left = ZSTD_decompressStream(stream.get(), &output, &input);
    content.resize(begin + output.pos);
    if (const char* problem = problem_of(left)) fail(problem);
    if (budget != nullptr) budget->take_unpacked(output.pos);
    if (left != 0 && output.pos == 0 && input.pos == input.size) fail("ends too early");
  }
  if (content.size() > most) fail("holds more than it may");
  if (input.pos != input.size) fail("has something behind its end");
  return content;
}

Bytes zstd_frame(ByteView content, int level) {
  Bytes frame(ZSTD_compressBound(content.size()));
  const std::size_t size = ZSTD_compress(frame.data(), frame.size(), content.data(), content.size(), level);
  if (const char* problem = problem_of(size)) throw Error(Status::internal, fmt::format("Zstandard: {}", problem));
  frame.resize(size);
  return frame;
}

}  // namespace tare
