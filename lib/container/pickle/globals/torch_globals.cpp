#include "lib/container/pickle/globals/torch_globals.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>

#include "lib/base/error.hpp"
#include "lib/base/holds.hpp"
#include "lib/base/text.hpp"

namespace tare {
namespace {

constexpr std::array<std::string_view, 17> releases{"1.13", "2.0", "2.1",  "2.2",  "2.3",  "2.4",  "2.5",  "2.6", "2.7",
                                                    "2.8",  "2.9", "2.10", "2.11", "2.12", "2.13", "2.14", "2.15"};

constexpr TorchRelease release_of(std::string_view version) {
  return static_cast<TorchRelease>(std::find(releases.begin(), releases.end(), version) - releases.begin());
}
constexpr TorchRelease for_ever = releases.size();

struct AllowedName {
  std::string_view module, name;
  TorchRelease since = 0;
  TorchRelease until = for_ever;  ///< the first that has it no longer
};

constexpr auto t2_0 = release_of("2.0"), t2_2 = release_of("2.2"), t2_3 = release_of("2.3"), t2_4 = release_of("2.4"),
               t2_5 = release_of("2.5"), t2_6 = release_of("2.6"), t2_7 = release_of("2.7"), t2_8 = release_of("2.8");

constexpr AllowedName allowed_names[] = {
    {"collections", "OrderedDict"},
    {"collections", "Counter", t2_4},
    {"torch.nn.parameter", "Parameter"},
    {"torch.serialization", "_get_layout"},
    {"torch", "Size"},
    {"torch", "Tensor"},
    {"torch", "device", t2_4},
    {"_codecs", "encode", t2_5},
    {"builtins", "bytearray", t2_5},
    {"builtins", "set", t2_6},
    {"builtins", "complex", t2_6},
    {"torch._utils", "_rebuild_parameter"},
    {"torch._utils", "_rebuild_parameter_with_state", t2_4},
    {"torch._utils", "_rebuild_tensor"},
    {"torch._utils", "_rebuild_tensor_v2"},
    {"torch._utils", "_rebuild_tensor_v3", t2_2},
    {"torch._utils", "_rebuild_sparse_tensor"},
    {"torch._utils", "_rebuild_sparse_csr_tensor", 0, t2_0},
    {"torch._utils", "_rebuild_meta_tensor_no_storage"},
    {"torch._utils", "_rebuild_nested_tensor", t2_2, release_of("2.15")},
    {"torch._utils", "_rebuild_qtensor", t2_4},
    {"torch._utils", "_rebuild_wrapper_subclass", t2_4},
    {"torch._utils", "_rebuild_device_tensor_from_numpy", t2_5},
    {"torch._utils", "_rebuild_device_tensor_from_cpu_tensor", t2_6},
    {"torch._tensor", "_rebuild_from_type_v2", t2_0},
    {"torch", "per_tensor_affine", t2_4},
    {"torch", "per_tensor_symmetric", t2_4},
    {"torch", "per_channel_affine", t2_4},
    {"torch", "per_channel_symmetric", t2_4},
    {"torch", "per_channel_affine_float_qparams", t2_4},
};

struct AllowedDtype {
  std::string_view name;
  TorchRelease since;
};

constexpr AllowedDtype allowed_dtypes[] = {
    {"complex32", 0},
    {"complex64", 0},
    {"complex128", 0},
    {"float16", 0},
    {"float32", 0},
    {"float64", 0},
    {"int8", 0},
    {"int16", 0},
    {"int32", 0},
    {"int64", 0},
    {"float8_e5m2", t2_2},
    {"float8_e4m3fn", t2_2},
    {"float8_e5m2fnuz", t2_3},
    {"float8_e4m3fnuz", t2_3},
    {"uint8", t2_4},
    {"bool", t2_4},
    {"bfloat16", t2_4},
    {"qint8", t2_4},
    {"quint8", t2_4},
    {"qint32", t2_4},
    {"quint4x2", t2_4},
    {"quint2x4", t2_4},
    {"bits1x8", t2_4},
    {"bits2x4", t2_4},
    {"bits4x2", t2_4},
    {"bits8", t2_4},
    {"bits16", t2_4},
    {"uint16", t2_6},
    {"uint32", t2_6},
    {"uint64", t2_6},
    {"float8_e8m0fnu", t2_7},
    {"float4_e2m1fn_x2", t2_8},
    {"uint1", t2_7},
    {"uint2", t2_7},
    {"uint3", t2_7},
    {"uint4", t2_7},
    {"uint5", t2_7},
    {"uint6", t2_7},
    {"uint7", t2_7},
    {"int1", t2_7},
    {"int2", t2_7},
    {"int3", t2_7},
    {"int4", t2_7},
    {"int5", t2_7},
    {"int6", t2_7},
    {"int7", t2_7},
};

/// The element types of torch's own tensor and storage classes: torch.FloatTensor, torch.cuda.HalfStorage ...
constexpr std::string_view class_elements[] = {
    "Double", "Float",         "Half",         "BFloat16", "Byte",   "Char",   "Short",    "Int",     "Long",
    "Bool",   "ComplexDouble", "ComplexFloat", "QInt8",    "QInt32", "QUInt8", "QUInt4x2", "QUInt2x4"};

bool is_element_class(std::string_view name, std::string_view kind) {
  return name.ends_with(kind) && holds(class_elements, name.substr(0, name.size() - kind.size()));
}

bool is_tensor_or_storage_class(std::string_view module, std::string_view name) {
  if (module == "torch.storage") {
    return name == "TypedStorage" || name == "UntypedStorage" || name == "_TypedStorage" || name == "_UntypedStorage";
  }
  if (module == "torch" || module == "torch.cuda") {
    return is_element_class(name, "Storage") || is_element_class(name, "Tensor");
  }
  return (module == "torch.sparse" || module == "torch.cuda.sparse") && is_element_class(name, "Tensor");
}

/// As torch reads names of Python 2, since 2.4.
std::string_view module_today(std::string_view module) {
  return module == "__builtin__" ? "builtins" : module;
}

/// When the name is allowed: from `since`, before `until`; nothing where never.
std::optional<AllowedName> allowance(std::string_view module, std::string_view name) {
  const std::string_view today = module_today(module);
  for (const AllowedName& allowed : allowed_names) {
    if (allowed.name != name || allowed.module != today) continue;
    AllowedName found = allowed;
    if (module != today) found.since = std::max(found.since, t2_4);
    return found;
  }
  if (module == "torch") {
    const auto dtype = std::ranges::find(allowed_dtypes, name, &AllowedDtype::name);
    if (dtype != std::end(allowed_dtypes)) return AllowedName{module, name, dtype->since};
  }
  if (is_tensor_or_storage_class(module, name)) return AllowedName{module, name};
  return std::nullopt;
}

}  // namespace

std::span<const std::string_view> torch_releases() {
  return releases;
}

TorchRelease newest_torch_release() {
  return releases.size() - 1;
}

std::optional<TorchRelease> find_torch_release(std::string_view version) {
  const std::size_t minor = version.find('.');
  const std::size_t patch = minor == version.npos ? version.npos : version.find('.', minor + 1);
  const TorchRelease found = release_of(version.substr(0, patch));
  return found == for_ever ? std::nullopt : std::optional(found);
}

TorchRelease require_torch_release(std::string_view version) {
  if (const auto found = find_torch_release(version)) return *found;
  throw Error(Status::invalid_argument, fmt::format("no torch release \"{}\" is known", escaped(version)),
              fmt::format("releases: {} to {}", releases.front(), releases.back()));
}

bool weights_only_allows(TorchRelease release, std::string_view module, std::string_view name) {
  const auto allowed = allowance(module, name);
  return allowed && allowed->since <= release && release < allowed->until;
}

bool weights_only_ever_allowed(std::string_view module, std::string_view name) {
  return allowance(module, name).has_value();
}

std::optional<TorchRelease> weights_only_since(std::string_view module, std::string_view name) {
  const auto allowed = allowance(module, name);
  return allowed && allowed->until == for_ever ? std::optional(allowed->since) : std::nullopt;
}

}  // namespace tare
