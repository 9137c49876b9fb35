// [P7]: the n-th allocation fails, for every n, in the whole library (this program's operator new is not the library's,
// so malloc itself is replaced).
#pragma once

#include <cstdint>
#include <functional>
#include <limits>
#include <string>

namespace tare::test {

/// Gives its status.
using Call = std::function<int32_t()>;

/// Whose allocations fail. libhdf5 does not survive a failed one of its own (it frees twice, and stays broken): there
/// only those of libtare, of its module and of the C++ library may.
enum class Whose { everyones, ours };

struct Attempt {
  bool failed;  ///< an allocation did
  int32_t status;
  long living;  ///< allocations made and not freed
  long open;    ///< descriptors opened and not closed
};

/// Runs `call` with its n-th allocation failing, if it has as many.
Attempt attempt(long n, const Call& call);

/// So for the first, the second ... until the call gets through. Until then it must give status 3, and leave nothing
/// behind but what a library keeps once for the next time.
void fail_everywhere(const std::string& name, const Call& call, Whose whose = Whose::everyones);

/// The same for a call that may give `status`, as it does where memory suffices, in spite of the failure. Of
/// a call with more allocations than `most_in_turn` a sample of the others fails.
void fail_everywhere_or_give(int32_t status, const std::string& name, const Call& call,
                             long most_in_turn = std::numeric_limits<long>::max());

}  // namespace tare::test
