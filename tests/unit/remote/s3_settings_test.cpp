#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <map>

#include "lib/remote/aws_keys.hpp"
#include "lib/remote/s3_settings.hpp"
#include "tests/catch.hpp"

using namespace tare;

namespace {

class Home {
 public:
  Home() {
    std::filesystem::create_directory(path_ + "/.aws");
    write("credentials",
          "[default]\naws_access_key_id = AKDEFAULT\naws_secret_access_key=sdefault\r\n\n[lab]\n"
          "aws_access_key_id=AKLAB\naws_secret_access_key = s=lab/+\naws_session_token = tlab\n");
    write("config",
          "[default]\nregion = eu-north-1\n# [lab]\n[profile lab]\nregion=us-west-2\nendpoint_url = "
          "http://minio:9000/\ns3 =\n  addressing_style = virtual\n"
          "[profile cluster]\nendpoint_url = http://all:1\nservices = own\n[services own]\ndynamodb =\n"
          "  endpoint_url = http://other:1\ns3 = \n\tendpoint_url = http://s3.own:1/\nsts =\n  endpoint_url = "
          "http://other:2\n"
          "[profile bare]\nservices = none\nendpoint_url = http://all:1\naddressing_style = path\n"
          "[profile nested]\n  s3 =\n    addressing_style = virtual\n  region = eu-south-1\n[profile after]\n  region "
          "= eu-south-2\n");
  }
  ~Home() { std::filesystem::remove_all(path_); }
  Home(const Home&) = delete;
  Home& operator=(const Home&) = delete;

  [[nodiscard]] S3Settings settings(std::map<std::string, std::string> variables) const {
    variables.emplace("HOME", path_);
    const Environment environment = [&](const char* name) {
      const auto found = variables.find(name);
      return found == variables.end() ? std::string() : found->second;
    };
    S3Settings found = read_s3_settings(environment);
    if (found.access_key.empty()) find_aws_keys(read_aws_key_sources(environment), HttpClient(), found);
    return found;
  }

  void write(const char* name, const char* text) const { std::ofstream(path_ + "/.aws/" + name) << text; }

 private:
  static std::string make() {
    std::string pattern = (std::filesystem::temp_directory_path() / "tare-home-XXXXXX").string();
    return mkdtemp(pattern.data());
  }
  std::string path_ = make();
};

}  // namespace

TEST_CASE("a profile's services come before its own endpoint, variables before both, and all can be ignored") {
  const Home home;
  const auto endpoint = [&](std::map<std::string, std::string> variables) { return home.settings(variables).endpoint; };
  CHECK(endpoint({{"AWS_PROFILE", "cluster"}}) == "http://s3.own:1");
  CHECK(endpoint({{"AWS_PROFILE", "bare"}}) == "http://all:1");
  CHECK(endpoint({{"AWS_PROFILE", "cluster"}, {"AWS_ENDPOINT_URL", "http://v:1"}}) == "http://v:1");
  CHECK(endpoint({{"AWS_ENDPOINT_URL", "http://v:1"}, {"AWS_ENDPOINT_URL_S3", "http://v:2"}}) == "http://v:2");
  for (const char* profile : {"cluster", "bare", "lab"}) {
    CHECK(endpoint({{"AWS_PROFILE", profile},
                    {"AWS_ENDPOINT_URL", "http://v:1"},
                    {"AWS_IGNORE_CONFIGURED_ENDPOINT_URLS", "true"}})
              .empty());
  }
}

TEST_CASE("what is set in below s3 is S3's, and what is not is not") {
  const Home home;
  CHECK(home.settings({{"AWS_PROFILE", "lab"}}).style == S3Settings::Style::virtual_host);
  CHECK(home.settings({{"AWS_PROFILE", "bare"}}).style == S3Settings::Style::usual);
  CHECK(home.settings({{"AWS_PROFILE", "nested"}}).style == S3Settings::Style::virtual_host);
  CHECK(home.settings({{"AWS_PROFILE", "nested"}}).region == "eu-south-1");
  CHECK(home.settings({{"AWS_PROFILE", "after"}}).region == "eu-south-2");
}

TEST_CASE("variables win over the files of a profile, and a key pair is taken from one place") {
  const Home home;
  const S3Settings from_files = home.settings({});
  CHECK(from_files.access_key == "AKDEFAULT");
  CHECK(from_files.secret_key == "sdefault");
  CHECK(from_files.session_token.empty());
  CHECK(from_files.region == "eu-north-1");
  CHECK(from_files.endpoint.empty());

  const S3Settings half = home.settings({{"AWS_ACCESS_KEY_ID", "AKHALF"}, {"AWS_REGION", "eu-west-3"}});
  CHECK(half.access_key == "AKDEFAULT");
  CHECK(half.region == "eu-west-3");

  const S3Settings given = home.settings(
      {{"AWS_ACCESS_KEY_ID", "AKENV"}, {"AWS_SECRET_ACCESS_KEY", "senv"}, {"AWS_DEFAULT_REGION", "ap-south-1"}});
  CHECK(given.access_key == "AKENV");
  CHECK(given.secret_key == "senv");
  CHECK(given.region == "ap-south-1");
}

