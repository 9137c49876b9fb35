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
  CHECK(azure_text_to_sign({.account = "myaccount"}, "/mycontainer", "restype=container&comp=metadata", "",
                           "Fri, 26 Jun 2015 23:39:12 GMT") ==
        "GET\n\n\n\n\n\n\n\n\n\n\n\nx-ms-date:Fri, 26 Jun 2015 23:39:12 GMT\nx-ms-version:2020-10-02\n"
        "/myaccount/mycontainer\ncomp:metadata\nrestype:container");
  CHECK(azure_text_to_sign({.account = "a"}, "/c/x%20y", "prefix=a%2Fb%2B", "bytes=0-9", "D")
            .ends_with("\n\nbytes=0-9\nx-ms-date:D\nx-ms-version:2020-10-02\n/a/c/x%20y\nprefix:a/b+"));
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
  CHECK(keyed.header_lines(Span{0, 10}).back().starts_with("Authorization: SharedKey acc:"));
}
