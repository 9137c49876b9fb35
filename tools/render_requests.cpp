#include <fmt/format.h>

#include "lib/base/text.hpp"
#include "tools/render.hpp"

using namespace tare;

std::string render_requests(const std::vector<PlannedRequest>& requests) {
  if (requests.empty()) return {};
  std::string text;
  std::uint64_t sent = 0;
  std::uint64_t copied = 0;
  for (const PlannedRequest& request : requests) {
    text += fmt::format("{} {}  {}", request.method, escaped(request.object), escaped(request.meaning));
    if (request.sent > 0) text += fmt::format("; {} bytes are sent", request.sent);
    if (request.copied > 0) text += fmt::format("; {} bytes", request.copied);
    text += '\n';
    sent += request.sent;
    copied += request.copied;
  }
  return text +
         fmt::format(
             "{} requests that change something, {} bytes sent, {} bytes copied in the store\n"
             "(a journal also has the words of the command and what uploads are called: some bytes more or fewer)\n",
             requests.size(), sent, copied);
}
