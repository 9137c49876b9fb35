#include "lib/transaction/journal.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
#include <map>
#include <utility>

#include "lib/base/crc32.hpp"
#include "lib/base/error.hpp"
#include "lib/base/limits.hpp"

namespace tare {
namespace {

constexpr std::string_view magic = "TAREJNL\n";

enum class Tag : std::uint32_t { header = 1, field = 2, file = 3, end = 4, seal = 5, versions = 6 };

constexpr std::size_t frame_bytes = 16;  // tag u32, payload size u64, and the CRC-32 u32 behind the payload

// ---- writing --------------------------------------------------------------------------------------------------------

void put(Bytes& to, ByteView bytes) {
  append_le<std::uint64_t>(to, bytes.size());
  to.insert(to.end(), bytes.begin(), bytes.end());
}

void put(Bytes& to, timespec moment) {
  append_le<std::int64_t>(to, moment.tv_sec);
  append_le<std::uint32_t>(to, static_cast<std::uint32_t>(moment.tv_nsec));
}

/// What a frame holds. Long runs of bytes are borrowed, not copied: a file's part of a journal can be most of it.
class Payload {
 public:
  template <Plain T>
  void put_number(T number) {
    append_le(own_, number);
  }
  void put(timespec moment) { tare::put(own_, moment); }
  void append(ByteView bytes) { own_.insert(own_.end(), bytes.begin(), bytes.end()); }
  void put(ByteView bytes) {
    static constexpr std::size_t long_run = 256;
    if (bytes.size() < long_run) return tare::put(own_, bytes);
    put_number<std::uint64_t>(bytes.size());
    borrowed_.push_back({own_.size(), bytes});
    borrowed_bytes_ += bytes.size();
  }

  [[nodiscard]] std::uint64_t size() const { return own_.size() + borrowed_bytes_; }
  /// Calls `take` with its bytes, piece by piece.
  template <class Take>
  void for_each_piece(const Take& take) const {
    std::size_t from = 0;
    for (const auto& [at, bytes] : borrowed_) {
      take(ByteView(own_).subspan(from, at - from));
      take(bytes);
      from = at;
    }
    take(ByteView(own_).subspan(from));
  }

 private:
  struct Borrowed {
    std::size_t at;  ///< bytes of its own in front
    ByteView bytes;
  };
  Bytes own_;
  std::vector<Borrowed> borrowed_;
  std::uint64_t borrowed_bytes_ = 0;
};

Payload payload_of(const FieldEdit& field) {
  Payload payload;
  for (const std::string* text : {&field.file, &field.place, &field.field, &field.before, &field.after}) {
    payload.put(as_bytes(*text));
  }
  return payload;
}

Payload payload_of(const FileRecord& file) {
  Payload payload;
  payload.put(as_bytes(file.name));
  payload.put_number(static_cast<std::uint32_t>(file.write_method));
  payload.put_number(static_cast<std::uint32_t>(file.mode));
  for (const std::uint64_t number : {file.inode, file.size_before, file.size_after}) payload.put_number(number);
  payload.put(file.mtime_before);
  payload.put(file.mtime_after);
  payload.put_number<std::uint64_t>(file.swaps.size());
  for (const Swap& swap : file.swaps) {
    payload.put_number(swap.offset);
    payload.put(swap.before);
    payload.put(swap.after);
  }
  payload.put(file.tail);
  for (const std::uint64_t number :
       {file.tail_body, file.witness.offset_before, file.witness.offset_after, file.witness.size}) {
    payload.put_number(number);
  }
  payload.put_number(file.witness.crc);
  return payload;
}

Payload payload_of(const ObjectVersions& versions) {
  Payload payload;
  for (const std::string* text :
       {&versions.tag_before, &versions.tag_after, &versions.kept_before, &versions.kept_after, &versions.upload}) {
    payload.put(as_bytes(*text));
  }
  return payload;
}

Payload header_payload(const Journal& journal) {
  Payload header;
  header.put_number(journal_version);
  header.put_number(static_cast<std::uint32_t>(journal.kind));
  header.put_number(journal.number);
  header.put(journal.when);
  header.put(journal.edited);
  for (const std::string* text : {&journal.id, &journal.origin.user, &journal.origin.host, &journal.origin.command}) {
    header.put(as_bytes(*text));
  }
  return header;
}

/// Frames, sealed as they are written.
class FrameWriter {
 public:
  FrameWriter(const JournalKey& key, const JournalSink& sink) : sink_(sink) {
    if (key.exists()) sealing_.emplace(key.sealing());
    write(as_bytes(magic));
  }

