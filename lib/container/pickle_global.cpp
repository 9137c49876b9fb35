#include "lib/container/pickle_global.hpp"

#include <algorithm>

#include "lib/tree/tensor.hpp"

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
};

struct Names {
  std::string_view module, name;
};

/// What torch.load(weights_only=True) accepts besides dtypes and storage classes (torch/_weights_only_unpickler.py).
constexpr Names allowed_names[] = {
    {"collections", "OrderedDict"},
    {"collections", "Counter"},
    {"torch.nn.parameter", "Parameter"},
    {"torch", "Size"},
    {"torch", "Tensor"},
    {"torch", "device"},
    {"torch.serialization", "_get_layout"},
    {"_codecs", "encode"},
    {"builtins", "bytearray"},
    {"builtins", "set"},
    {"builtins", "complex"},
    {"__builtin__", "bytearray"},
    {"__builtin__", "set"},
    {"__builtin__", "complex"},
    {"torch._utils", "_rebuild_tensor"},
    {"torch._utils", "_rebuild_tensor_v2"},
    {"torch._utils", "_rebuild_tensor_v3"},
    {"torch._utils", "_rebuild_parameter"},
    {"torch._utils", "_rebuild_parameter_with_state"},
    {"torch._utils", "_rebuild_qtensor"},
    {"torch._utils", "_rebuild_sparse_tensor"},
    {"torch._utils", "_rebuild_meta_tensor_no_storage"},
    {"torch._utils", "_rebuild_nested_tensor"},
    {"torch._utils", "_rebuild_wrapper_subclass"},
    {"torch._utils", "_rebuild_device_tensor_from_numpy"},
    {"torch._utils", "_rebuild_device_tensor_from_cpu_tensor"},
    {"torch._tensor", "_rebuild_from_type_v2"},
};

/// Modules of which nothing belongs in a checkpoint: they start programs, open connections, run or unmarshal code.
constexpr std::string_view dangerous_modules[] = {
    "os",
    "posix",
    "nt",
    "sys",
    "subprocess",
    "runpy",
    "pty",
    "shutil",
    "socket",
    "ctypes",
    "code",
    "codeop",
    "importlib",
    "imp",
    "pdb",
    "bdb",
    "timeit",
    "commands",
    "popen2",
    "multiprocessing",
    "webbrowser",
    "marshal",
    "pickle",
    "_pickle",
    "urllib",
    "http",
    "ftplib",
    "smtplib",
    "asyncio",
    "threading",
    "signal",
    "platform",
    "profile",
    "cProfile",
    "trace",
    "doctest",
    "venv",
    "pip",
    "ensurepip",
    "aiohttp",
    "requests",
    "httplib",
    "types",
    "_posixsubprocess",
    "distutils",
    "tempfile",
    "pathlib._local.os",
};

constexpr std::string_view dangerous_builtins[] = {
    "eval",    "exec",   "execfile", "compile", "open",    "file",  "__import__", "input", "raw_input", "breakpoint",
    "globals", "locals", "vars",     "setattr", "delattr", "apply", "reload",     "exit",  "quit",
};

template <typename Range>
bool holds(const Range& range, std::string_view value) {
  return std::find(std::begin(range), std::end(range), value) != std::end(range);
}

bool is_storage(std::string_view module, std::string_view name) {
  const bool known_module = module == "torch" || module == "torch.cuda" || module == "torch.storage";
  return known_module && name.ends_with("Storage");
}

}  // namespace

Callee callee_of(std::string_view module, std::string_view name) {
  for (const KnownCallee& known : known_callees) {
    if (known.name == name && known.module == module) return known.callee;
  }
  return Callee::unknown;
}

Trust trust_of(std::string_view module, std::string_view name) {
  for (const Names& allowed : allowed_names) {
    if (allowed.name == name && allowed.module == module) return Trust::allowed;
  }
  if (is_storage(module, name) || (module == "torch" && element_type(name).size != 0)) return Trust::allowed;
  const std::string_view package = module.substr(0, module.find('.'));
  if (holds(dangerous_modules, package)) return Trust::dangerous;
  const bool is_builtin = module == "builtins" || module == "__builtin__";
  if (is_builtin && holds(dangerous_builtins, name)) return Trust::dangerous;
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
