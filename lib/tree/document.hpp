// A value that a new file is made of: what a dialect fills in and a container writes. Small: a scaler, no model.
#pragma once

#include <cstdint>
#include <string>
#include <variant>
#include <vector>

#include "lib/base/bytes.hpp"
#include "lib/tree/tensor.hpp"

namespace tare {

struct DocumentEntry;
struct Document;
/// Keys and values in their order.
using DocumentMap = std::vector<DocumentEntry>;

/// A contiguous tensor or array on the CPU: row-major, little-endian.
struct DocumentTensor {
  ElementType type;
  std::vector<std::int64_t> shape;  ///< empty: no dimensions
  Bytes elements;
};

/// An instance of a class, by its attributes.
struct DocumentObject {
  std::string module, name;
  DocumentMap attributes;
};

/// A class or a constant by its qualified name: torch.float16.
struct DocumentName {
  std::string module, name;
};

/// What a call of a class or function by its qualified name makes: an enumeration's member, a named tuple.
struct DocumentCall {
  std::string module, name;
  std::vector<Document> arguments;
};

/// Python's io.BytesIO.
struct DocumentStream {
  Bytes contents;
};

struct Document {
  std::variant<std::monostate, bool, std::int64_t, double, std::string, DocumentTensor, DocumentMap, DocumentObject,
               DocumentName, DocumentCall, DocumentStream>
      value;
};

struct DocumentEntry {
  std::string key;
  Document value;
};

}  // namespace tare
