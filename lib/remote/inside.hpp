// Addresses that only somebody inside a machine or its network can reach: where a server on the internet must not lead.
#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>

struct sockaddr;

namespace tare {

/// An address as IPv6 has it: those of IPv4 are ::ffff:a.b.c.d.
struct NetAddress {
  std::array<std::uint8_t, 16> bytes{};
  std::uint16_t port = 0;

  bool operator==(const NetAddress&) const = default;
};

/// Nothing for a family that is neither IPv4 nor IPv6.
std::optional<NetAddress> address_of(const sockaddr& given);
/// Of an address as text: "127.0.0.1", "fe80::1%eth0", "[::1]". Nothing for a name.
std::optional<NetAddress> address_of(std::string text, std::uint16_t port);

/// "10.0.0.1", "fe80::1"
std::string text_of(const NetAddress& address);

/// Is it of the machine itself, of a private network, link-local (where clouds answer for their metadata), shared,
/// multicast, reserved, or unspecified; also where IPv6 only wraps an address of IPv4 (mapped, NAT64, 6to4)?
bool is_inside(const NetAddress& address);

}  // namespace tare
