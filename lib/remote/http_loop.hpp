// Many requests under way at the same time, over few connections: those of HTTP/2 carry many, those of HTTP/1.1 are
// used again by whoever is next.
#pragma once

#include <condition_variable>
#include <memory>
#include <mutex>
#include <thread>
#include <vector>

namespace tare {

/// A thread of its own drives all of them; it begins with the first.
class HttpLoop {
 public:
  HttpLoop();
  ~HttpLoop();
  HttpLoop(const HttpLoop&) = delete;
  HttpLoop& operator=(const HttpLoop&) = delete;

  /// Does what `easy`, a handle of libcurl's, is set up for, whose callbacks are called by the loop's thread meanwhile.
  /// Returns its CURLcode. May be called by several threads at once, of each handle by one.
  int perform(void* easy);

 private:
  struct Transfer {
    void* easy;
    int result = 0;
    bool is_done = false;
  };
  struct Close {
    void operator()(void* multi) const;
  };

  void run();
  /// Of all that wait to begin. False where the loop is to end.
  bool begin_waiting();
  void finish_done();

  std::unique_ptr<void, Close> multi_;
  std::mutex mutex_;
  std::condition_variable has_finished_;
  std::vector<Transfer*> waiting_;
  bool ends_ = false;
  std::thread thread_;
};

}  // namespace tare
