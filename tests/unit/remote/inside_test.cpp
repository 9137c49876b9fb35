#include "lib/remote/inside.hpp"

#include <arpa/inet.h>
#include <netinet/in.h>

#include <new>
#include <utility>

#include "tests/catch.hpp"

using namespace tare;

TEST_CASE("addresses of the machine, its networks and its cloud are inside, however they are written") {
  for (const char* inside : {"127.0.0.1",
                             "127.255.255.254",
                             "0.0.0.0",
                             "10.0.0.1",
                             "10.255.255.255",
                             "172.16.0.1",
                             "172.31.255.255",
                             "192.168.0.1",
                             "169.254.169.254",
                             "100.64.0.1",
                             "100.100.100.200",
                             "100.127.255.255",
                             "168.63.129.16",
                             "192.0.0.192",
                             "198.18.0.1",
                             "198.19.255.255",
                             "224.0.0.1",
                             "239.1.2.3",
                             "240.0.0.1",
                             "255.255.255.255",
                             "::",
                             "::1",
                             "[::1]",
                             "::127.0.0.1",
                             "::ffff:127.0.0.1",
                             "::ffff:10.1.2.3",
                             "::ffff:169.254.169.254",
                             "::ffff:0:127.0.0.1",
                             "fe80::1",
                             "fe80::1%eth0",
                             "febf::1",
                             "fec0::1",
                             "fc00::1",
                             "fd00:ec2::254",
                             "fdff::1",
                             "ff02::1",
                             "64:ff9b::7f00:1",
                             "64:ff9b::a9fe:a9fe",
                             "64:ff9b:1::1",
                             "2002:7f00:1::",
                             "2002:c0a8:1::1",
                             "100::1"}) {
    INFO(inside);
    const auto address = address_of(inside, 80);
    REQUIRE(address);
    CHECK(is_inside(*address));
  }
}

TEST_CASE("addresses of the internet are not inside, the neighbours of those least of all") {
  for (const char* outside : {"1.1.1.1",         "9.255.255.255",
                              "11.0.0.0",        "100.63.255.255",
                              "100.128.0.0",     "126.255.255.255",
                              "128.0.0.0",       "168.63.129.15",
                              "168.63.129.17",   "169.253.255.255",
                              "169.255.0.0",     "172.15.255.255",
                              "172.32.0.0",      "192.0.1.0",
                              "192.167.255.255", "192.169.0.0",
                              "198.17.255.255",  "198.20.0.0",
                              "223.255.255.255", "::ffff:1.1.1.1",
                              "2606:4700::1111", "fbff::1",
                              "fe00::1",         "64:ff9b::101:101",
                              "2002:101:101::1", "2001:4860:4860::8888"}) {
    INFO(outside);
    const auto address = address_of(outside, 80);
    REQUIRE(address);
    CHECK_FALSE(is_inside(*address));
  }
}

TEST_CASE("the address that a name was looked up to is the one that its text says, with its port") {
  sockaddr_storage given{};
  const auto found = [&] { return address_of(*reinterpret_cast<const sockaddr*>(&given)); };
  for (const auto& [text, is_private] : {std::pair{"10.0.0.1", true}, {"93.184.216.34", false}}) {
    auto& v4 = *new (&given) sockaddr_in{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(8443);
    REQUIRE(inet_pton(AF_INET, text, &v4.sin_addr) == 1);
    REQUIRE(found());
    CHECK(text_of(*found()) == text);
    CHECK(found()->port == 8443);
    CHECK(is_inside(*found()) == is_private);
  }
  for (const auto& [text, is_private] : {std::pair{"fd00:ec2::254", true}, {"2606:4700::1111", false}}) {
    auto& v6 = *new (&given) sockaddr_in6{};
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(443);
    REQUIRE(inet_pton(AF_INET6, text, &v6.sin6_addr) == 1);
    REQUIRE(found());
    CHECK(text_of(*found()) == text);
    CHECK(found()->port == 443);
    CHECK(is_inside(*found()) == is_private);
  }
  given.ss_family = AF_UNIX;
  CHECK_FALSE(found());
}

TEST_CASE("a name is no address, and an address is told as people write it") {
  for (const char* name : {"localhost", "example.com", "", "1.2.3", "0x7f.1", "1.2.3.4.5"})
    CHECK_FALSE(address_of(name, 80));
  CHECK(text_of(*address_of("::ffff:10.0.0.1", 80)) == "10.0.0.1");
  CHECK(text_of(*address_of("fe80::1", 80)) == "fe80::1");
}