  void add(Tag tag, const Payload& payload) {
    Bytes head;
    append_le<std::uint32_t>(head, static_cast<std::uint32_t>(tag));
    append_le<std::uint64_t>(head, payload.size());
    write(head);
    std::uint32_t crc = crc32(head);
    payload.for_each_piece([&](ByteView piece) {
      crc = crc32_joined(crc, crc32(piece), piece.size());
      write(piece);
    });
    Bytes end;
    append_le(end, crc);
    write(end);
  }

  /// The last frame: of all that stands before it.
  void seal() && {
    Payload seal;
    if (auto sealing = std::exchange(sealing_, std::nullopt)) seal.append(sealing->finish());
    add(Tag::seal, seal);
  }

 private:
  void write(ByteView bytes) {
    if (bytes.empty()) return;
    if (sealing_) sealing_->add(bytes);
    sink_(bytes);
  }

  const JournalSink& sink_;
  std::optional<HmacSha256> sealing_;
};

// ---- reading --------------------------------------------------------------------------------------------------------

/// Takes values off the front; once the bytes run out it gives zeros and stays `short_of_bytes`.
class Reader {
 public:
  explicit Reader(ByteView bytes) : rest_(bytes) {}

  template <Plain T>
  T number() {
    const ByteView bytes = take(sizeof(T));
    return bytes.empty() ? T{} : load_le<T>(bytes.data());
  }
  ByteView bytes() { return take(number<std::uint64_t>()); }
  Bytes copy() {
    const ByteView view = bytes();
    return {view.begin(), view.end()};
  }
  std::string text() { return std::string(as_text(bytes())); }
  timespec moment() {
    timespec moment{};
    moment.tv_sec = number<std::int64_t>();
    moment.tv_nsec = static_cast<long>(number<std::uint32_t>());
    return moment;
  }
  [[nodiscard]] bool short_of_bytes() const { return short_of_bytes_; }
  [[nodiscard]] ByteView rest() const { return rest_; }

 private:
  ByteView take(std::uint64_t size) {
    if (size > rest_.size()) {
      short_of_bytes_ = true;
      rest_ = {};
    }
    if (short_of_bytes_) return {};
    const ByteView taken = rest_.first(static_cast<std::size_t>(size));
    rest_ = rest_.subspan(static_cast<std::size_t>(size));
    return taken;
  }

