#include "lib/remote/azure.hpp"

#include <map>

#include "lib/base/error.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

AzureSettings settings_of(const std::map<std::string, std::string>& variables) {
  return read_azure_settings([&](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  });
}

}  // namespace

TEST_CASE("what a shared key signs has the form that is published") {
  // Of Microsoft's "Authorize with Shared Key", Get Container Metadata, with today's version and without its timeout.
  CHECK(azure_text_to_sign({.account = "myaccount"}, "/mycontainer", "restype=container&comp=metadata", {},
                           "Fri, 26 Jun 2015 23:39:12 GMT") ==
        "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-version:2020-10-02\n"
        "/myaccount/mycontainer\ncomp:metadata\nrestype:container");
  CHECK(azure_text_to_sign({.account = "a"}, "/c/x%20y", "prefix=a%2Fb%2B", {.range = Span{0, 10}}, "D")
            .ends_with("\n\nbytes=0-9\nx-ms-date:D\nx-ms-version:2020-10-02\n/a/c/x%20y\nprefix:a/b+"));
}

TEST_CASE("a shared key signs what is written: its length, its condition, and all of Azure's own lines, sorted") {
  const Bytes body(11);
  const HttpRequest request{
      .method = "PUT",
      .body = body,
      .lines = {"x-ms-meta-m1: v1", "If-Match: \"0x8\"", "x-ms-blob-type: BlockBlob", "content-type: a/b"}};
  CHECK(azure_text_to_sign({.account = "a"}, "/c/x", "comp=block&blockid=eA%3D%3D", request, "D") ==
        "PUT\n\n\n11\n\na/b\n\n\n\"0x8\"\n\n\n\nx-ms-blob-type:BlockBlob\nx-ms-date:D\nx-ms-meta-m1:v1\n"
        "x-ms-version:2020-10-02\n/a/c/x\nblockid:eA==\ncomp:block");
  const HttpRequest empty{.method = "PUT", .lines = {"if-none-match: *"}};
  CHECK(azure_text_to_sign({.account = "a"}, "/c/x", "", empty, "D") ==
        "PUT\n\n\n\n\n\n\n\n\n*\n\n\nx-ms-date:D\nx-ms-version:2020-10-02\n/a/c/x");
}

TEST_CASE("whoever copies a blob is shown that he may read it, by what the user has") {
  const auto lines = [](AzureSettings settings) {
    settings.account = "acc";
    settings.endpoint = "https://e";
    return azure_copy_lines(settings, "az://box/a b");
  };
  CHECK(azure_access_to_sign({.account = "acc"}, {"box", "a b"}, "2026-01-01T00:00:00Z") ==
        "r\n\n2026-01-01T00:00:00Z\n/blob/acc/box/a b\n\n\n\n2020-10-02\nb\n\n\n\n\n\n");
  const auto keyed = lines({.key = "a2V5", .sas = "sig=x"});
  REQUIRE(keyed.size() == 1);
  CHECK(keyed[0].starts_with("x-ms-copy-source: https://e/box/a%20b?sv=2020-10-02&sr=b&sp=r&se=20"));
  CHECK(keyed[0].find("&sig=") != std::string::npos);
  CHECK(keyed[0].find("a2V5") == std::string::npos);
  CHECK(lines({.sas = "sv=1&sig=x"}) == std::vector<std::string>{"x-ms-copy-source: https://e/box/a%20b?sv=1&sig=x"});
  CHECK(lines({.token = "t"}) ==
        std::vector<std::string>{"x-ms-copy-source: https://e/box/a%20b", "x-ms-copy-source-authorization: Bearer t"});
  CHECK(lines({}) == std::vector<std::string>{"x-ms-copy-source: https://e/box/a%20b"});
}

TEST_CASE("an account, its key and where it is come from variables or from a connection string") {
  const AzureSettings named = settings_of({{"AZURE_STORAGE_ACCOUNT", "acc"}, {"AZURE_STORAGE_KEY", "a2V5"}});
  CHECK(named.endpoint == "https://acc.blob.core.windows.net");
  CHECK(named.key == "a2V5");
  const std::string connection =
      "DefaultEndpointsProtocol=https;AccountName=acc;AccountKey=a2V5PT0=;EndpointSuffix=core.chinacloudapi.cn";
  const AzureSettings connected = settings_of({{"AZURE_STORAGE_CONNECTION_STRING", connection}});
  CHECK(connected.account == "acc");
  CHECK(connected.key == "a2V5PT0=");
  CHECK(connected.endpoint == "https://acc.blob.core.chinacloudapi.cn");
  const AzureSettings other =
      settings_of({{"AZURE_STORAGE_CONNECTION_STRING", connection}, {"AZURE_STORAGE_ACCOUNT", "other"}});
  CHECK(other.key.empty());
  CHECK(other.endpoint == "https://other.blob.core.windows.net");
  CHECK(settings_of({{"AZURE_STORAGE_SAS_TOKEN", "?sv=1&sig=x"}}).sas == "sv=1&sig=x");
}

TEST_CASE("a blob's URL has the signature that is shared, its name in messages has not") {
  const HttpObject blob =
      azure_object({.account = "acc", .sas = "sv=1&sig=x", .endpoint = "https://e"}, "az://box/a b");
  CHECK(blob.url == "https://e/box/a%20b?sv=1&sig=x");
  CHECK(blob.name == "az://box/a b");
  CHECK_THROWS_AS(azure_object({}, "az://box/a"), Error);
  const HttpObject keyed =
      azure_object({.account = "acc", .key = "a2V5", .sas = "sig=x", .endpoint = "https://e"}, "az://box/a");
  CHECK(keyed.url == "https://e/box/a");
  CHECK(keyed.header_lines({.range = Span{0, 10}}).back().starts_with("Authorization: SharedKey acc:"));
}
