#include "lib/container/pickle/read/global.hpp"

#include <algorithm>

#include "lib/container/pickle/globals/dangerous_global.hpp"
#include "lib/container/pickle/globals/torch_globals.hpp"

namespace tare {
namespace {

struct KnownCallee {
  std::string_view module, name;
  Callee callee;
};

constexpr KnownCallee known_callees[] = {
    {"collections", "OrderedDict", Callee::dictionary},
    {"collections", "Counter", Callee::dictionary},
    {"collections", "defaultdict", Callee::dictionary},
    {"builtins", "dict", Callee::dictionary},
    {"__builtin__", "dict", Callee::dictionary},
    {"builtins", "set", Callee::set},
    {"__builtin__", "set", Callee::set},
    {"builtins", "frozenset", Callee::set},
    {"__builtin__", "frozenset", Callee::set},
    {"builtins", "list", Callee::list},
    {"__builtin__", "list", Callee::list},
    {"builtins", "tuple", Callee::tuple},
    {"__builtin__", "tuple", Callee::tuple},
    {"torch", "Size", Callee::tuple},
    {"builtins", "bytearray", Callee::byte_array},
    {"__builtin__", "bytearray", Callee::byte_array},
    {"builtins", "bytes", Callee::byte_array},
    {"__builtin__", "bytes", Callee::byte_array},
    {"_codecs", "encode", Callee::codecs_encode},
    {"copyreg", "_reconstructor", Callee::reconstructor},
    {"copy_reg", "_reconstructor", Callee::reconstructor},
    {"torch._utils", "_rebuild_tensor", Callee::tensor},
    {"torch._utils", "_rebuild_tensor_v2", Callee::tensor},
    {"torch._utils", "_rebuild_tensor_v3", Callee::tensor_v3},
    {"torch._tensor", "_rebuild_from_type_v2", Callee::tensor_subclass},
    {"torch._utils", "_rebuild_parameter", Callee::parameter},
    {"torch._utils", "_rebuild_parameter_with_state", Callee::parameter},
    {"numpy.core.multiarray", "scalar", Callee::numpy_scalar},
    {"numpy._core.multiarray", "scalar", Callee::numpy_scalar},
    {"numpy.core.multiarray", "_reconstruct", Callee::numpy_array},
    {"numpy._core.multiarray", "_reconstruct", Callee::numpy_array},
    {"numpy.core.numeric", "_frombuffer", Callee::numpy_buffer},
    {"numpy._core.numeric", "_frombuffer", Callee::numpy_buffer},
    {"numpy", "dtype", Callee::numpy_dtype},
    {"builtins", "eval", Callee::paddle_tensor},
    {"__builtin__", "eval", Callee::paddle_tensor},
    {"jax._src.array", "_reconstruct_array", Callee::jax_array},
    {"joblib.numpy_pickle", "NumpyArrayWrapper", Callee::joblib_array},
    {"torch.storage", "_load_from_bytes", Callee::storage_stream},
    {"megatron.core.safe_globals", "safe_load_from_bytes", Callee::storage_stream},
};

}  // namespace

Callee callee_of(std::string_view module, std::string_view name) {
  for (const KnownCallee& known : known_callees) {
    if (known.name == name && known.module == module) return known.callee;
  }
  return Callee::unknown;
}

Trust trust_of(std::string_view module, std::string_view name) {
  if (weights_only_allows(newest_torch_release(), module, name)) return Trust::allowed;
  if (is_dangerous_global(module, name)) return Trust::dangerous;
  return Trust::refused;
}

std::string_view name(Trust trust) {
  switch (trust) {
    case Trust::allowed:
      return "allowed";
    case Trust::refused:
      return "refused";
    case Trust::dangerous:
      break;
  }
  return "dangerous";
}

}  // namespace tare
