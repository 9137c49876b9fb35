// The classes and functions that pickles name: which of them the reader understands, and which are a danger to whoever
// loads the file. None is ever imported or called here.
#pragma once

#include <cstdint>
#include <string_view>

namespace tare {

/// What the reader takes a call or instance of a name for.
enum class Callee : std::uint8_t {
  unknown,
  dictionary,  ///< dict, OrderedDict, Counter, defaultdict: a map
  set,
  list,
  tuple,  ///< tuple, torch.Size
  byte_array,
  codecs_encode,    ///< text that stands for bytes (how protocol 2 writes bytes)
  reconstructor,    ///< copyreg's: class, base, state
  tensor,           ///< (storage, offset, size, stride, requires_grad, hooks, ...)
  tensor_v3,        ///< the same with the dtype behind the hooks
  tensor_subclass,  ///< (function, type, arguments, state)
  parameter,        ///< (tensor, requires_grad, hooks, ...): the tensor itself
  numpy_scalar,     ///< (dtype, bytes)
  numpy_array,      ///< an empty array whose state is given by BUILD
  numpy_buffer,     ///< (bytes, dtype, shape, order)
  numpy_dtype,
  paddle_tensor,   ///< eval, which Paddle writes as eval('data', {'data': array}); any other call of it is unknown
  jax_array,       ///< (function, arguments, state, more): what numpy would have reduced the array to
  joblib_array,    ///< a description of an array, behind whose BUILD its elements stand
  storage_stream,  ///< (bytes): a storage that a stream of torch.save holds
};

/// How a loader that runs what it reads would fare.
enum class Trust : std::uint8_t {
  allowed,    ///< torch.load(weights_only=True) accepts it as it is
  refused,    ///< weights_only refuses it; loading needs trust in the file
  dangerous,  ///< reaches the operating system or runs code: no checkpoint needs it
};

Callee callee_of(std::string_view module, std::string_view name);
Trust trust_of(std::string_view module, std::string_view name);
std::string_view name(Trust trust);

}  // namespace tare
