// A curve as a picture: SVG by itself, and HTML around it.
#pragma once

#include <string>
#include <string_view>

#include "lib/chart/curve.hpp"

namespace tare::chart {

/// A whole SVG file, light or dark as the reader's screen is.
std::string svg_of(const Curve& curve);

/// A whole HTML file that needs nothing else: the picture, its values under the pointer, zoom with the wheel.
std::string html_of(const Curve& curve);

/// For text between tags and in attributes.
std::string xml_escaped(std::string_view text);

}  // namespace tare::chart
