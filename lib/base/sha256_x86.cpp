// The SHA extensions of x86 (Intel's manual, SHA256RNDS2, SHA256MSG1, SHA256MSG2): compiled always, used where cpuid
// names them.
#include "lib/base/sha256_blocks.hpp"

#ifdef __x86_64__

#include <cpuid.h>
#include <immintrin.h>

namespace tare {
namespace {

__attribute__((target("sha,sse4.1"))) void take_blocks(Sha256State& state, const std::byte* blocks, std::size_t count) {
  const auto at = [](auto* bytes, std::size_t index) {
    return reinterpret_cast<const __m128i*>(bytes) + index;  // any address: read with loadu
  };
  // The instructions want the words as ABEF and CDGH, highest first.
  const __m128i badc = _mm_shuffle_epi32(_mm_loadu_si128(at(state.data(), 0)), 0xB1);
  const __m128i hgfe = _mm_shuffle_epi32(_mm_loadu_si128(at(state.data(), 1)), 0x1B);
  __m128i abef = _mm_alignr_epi8(badc, hgfe, 8);
  __m128i cdgh = _mm_blend_epi16(hgfe, badc, 0xF0);
  const __m128i big_endian = _mm_set_epi64x(0x0c0d0e0f08090a0b, 0x0405060700010203);

  for (; count > 0; --count, blocks += sha256_block_size) {
    const __m128i abef_before = abef;
    const __m128i cdgh_before = cdgh;
    __m128i words[4];
    for (std::size_t i = 0; i < 4; ++i) words[i] = _mm_shuffle_epi8(_mm_loadu_si128(at(blocks, i)), big_endian);
#pragma GCC unroll 16
    for (std::size_t four = 0; four < 16; ++four) {  // four rounds each
      __m128i& now = words[four % 4];
      const __m128i sum = _mm_add_epi32(now, _mm_load_si128(at(sha256_round_constants.data(), four)));
      cdgh = _mm_sha256rnds2_epu32(cdgh, abef, sum);
      abef = _mm_sha256rnds2_epu32(abef, cdgh, _mm_shuffle_epi32(sum, 0x0E));
      if (four >= 12) continue;
      const __m128i last = words[(four + 3) % 4];
      const __m128i seven_back = _mm_alignr_epi8(last, words[(four + 2) % 4], 4);
      const __m128i begun = _mm_add_epi32(_mm_sha256msg1_epu32(now, words[(four + 1) % 4]), seven_back);
      now = _mm_sha256msg2_epu32(begun, last);
    }
    abef = _mm_add_epi32(abef, abef_before);
    cdgh = _mm_add_epi32(cdgh, cdgh_before);
  }

  const __m128i feba = _mm_shuffle_epi32(abef, 0x1B);
  const __m128i dchg = _mm_shuffle_epi32(cdgh, 0xB1);
  auto* to = reinterpret_cast<__m128i*>(state.data());
  _mm_storeu_si128(to, _mm_blend_epi16(feba, dchg, 0xF0));
  _mm_storeu_si128(to + 1, _mm_alignr_epi8(dchg, feba, 8));
}

bool has_instructions() {
  unsigned eax = 0;
  unsigned ebx = 0;
  unsigned ecx = 0;
  unsigned edx = 0;
  constexpr unsigned sha = 1U << 29;
  return __builtin_cpu_supports("sse4.1") != 0 && __get_cpuid_count(7, 0, &eax, &ebx, &ecx, &edx) != 0 &&
         (ebx & sha) != 0;
}

}  // namespace

Sha256Blocks sha256_blocks_of_cpu() {
  static const bool is_there = has_instructions();
  return is_there ? take_blocks : nullptr;
}

}  // namespace tare

#else

namespace tare {

Sha256Blocks sha256_blocks_of_cpu() {
  return nullptr;
}

}  // namespace tare

#endif
