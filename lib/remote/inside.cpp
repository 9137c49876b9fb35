#include "lib/remote/inside.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>
#include <sys/socket.h>

#include <algorithm>
#include <cstring>

namespace tare {
namespace {

using Bytes4 = std::array<std::uint8_t, 4>;
using Bytes16 = std::array<std::uint8_t, 16>;

template <class Bytes>
struct Network {
  Bytes bytes;
  std::size_t bits;  ///< of them, those that count
};

constexpr Network<Bytes4> inside_v4[] = {
    {{0}, 8},                  // this host
    {{10}, 8},                 // private
    {{100, 64}, 10},           // shared by a carrier, and some clouds' metadata
    {{127}, 8},                // loopback
    {{168, 63, 129, 16}, 32},  // Azure's own services
    {{169, 254}, 16},          // link-local, and clouds' metadata
    {{172, 16}, 12},           // private
    {{192, 0, 0}, 24},         // protocol assignments
    {{192, 168}, 16},          // private
    {{198, 18}, 15},           // benchmarks
    {{224}, 4},                // multicast
    {{240}, 4},                // reserved, broadcast
};

constexpr Network<Bytes16> inside_v6[] = {
    {{0}, 96},                             // unspecified, loopback, IPv4-compatible
    {{0x00, 0x64, 0xff, 0x9b, 0, 1}, 48},  // local NAT64
    {{0x01, 0x00}, 64},                    // discard
    {{0xfc}, 7},                           // unique local
    {{0xfe, 0x80}, 10},                    // link-local
    {{0xfe, 0xc0}, 10},                    // site-local, as it was
    {{0xff}, 8},                           // multicast
};

/// Where an address of IPv6 holds one of IPv4: behind these networks.
constexpr Network<Bytes16> wrappers[] = {
    {{0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff}, 96},        // mapped
    {{0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff, 0, 0}, 96},        // translated
    {{0x00, 0x64, 0xff, 0x9b, 0, 0, 0, 0, 0, 0, 0, 0}, 96},  // NAT64
    {{0x20, 0x02}, 16},                                      // 6to4
};

template <class Bytes>
bool is_in(const Network<Bytes>& network, const Bytes& bytes) {
  const std::size_t whole = network.bits / 8;
  if (!std::equal(bytes.begin(), bytes.begin() + static_cast<std::ptrdiff_t>(whole), network.bytes.begin()))
    return false;
  const std::size_t rest = network.bits % 8;
  if (rest == 0) return true;
  const auto mask = static_cast<std::uint8_t>(0xff << (8 - rest));
  return (bytes[whole] & mask) == (network.bytes[whole] & mask);
}

NetAddress mapped(const void* v4, std::uint16_t port) {
  NetAddress address;
  address.bytes = {0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0xff, 0xff};
  std::memcpy(address.bytes.data() + 12, v4, 4);
  address.port = port;
  return address;
}

}  // namespace

std::optional<NetAddress> address_of(const sockaddr& given) {
  if (given.sa_family == AF_INET) {
    sockaddr_in v4{};
    std::memcpy(&v4, &given, sizeof v4);
    return mapped(&v4.sin_addr, ntohs(v4.sin_port));
  }
  if (given.sa_family != AF_INET6) return std::nullopt;
  sockaddr_in6 v6{};
  std::memcpy(&v6, &given, sizeof v6);
  NetAddress address;
  std::memcpy(address.bytes.data(), &v6.sin6_addr, address.bytes.size());
  address.port = ntohs(v6.sin6_port);
  return address;
}

std::optional<NetAddress> address_of(std::string text, std::uint16_t port) {
  if (text.starts_with('[') && text.ends_with(']')) text = text.substr(1, text.size() - 2);
  text = text.substr(0, text.find('%'));
  NetAddress address;
  address.port = port;
  if (::inet_pton(AF_INET6, text.c_str(), address.bytes.data()) == 1) return address;
  in_addr v4{};
  if (::inet_pton(AF_INET, text.c_str(), &v4) == 1) return mapped(&v4, port);
  return std::nullopt;
}

std::string text_of(const NetAddress& address) {
  std::array<char, INET6_ADDRSTRLEN> text{};
  const bool is_v4 = is_in(wrappers[0], address.bytes);
  ::inet_ntop(is_v4 ? AF_INET : AF_INET6, address.bytes.data() + (is_v4 ? 12 : 0), text.data(), text.size());
  return text.data();
}

bool is_inside(const NetAddress& address) {
  for (const auto& wrapper : wrappers) {
    if (!is_in(wrapper, address.bytes)) continue;
    Bytes4 v4{};
    std::copy_n(address.bytes.begin() + static_cast<std::ptrdiff_t>(wrapper.bits / 8), v4.size(), v4.begin());
    return std::any_of(std::begin(inside_v4), std::end(inside_v4),
                       [&](const auto& network) { return is_in(network, v4); });
  }
  return std::any_of(std::begin(inside_v6), std::end(inside_v6),
                     [&](const auto& network) { return is_in(network, address.bytes); });
}

}  // namespace tare
