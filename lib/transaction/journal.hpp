// The journal: one transaction as bytes on disk. README.md describes the layout and why a crash cannot fool it.
#pragma once

#include <ctime>
#include <functional>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "lib/transaction/journal_key.hpp"
#include "lib/transaction/origin.hpp"
#include "lib/transaction/record.hpp"

namespace tare {

inline constexpr std::uint32_t journal_version = 2;

/// One field that was edited, for people: history shows it, nothing else reads it.
struct FieldEdit {
  std::string file;   ///< relative to the journal's folder inside a journal, absolute outside
  std::string place;  ///< "scaler", "optimizer.loss_scaler" ...
  std::string field;  ///< "scale" ...
  std::string before;
  std::string after;
};

enum class JournalKind : std::uint32_t { edit = 1, undo = 2 };

/// "edit", "undo"
std::string_view name(JournalKind kind);

struct Journal {
  JournalKind kind = JournalKind::edit;
  std::uint64_t number = 0;  ///< the edit's own; of an undo, that of the edit undone
  std::string id;            ///< the edit's own, unlike that of any other; of an undo, that of the edit undone
  timespec when{};           ///< of this transaction: of an undo, when it was undone
  timespec edited{};         ///< of the edit
  Origin origin;             ///< of the edit
  std::vector<FieldEdit> fields;
  std::vector<FileRecord> files;
  /// Sealed with the key that it was read with: this user's tare wrote it, every byte of it. Of any other journal
  /// nothing may be believed, and nothing is done that it says unless the user trusts it.
  bool is_own = false;
};

/// Takes bytes, one run behind the other.
using JournalSink = std::function<void(ByteView bytes)>;

/// Gives the journal's bytes to `sink`, in runs as they are in memory, sealed with the key where there is one.
void write_journal(const Journal& journal, const JournalKey& key, const JournalSink& sink);

/// Nothing where the bytes end early or a checksum is wrong: then the journal was never complete on disk, and nothing
/// was applied. Throws `unsupported` for a newer version, `corrupt` where a complete journal contradicts itself. What
/// the journal gives back and takes away are parts of `bytes`, not copies.
std::optional<Journal> decoded(const SharedBytes& whole, const std::string& name, const JournalKey& key);

}  // namespace tare
