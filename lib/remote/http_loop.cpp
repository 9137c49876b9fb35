#include "lib/remote/http_loop.hpp"

#include <curl/curl.h>

#include <utility>

#include "lib/base/error.hpp"

namespace tare {
namespace {

constexpr int longest_wait_ms = 1000;  ///< of a loop that nobody wakes

}  // namespace

void HttpLoop::Close::operator()(void* multi) const {
  curl_multi_cleanup(multi);
}

HttpLoop::HttpLoop() {
  static const CURLcode ready = curl_global_init(CURL_GLOBAL_DEFAULT);
  if (ready != CURLE_OK) throw Error(Status::io, std::string("libcurl: ") + curl_easy_strerror(ready));
  multi_.reset(curl_multi_init());
  if (multi_ == nullptr) throw Error(Status::io, "libcurl cannot be started");
}

HttpLoop::~HttpLoop() {
  {
    const std::lock_guard lock(mutex_);
    ends_ = true;
  }
  curl_multi_wakeup(multi_.get());
  if (thread_.joinable()) thread_.join();
}

int HttpLoop::perform(void* easy) {
  Transfer transfer{easy};
  std::unique_lock lock(mutex_);
  if (!thread_.joinable()) thread_ = std::thread([this] { run(); });
  waiting_.push_back(&transfer);
  curl_multi_wakeup(multi_.get());
  has_finished_.wait(lock, [&] { return transfer.is_done; });
  return transfer.result;
}

void HttpLoop::run() {
  while (begin_waiting()) {
    int running = 0;
    curl_multi_perform(multi_.get(), &running);
    finish_done();
    curl_multi_poll(multi_.get(), nullptr, 0, longest_wait_ms, nullptr);
  }
}

bool HttpLoop::begin_waiting() {
  const std::lock_guard lock(mutex_);
  for (Transfer* transfer : std::exchange(waiting_, {})) {
    curl_easy_setopt(transfer->easy, CURLOPT_PRIVATE, transfer);
    if (curl_multi_add_handle(multi_.get(), transfer->easy) == CURLM_OK) continue;
    transfer->result = CURLE_FAILED_INIT;
    transfer->is_done = true;
    has_finished_.notify_all();
  }
  return !ends_;
}

void HttpLoop::finish_done() {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(multi_.get(), &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    CURL* const easy = message->easy_handle;
    const CURLcode result = message->data.result;
    char* data = nullptr;
    curl_easy_getinfo(easy, CURLINFO_PRIVATE, &data);
    curl_multi_remove_handle(multi_.get(), easy);  // the message is gone with it
    auto* const transfer = reinterpret_cast<Transfer*>(data);
    const std::lock_guard lock(mutex_);
    transfer->result = result;
    transfer->is_done = true;
    has_finished_.notify_all();
  }
}

}  // namespace tare
