// stdin, stdout and stderr as they are found: closed, full, or with nobody who reads on.
#pragma once

#include <cstdio>
#include <string_view>

/// Makes sure that no file of ours gets the number of a stream that was closed, so that an answer is never written into
/// a checkpoint, and that a reader who went away is an error like others, never a signal in the middle of an edit.
/// False where that cannot be had.
bool secure_standard_streams();

/// Writes all of it at once; false, with errno, where that fails.
bool write_to(std::FILE* stream, std::string_view text);
