// Whether a file ends as a zip archive does. Readers of zips start there, whatever stands before.
#pragma once

#include "lib/base/source.hpp"

namespace tare {

struct ZipEnding {
  bool is_record = false;     ///< a record of an end reaches to the file's end, with its comment, whatever it says
  bool is_directory = false;  ///< before a record, bytes behind it or not, stands what begins as a directory
};

/// Of the last bytes, in which Python's zipfile looks for a record. No elements look like a directory by chance.
ZipEnding zip_ending(const Source& source);

}  // namespace tare
