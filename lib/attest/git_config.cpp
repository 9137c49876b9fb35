// Source: git-config(1), git-lfs-config(5), and what git clone, git submodule, git lfs install and gh write.
#include "lib/attest/git_config.hpp"

#include <algorithm>
#include <array>

#include "lib/base/file_path.hpp"
#include "lib/base/glob.hpp"

namespace tare {
namespace {

/// What git, git-lfs and forges' tools write, and no value of which git runs. Sections and keys in small letters,
/// sections without what stands in quotes behind them; `*` stands for any characters.
struct PlainSetting {
  std::string_view section, key, value = "*";
};
constexpr auto plain_settings = std::to_array<PlainSetting>({
    {"advice", "*"},
    {"annex", "uuid"},
    {"annex", "version"},
    {"branch", "description"},
    {"branch", "gh-merge-base"},
    {"branch", "github-pr-owner-number"},
    {"branch", "merge"},
    {"branch", "pushremote"},
    {"branch", "rebase"},
    {"branch", "remote"},
    {"branch", "vscode-merge-base"},
    {"color", "*"},
    {"core", "abbrev"},
    {"core", "autocrlf"},
    {"core", "bare"},
    {"core", "bigfilethreshold"},
    {"core", "compression"},
    {"core", "eol"},
    {"core", "filemode"},
    {"core", "fsmonitor", "false"},
    {"core", "fsmonitor", "true"},
    {"core", "hidedotfiles"},
    {"core", "ignorecase"},
    {"core", "logallrefupdates"},
    {"core", "longpaths"},
    {"core", "precomposeunicode"},
    {"core", "protectntfs"},
    {"core", "quotepath"},
    {"core", "repositoryformatversion"},
    {"core", "safecrlf"},
    {"core", "sharedrepository"},
    {"core", "sparsecheckout"},
    {"core", "sparsecheckoutcone"},
    {"core", "symlinks"},
    {"core", "untrackedcache"},
    {"credential", "helper", ""},
    {"credential", "helper", "cache"},
    {"credential", "helper", "libsecret"},
    {"credential", "helper", "manager"},
    {"credential", "helper", "manager-core"},
    {"credential", "helper", "osxkeychain"},
    {"credential", "helper", "store"},
    {"credential", "helper", "wincred"},
    {"credential", "provider"},
    {"credential", "usehttppath"},
    {"credential", "username"},
    {"extensions", "*"},
    {"fetch", "prune"},
    {"filter", "clean", "git-lfs clean -- %f"},
    {"filter", "process", "git-lfs filter-process"},
    {"filter", "process", "git-lfs filter-process --skip"},
    {"filter", "required"},
    {"filter", "smudge", "git-lfs smudge -- %f"},
    {"filter", "smudge", "git-lfs smudge --skip -- %f"},
    {"gc", "auto"},
    {"http", "postbuffer"},
    {"http", "version"},
    {"index", "*"},
    {"init", "defaultbranch"},
    {"lfs", "access"},
    {"lfs", "batch"},
    {"lfs", "concurrenttransfers"},
    {"lfs", "fetchexclude"},
    {"lfs", "fetchinclude"},
    {"lfs", "locksverify"},
    {"lfs", "repositoryformatversion"},
    {"lfs", "url"},
    {"merge", "conflictstyle"},
    {"pull", "ff"},
    {"pull", "rebase"},
    {"push", "autosetupremote"},
    {"push", "default"},
    {"remote", "fetch"},
    {"remote", "gh-resolved"},
    {"remote", "mirror"},
    {"remote", "partialclonefilter"},
    {"remote", "promisor"},
    {"remote", "prune"},
    {"remote", "push"},
    {"remote", "pushurl"},
    {"remote", "tagopt"},
    {"remote", "url"},
    {"submodule", "active"},
    {"submodule", "branch"},
    {"submodule", "ignore"},
    {"submodule", "update", "checkout"},
    {"submodule", "update", "merge"},
    {"submodule", "update", "none"},
    {"submodule", "update", "rebase"},
    {"submodule", "url"},
    {"user", "email"},
    {"user", "name"},
    {"user", "signingkey"},
});

/// Behind which git looks for a program of that name: `ext::`, that runs what follows.
constexpr std::string_view mark_of_transport = "::";

std::string_view stripped(std::string_view text) {
  constexpr std::string_view blanks_of_git = " \t\r";
  text.remove_prefix(std::min(text.find_first_not_of(blanks_of_git), text.size()));
  return text.substr(0, text.find_last_not_of(blanks_of_git) + 1);
}

std::string in_small_letters(std::string_view text) {
  std::string small(text);
  std::ranges::transform(small, small.begin(),
                         [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; });
  return small;
}

/// Without a comment; quotes may stand around a value, or a part of it.
std::string plain_value(std::string_view value) {
  std::string plain;
  bool is_quoted = false;
  for (const char c : value) {
    if (!is_quoted && (c == '#' || c == ';')) break;
    if (c == '"') is_quoted = !is_quoted;
    if (c != '"') plain += c;
  }
  return std::string(stripped(plain));
}

bool is_plain_setting(std::string_view section, std::string_view key, std::string_view value) {
  const auto is_it = [&](const PlainSetting& plain) {
    return plain.section == section && glob_matches(plain.key, key) && glob_matches(plain.value, value);
  };
  return value.find(mark_of_transport) == value.npos && std::ranges::any_of(plain_settings, is_it);
}

/// What stands behind a section's head in its line; `section` becomes its name without what is quoted in it.
std::string_view behind_head(std::string_view line, std::string& section) {
  bool is_quoted = false;
  std::size_t end = 1;
  for (; end < line.size() && (is_quoted || line[end] != ']'); ++end) {
    if (line[end] == '"') is_quoted = !is_quoted;
    if (line[end] == '\\') ++end;  // what follows ends nothing
  }
  const std::string_view head = line.substr(1, std::min(end, line.size()) - 1);
  section = in_small_letters(head.substr(0, head.find_first_of(" \t\".")));
  return stripped(line.substr(std::min(end + 1, line.size())));
}

/// From git's own folder on; empty for what is in none.
std::string_view path_in_git(std::string_view name) {
  constexpr std::string_view folder = ".git/";
  const std::size_t at = name.find(folder);
  const bool is_inside = at != name.npos && (at == 0 || name[at - 1] == '/');
  return is_inside ? name.substr(at + folder.size()) : std::string_view();
}

}  // namespace

bool is_git_config(std::string_view name) {
  const std::string_view file = file_name(name);
  const bool has_that_name = file == "config" || file == "config.worktree";
  return file == ".gitconfig" || (has_that_name && !path_in_git(name).empty());
}

bool is_git_hook(std::string_view name) {
  const std::string_view path = path_in_git(name);
  const bool is_in_hooks = path.starts_with("hooks/") || path.find("/hooks/") != path.npos;
  return is_in_hooks && !path.ends_with(".sample");
}

std::string foreign_git_setting(std::string_view text) {
  std::string section;
  while (!text.empty()) {
    std::string_view line = text.substr(0, text.find('\n'));
    text.remove_prefix(std::min(line.size() + 1, text.size()));
    line = stripped(line);
    if (line.ends_with('\\')) return "a continued line";
    while (line.starts_with('[')) line = behind_head(line, section);
    if (line.empty() || line.front() == '#' || line.front() == ';') continue;
    const std::size_t equals = std::min(line.find('='), line.size());
    const std::string key = in_small_letters(stripped(plain_value(line.substr(0, equals))));
    const std::string value = plain_value(line.substr(std::min(equals + 1, line.size())));
    if (!is_plain_setting(section, key, value)) return section + "." + key;
  }
  return {};
}

}  // namespace tare