  ByteView rest_;
  bool short_of_bytes_ = false;
};

struct Frame {
  Tag tag = Tag::end;
  ByteView payload;
};

/// The next frame, or nothing where it is cut short or its checksum is wrong.
std::optional<Frame> take_frame(ByteView& bytes) {
  Reader reader(bytes);
  const auto tag = static_cast<Tag>(reader.number<std::uint32_t>());
  const ByteView payload = reader.bytes();
  const auto crc = reader.number<std::uint32_t>();
  if (reader.short_of_bytes() || crc != crc32(bytes.first(payload.size() + frame_bytes - sizeof crc)))
    return std::nullopt;
  bytes = reader.rest();
  return Frame{tag, payload};
}

FieldEdit field_of(Reader reader) {
  FieldEdit field;
  for (std::string* text : {&field.file, &field.place, &field.field, &field.before, &field.after})
    *text = reader.text();
  return field;
}

FileRecord file_of(Reader reader, const SharedBytes& whole, const std::string& journal) {
  const auto shared = [&](ByteView bytes) {
    return bytes.empty() ? SharedBytes()
                         : whole.part(static_cast<std::size_t>(bytes.data() - whole.data()), bytes.size());
  };
  FileRecord file;
  file.name = reader.text();
  file.write_method = reader.number<std::uint32_t>() == 0 ? WriteMethod::in_place : WriteMethod::rewritten;
  file.mode = reader.number<std::uint32_t>() & 07777;
  for (std::uint64_t* number : {&file.inode, &file.size_before, &file.size_after})
    *number = reader.number<std::uint64_t>();
  file.mtime_before = reader.moment();
  file.mtime_after = reader.moment();
  for (auto count = reader.number<std::uint64_t>(); count > 0 && !reader.short_of_bytes(); --count) {
    Swap& swap = file.swaps.emplace_back();
    swap.offset = reader.number<std::uint64_t>();
    swap.before = shared(reader.bytes());
    swap.after = shared(reader.bytes());
  }
  file.tail = reader.copy();
  for (std::uint64_t* number :
       {&file.tail_body, &file.witness.offset_before, &file.witness.offset_after, &file.witness.size}) {
    *number = reader.number<std::uint64_t>();
  }
  file.witness.crc = reader.number<std::uint32_t>();
  if (reader.short_of_bytes()) throw Error(Status::corrupt, journal + ": a file record is too short");
  require_sane(file, journal);
  return file;
}

ObjectVersions versions_of(Reader reader, const std::string& journal) {
  ObjectVersions versions;
  for (std::string* text :
       {&versions.tag_before, &versions.tag_after, &versions.kept_before, &versions.kept_after, &versions.upload}) {
    *text = reader.text();
    if (text->size() > limits::max_origin_bytes) throw Error(Status::corrupt, journal + ": a version is too long");
  }
  if (reader.short_of_bytes()) throw Error(Status::corrupt, journal + ": an object's versions are too short");
  return versions;
}

/// Journals of version 1 name no edit; the moment of theirs does.
std::string id_by_time(timespec moment) {
  return fmt::format("{:x}-{:x}", moment.tv_sec, moment.tv_nsec);
}

struct Header {
  Journal journal;
  bool has_seal = false;
};

Header header_of(Reader reader, const std::string& name) {
  const auto version = reader.number<std::uint32_t>();
  if (version > journal_version) {
    throw Error(Status::unsupported, fmt::format("{}: written by a newer tare (journal version {})", name, version),
                "use that version of tare");
  }
  Header header{{}, version > 1};
  Journal& journal = header.journal;
  journal.kind = reader.number<std::uint32_t>() == static_cast<std::uint32_t>(JournalKind::undo) ? JournalKind::undo
                                                                                                 : JournalKind::edit;
  journal.number = reader.number<std::uint64_t>();
  journal.when = reader.moment();
  journal.edited = reader.moment();
  journal.id = id_by_time(journal.edited);
  if (!header.has_seal) return header;
  Origin& origin = journal.origin;
  for (std::string* text : {&journal.id, &origin.user, &origin.host, &origin.command}) {
    *text = reader.text();
    if (text->size() > limits::max_origin_bytes) throw Error(Status::corrupt, name + ": its header is too long");
  }
  if (reader.short_of_bytes() || journal.id.empty()) throw Error(Status::corrupt, name + ": its header is too short");
  return header;
}

/// Is the next frame a seal, the last one, over all that stands before it? Nothing where it is none.
std::optional<bool> is_sealed(ByteView before, ByteView rest, const JournalKey& key) {
  const auto frame = take_frame(rest);
  if (!frame || frame->tag != Tag::seal || !rest.empty()) return std::nullopt;
  Sha256Digest seal{};
  if (!key.exists() || frame->payload.size() != seal.size()) return false;
  std::copy(frame->payload.begin(), frame->payload.end(), seal.begin());
  HmacSha256 sealing = key.sealing();
  sealing.add(before);
  return same_digest(sealing.finish(), seal);
}

}  // namespace

std::string_view name(JournalKind kind) {
  return kind == JournalKind::edit ? "edit" : "undo";
}

void write_journal(const Journal& journal, const JournalKey& key, const JournalSink& sink) {
  FrameWriter frames(key, sink);
  frames.add(Tag::header, header_payload(journal));
  for (const FieldEdit& field : journal.fields) frames.add(Tag::field, payload_of(field));
  for (const FileRecord& file : journal.files) {
    frames.add(Tag::file, payload_of(file));
    if (file.versions != nullptr) frames.add(Tag::versions, payload_of(*file.versions));
  }
  Payload end;
  end.put_number<std::uint64_t>(journal.fields.size());
  end.put_number<std::uint64_t>(journal.files.size());
  frames.add(Tag::end, end);
  std::move(frames).seal();
}

std::optional<Journal> decoded(const SharedBytes& whole, const std::string& name, const JournalKey& key) {
  ByteView bytes = whole;
  if (bytes.size() < magic.size() || as_text(bytes.first(magic.size())) != magic) return std::nullopt;
  bytes = bytes.subspan(magic.size());
  const auto header = take_frame(bytes);
  if (!header || header->tag != Tag::header) return std::nullopt;
  auto [journal, has_seal] = header_of(Reader(header->payload), name);
  std::vector<ByteView> files;
  std::map<std::size_t, ByteView> versions;  // by the number of the file that they follow
  while (const auto frame = take_frame(bytes)) {
    if (frame->tag == Tag::field) journal.fields.push_back(field_of(Reader(frame->payload)));
    if (frame->tag == Tag::file) files.push_back(frame->payload);
    if (frame->tag == Tag::versions && !files.empty()) versions[files.size() - 1] = frame->payload;
    if (frame->tag != Tag::end) continue;
    Reader end(frame->payload);
    if (end.number<std::uint64_t>() != journal.fields.size() || end.number<std::uint64_t>() != files.size()) break;
    if (has_seal) {
      const auto sealed = is_sealed(ByteView(whole).first(whole.size() - bytes.size()), bytes, key);
      if (!sealed) break;
      journal.is_own = *sealed;
    }
    for (const ByteView payload : files) journal.files.push_back(file_of(Reader(payload), whole, name));
    for (const auto& [file, payload] : versions) set_versions(journal.files[file], versions_of(Reader(payload), name));
    return journal;
  }
  return std::nullopt;
}

}  // namespace tare
