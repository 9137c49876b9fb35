// What may be said of an address.
#pragma once

#include <string>
#include <string_view>

namespace tare {

/// As messages show it: without the user's name and password before '@', without the query, which may hold a signature.
std::string shown_url(std::string_view url);

}  // namespace tare
