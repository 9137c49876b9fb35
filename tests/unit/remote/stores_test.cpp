#include "lib/remote/stores.hpp"

#include <filesystem>
#include <fstream>
#include <map>

#include "lib/base/error.hpp"
#include "lib/base/files.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

Environment given(std::map<std::string, std::string> variables) {
  return [variables = std::move(variables)](const char* name) {
    const auto found = variables.find(name);
    return found == variables.end() ? std::string() : found->second;
  };
}

}  // namespace

TEST_CASE("a store is told by its scheme, and each scheme is one of a URL") {
  for (const char* path : {"s3://b/x", "gs://b/x", "az://b/x", "hf://a/b/x", "GS://b/x"}) {
    CHECK(store_of(path) != nullptr);
    CHECK(is_url(path));
  }
  for (const char* path : {"https://b/x", "s3:/b/x", "abfs://b/x", "run/x"}) CHECK(store_of(path) == nullptr);
}

TEST_CASE("a path on the hub has a kind, a repository, a revision, and a file") {
  const auto parsed = [](const char* path) {
    const HubPath found = parse_hub(path);
    return found.kind + " " + found.repository + " " + found.revision + " " + found.file;
  };
  CHECK(parsed("hf://me/my-model_1.0") == "models me/my-model_1.0 main ");
  CHECK(parsed("hf://me/model/a b/c.pt") == "models me/model main a b/c.pt");
  CHECK(parsed("hf://me/model@v1/c@2.pt") == "models me/model v1 c@2.pt");
  CHECK(parsed("hf://datasets/me/runs@refs/pr/7/x/y") == "datasets me/runs refs/pr/7 x/y");
  CHECK(parsed("hf://me/model@feature%2Fx/c.pt") == "models me/model feature/x c.pt");
  CHECK(parsed("hf://spaces/me/app@refs/convert/parquet") == "spaces me/app refs/convert/parquet ");
  for (const char* wrong : {"hf://", "hf://me", "hf://me/", "hf://me/..", "hf://datasets/me", "hf://me/a?b/c",
                            "hf://me/a@/c", "hf://a b/c"}) {
    CHECK_THROWS_AS(parse_hub(wrong), Error);
  }
}

TEST_CASE("a file on the hub is asked for where it is resolved, with the token for that host") {
  const StoreSettings settings =
      read_store_settings(given({{"HF_TOKEN", "hf_x"}, {"HF_ENDPOINT", "https://hub.lab/"}}));
  const auto* store = store_of("hf://me/model");
  CHECK(store->object(settings, "hf://me/model@refs/pr/7/a b.pt", "").url ==
        "https://hub.lab/me/model/resolve/refs%2Fpr%2F7/a%20b.pt");
  CHECK(store->object(settings, "hf://datasets/me/d/x", "").url == "https://hub.lab/datasets/me/d/resolve/main/x");
  CHECK(store->object(settings, "hf://me/model/x", "").bearer == "hf_x");
  CHECK(store->is_root("hf://me/model@v1"));
  CHECK_FALSE(store->is_root("hf://me/model/x"));
  CHECK(read_store_settings(given({})).hub.endpoint == "https://huggingface.co");
}

TEST_CASE("the Hub's token is found where its own library finds it, and is one line of a request") {
  const std::string home = std::filesystem::temp_directory_path() / "tare-hub-home";
  for (const char* below : {"/.cache/huggingface", "/xdg/huggingface", "/mine"}) {
    std::filesystem::create_directories(home + below);
    std::ofstream(home + below + "/token") << "hf_" << below << "\n";
  }
  const auto token = [&](std::map<std::string, std::string> variables) {
    variables.emplace("HOME", home);
    return read_hub_settings(given(std::move(variables))).token;
  };
  CHECK(token({}) == "hf_/.cache/huggingface");
  CHECK(token({{"XDG_CACHE_HOME", home + "/xdg"}}) == "hf_/xdg/huggingface");
  CHECK(token({{"XDG_CACHE_HOME", home + "/xdg"}, {"HF_HOME", "~/mine"}}) == "hf_/mine");
  CHECK(token({{"HF_TOKEN_PATH", "~/mine/token"}}) == "hf_/mine");
  CHECK(token({{"HUGGING_FACE_HUB_TOKEN", "hf_old"}}) == "hf_old");
  CHECK(token({{"HUGGING_FACE_HUB_TOKEN", "hf_old"}, {"HF_TOKEN", "hf_new\r\nX-Other: 1\n"}}) == "hf_newX-Other: 1");
  std::filesystem::remove_all(home);
}

