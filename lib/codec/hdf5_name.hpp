// Names of a state as links of HDF5: '/', '%' and names of dots alone are written as %XX.
#pragma once

#include <string>

namespace tare {

std::string link_name(const std::string& name);
std::string name_of_link(const std::string& link);

}  // namespace tare