TEST_CASE("another profile is read under its own names in both files") {
  const Home home;
  const S3Settings lab = home.settings({{"AWS_PROFILE", "lab"}});
  CHECK(lab.access_key == "AKLAB");
  CHECK(lab.secret_key == "s=lab/+");
  CHECK(lab.session_token == "tlab");
  CHECK(lab.region == "us-west-2");
  CHECK(lab.endpoint == "http://minio:9000");
  CHECK(lab.style == S3Settings::Style::virtual_host);
  CHECK(home.settings({}).style == S3Settings::Style::usual);
  CHECK(home.settings({{"AWS_DEFAULT_PROFILE", "lab"}}).access_key == "AKLAB");
  CHECK(home.settings({{"AWS_DEFAULT_PROFILE", "lab"}, {"AWS_PROFILE", "default"}}).access_key == "AKDEFAULT");
}

TEST_CASE("the files of a profile are read however the aws command lets them be written") {
  const Home home;
  home.write("credentials",
             "[default] # mine\nAWS_ACCESS_KEY_ID: AKUPPER\nAws_Secret_Access_Key: s\nregion = eu-west-3\n"
             "[lab]\nendpoint_url = http://lab:1\n");
  CHECK(home.settings({}).access_key == "AKUPPER");
  CHECK(home.settings({}).secret_key == "s");
  CHECK(home.settings({}).region == "eu-west-3");
  CHECK(home.settings({{"AWS_PROFILE", "lab"}}).endpoint == "http://lab:1");
  const std::string keys = "aws_access_key_id = AKOWN\n# region = no\naws_secret_access_key = s\nregion = eu-west-1\n";
  for (const auto& [head, profile] : {std::pair("[profile default]", "default"),
                                      {"[profile \"my team\"]", "my team"},
                                      {"[profile  dev]", "dev"},
                                      {"[profile 'dev']", "dev"}}) {
    home.write("credentials", "");
    home.write("config", (head + ("\n" + keys)).c_str());
    CHECK(home.settings({{"AWS_PROFILE", profile}}).access_key == "AKOWN");
    CHECK(home.settings({{"AWS_PROFILE", profile}}).region == "eu-west-1");
  }
  home.write("mine", ("[default]\n" + keys).c_str());
  CHECK(home.settings({{"AWS_SHARED_CREDENTIALS_FILE", "~/.aws/mine"}}).access_key == "AKOWN");
  CHECK(home.settings({{"AWS_CONFIG_FILE", "~/.aws/mine"}}).region == "eu-west-1");
}

TEST_CASE("a profile is found whatever its name is written with") {
  const Home home;
  const std::string keys = "]\naws_access_key_id = AKOWN\naws_secret_access_key = s\n";
  for (const char* name : {"o'neil", "CORP\\alice", "my  team", "\"quoted\"", "a\\"}) {
    home.write("credentials", ("[default]\n[" + (name + keys)).c_str());
    CHECK(home.settings({{"AWS_PROFILE", name}}).access_key == "AKOWN");
  }
}

TEST_CASE("a program's keys come behind those of the credentials file, and before those of the configuration") {
  const Home home;
  home.write(
      "config",
      "[default]\ncredential_process = /bin/echo \"{\\\"AccessKeyId\\\":\\\"AKPROGRAM\\\",\\\"SecretAccessKey\\\":"
      "\\\"s\\\"}\"\naws_access_key_id = AKCONFIG\naws_secret_access_key = s\n");
  CHECK(home.settings({}).access_key == "AKDEFAULT");
  home.write("credentials", "");
  CHECK(home.settings({}).access_key == "AKPROGRAM");
  home.write("config", "[default]\naws_access_key_id = AKCONFIG\naws_secret_access_key = s\n");
  CHECK(home.settings({}).access_key == "AKCONFIG");
}

TEST_CASE("Amazon's hosts are those of the region's own world, and of what is wanted of them") {
  const auto url = [](std::map<std::string, std::string> variables) {
    return s3_url({"runs", "x"}, read_s3_settings([&](const char* name) { return variables[name]; }));
  };
  CHECK(url({{"AWS_REGION", "cn-north-1"}}) == "https://runs.s3.cn-north-1.amazonaws.com.cn/x");
  CHECK(url({{"AWS_REGION", "us-gov-west-1"}}) == "https://runs.s3.us-gov-west-1.amazonaws.com/x");
  CHECK(url({{"AWS_REGION", "eu-west-1"}, {"AWS_USE_DUALSTACK_ENDPOINT", "true"}}) ==
        "https://runs.s3.dualstack.eu-west-1.amazonaws.com/x");
  CHECK(url({{"AWS_REGION", "us-east-1"}, {"AWS_USE_FIPS_ENDPOINT", "True"}}) ==
        "https://runs.s3-fips.us-east-1.amazonaws.com/x");
  CHECK(url({{"AWS_USE_FIPS_ENDPOINT", "true"}, {"AWS_ENDPOINT_URL", "http://own:1"}}) == "http://own:1/runs/x");
  CHECK(aws_service({}, "sts", "cn-north-1") == "https://sts.cn-north-1.amazonaws.com.cn");
  CHECK(aws_service({.is_fips = true}, "portal.sso", "us-east-1") == "https://portal.sso-fips.us-east-1.amazonaws.com");
}

TEST_CASE("nobody's settings are anonymous") {
  const S3Settings nobody = read_s3_settings([](const char*) { return std::string(); });
  CHECK(nobody.access_key.empty());
  CHECK(nobody.region == "us-east-1");
  CHECK_FALSE(nobody.pays);
}

TEST_CASE("who asks pays only where that is said") {
  const auto with = [](const char* value) {
    return read_s3_settings(
        [&](const char* name) { return std::string(std::string_view(name) == "AWS_REQUEST_PAYER" ? value : ""); });
  };
  CHECK(with("requester").pays);
  CHECK_FALSE(with("").pays);
}