TEST_CASE("Google's store is asked with a token, or with the key of somebody who has none") {
  const auto settings = [](std::map<std::string, std::string> variables) {
    return read_google_settings(given(std::move(variables)));
  };
  const S3Settings key = settings({{"GS_ACCESS_KEY_ID", "GOOG1"}, {"GS_SECRET_ACCESS_KEY", "s"}});
  CHECK(key.access_key == "GOOG1");
  CHECK(key.endpoint == "https://storage.googleapis.com");
  const S3Settings both = settings({{"GS_ACCESS_KEY_ID", "GOOG1"}, {"CLOUDSDK_AUTH_ACCESS_TOKEN", "ya29"}});
  CHECK(both.token == "ya29");
  CHECK(both.access_key.empty());
  CHECK(settings({{"STORAGE_EMULATOR_HOST", "localhost:4443/"}}).endpoint == "http://localhost:4443");
  StoreSettings all;
  all.google = both;
  const HttpObject object = store_of("gs://runs/x")->object(all, "gs://my.runs/a b/x.pt", "");
  CHECK(object.url == "https://storage.googleapis.com/my.runs/a%20b/x.pt");
  CHECK(object.bearer == "ya29");
  CHECK(store_of("gs://runs")->is_root("gs://runs/"));
}

TEST_CASE("another address of Google's store is one that gcloud takes, with its API behind it or without") {
  const auto endpoint = [](const char* given_as) {
    return read_google_settings(given({{"CLOUDSDK_API_ENDPOINT_OVERRIDES_STORAGE", given_as}})).endpoint;
  };
  CHECK(endpoint("https://storage-lab.p.googleapis.com/storage/v1/") == "https://storage-lab.p.googleapis.com");
  CHECK(endpoint("https://restricted.googleapis.com/") == "https://restricted.googleapis.com");
  CHECK(endpoint("") == "https://storage.googleapis.com");
}

TEST_CASE("Google's tokens come from the file that is named, else from what gcloud left, and no emulator needs that") {
  const auto sources = [](std::map<std::string, std::string> variables) {
    return read_google_key_sources(given(std::move(variables)));
  };
  CHECK(sources({{"GOOGLE_APPLICATION_CREDENTIALS", "/a.json"}}).file == "/a.json");
  CHECK(sources({{"HOME", "/nowhere"}}).file.empty());
  CHECK(sources({{"GCE_METADATA_HOST", "127.0.0.1:8"}}).metadata_url == "http://127.0.0.1:8");
}

TEST_CASE("a role is a profile's or a pod's, and nobody's who has keys in variables") {
  AwsProfile profile{"default", "",
                     "[default]\nrole_arn = r1\nsource_profile = base\nmfa_serial = m\n[profile p]\nrole_arn = r2\n"
                     "web_identity_token_file = /t\n"};
  const auto pod =
      given({{"AWS_ROLE_ARN", "r3"}, {"AWS_WEB_IDENTITY_TOKEN_FILE", "/pod"}, {"AWS_REGION", "eu-west-1"}});
  CHECK(read_aws_role(given({}), profile).arn == "r1");
  CHECK(read_aws_role(given({}), profile).wants_code);
  CHECK(read_aws_role(pod, profile).arn == "r1");  // as the aws command has it
  CHECK(read_aws_role(given({{"AWS_ACCESS_KEY_ID", "a"}, {"AWS_SECRET_ACCESS_KEY", "s"}}), profile).arn.empty());
  profile.name = "p";
  CHECK(read_aws_role(given({}), profile).token_file == "/t");
  CHECK(read_aws_role(pod, profile).token_file == "/pod");
  profile.name = "other";
  CHECK(read_aws_role(given({}), profile).arn.empty());
  CHECK(read_aws_role(pod, profile).arn == "r3");
  CHECK(read_aws_role(pod, profile).token_file == "/pod");
  CHECK(read_aws_role(pod, profile).service == "https://sts.eu-west-1.amazonaws.com");
  profile.credentials = "[other]\nrole_arn = r4\nsource_profile = base\n";
  CHECK(read_aws_role(pod, profile).arn == "r4");
}
