// msgpack's lead bytes: what follows each. Format: https://github.com/msgpack/msgpack/blob/master/spec.md
#pragma once

#include <cstddef>
#include <cstdint>

namespace tare {

struct MsgpackLead {
  enum class Form : std::uint8_t {
    invalid,
    none,
    boolean,
    small_integer,  ///< the lead byte itself, signed
    natural,        ///< an unsigned integer
    integer,
    floating,
    text,
    bytes,
    extension,
    items,
    pairs,
  };

  Form form = Form::invalid;
  std::uint8_t length_size = 0;  ///< bytes of the length or count; 0: it is `fixed`
  std::uint8_t fixed = 0;        ///< bytes of a number; else the length or count
};

MsgpackLead msgpack_lead(std::byte byte);

}  // namespace tare
