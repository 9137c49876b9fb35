#include "lib/container/msgpack/lead.hpp"

#include <array>

namespace tare {
namespace {

using Form = MsgpackLead::Form;

struct LeadRow {
  std::uint8_t first, last;
  MsgpackLead lead;  ///< where a length is `fixed`, it counts from here
};

constexpr auto lead_rows = std::to_array<LeadRow>({
    {0x00, 0x7f, {Form::small_integer}},
    {0x80, 0x8f, {Form::pairs}},
    {0x90, 0x9f, {Form::items}},
    {0xa0, 0xbf, {Form::text}},
    {0xc0, 0xc0, {Form::none}},
    {0xc2, 0xc3, {Form::boolean}},
    {0xc4, 0xc4, {Form::bytes, 1}},
    {0xc5, 0xc5, {Form::bytes, 2}},
    {0xc6, 0xc6, {Form::bytes, 4}},
    {0xc7, 0xc7, {Form::extension, 1}},
    {0xc8, 0xc8, {Form::extension, 2}},
    {0xc9, 0xc9, {Form::extension, 4}},
    {0xca, 0xca, {Form::floating, 0, 4}},
    {0xcb, 0xcb, {Form::floating, 0, 8}},
    {0xcc, 0xcc, {Form::natural, 0, 1}},
    {0xcd, 0xcd, {Form::natural, 0, 2}},
    {0xce, 0xce, {Form::natural, 0, 4}},
    {0xcf, 0xcf, {Form::natural, 0, 8}},
    {0xd0, 0xd0, {Form::integer, 0, 1}},
    {0xd1, 0xd1, {Form::integer, 0, 2}},
    {0xd2, 0xd2, {Form::integer, 0, 4}},
    {0xd3, 0xd3, {Form::integer, 0, 8}},
    {0xd4, 0xd4, {Form::extension, 0, 1}},
    {0xd5, 0xd5, {Form::extension, 0, 2}},
    {0xd6, 0xd6, {Form::extension, 0, 4}},
    {0xd7, 0xd7, {Form::extension, 0, 8}},
    {0xd8, 0xd8, {Form::extension, 0, 16}},
    {0xd9, 0xd9, {Form::text, 1}},
    {0xda, 0xda, {Form::text, 2}},
    {0xdb, 0xdb, {Form::text, 4}},
    {0xdc, 0xdc, {Form::items, 2}},
    {0xdd, 0xdd, {Form::items, 4}},
    {0xde, 0xde, {Form::pairs, 2}},
    {0xdf, 0xdf, {Form::pairs, 4}},
    {0xe0, 0xff, {Form::small_integer}},
});

}  // namespace

MsgpackLead msgpack_lead(std::byte byte) {
  const auto value = std::to_integer<std::uint8_t>(byte);
  for (const LeadRow& row : lead_rows) {
    if (value < row.first || value > row.last) continue;
    MsgpackLead lead = row.lead;
    if (row.first != row.last) lead.fixed = static_cast<std::uint8_t>(value - row.first);
    return lead;
  }
  return {};
}

}  // namespace tare
