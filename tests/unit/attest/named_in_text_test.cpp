// What JSON and YAML name for a loader to call, however it is written; and that texts which only look so are texts.
#include <algorithm>

#include "lib/base/limits.hpp"
#include "lib/base/text.hpp"
#include "tests/unit/attest/told.hpp"
#include "tests/unit/container/archive_writer.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

namespace {

const std::string call = "cos\nsystem\n(Vls\ntR.";
const std::string call_4 = "\x80\4\x8c\2os\x94\x8c\6system\x94\x93\x94\x8c\2ls\x85R."s;

std::string json_of(const std::string& key, const std::string& value) {
  return R"({"loss_scale": 2.0, ")" + key + R"(": )" + value + "}";
}

}  // namespace

TEST_CASE("what an object of JSON names for its loader is judged as a pickle's names are") {
  const std::string objects[] = {
      json_of("_target_", R"("os.system")"),
      json_of("model", R"({"optim": [{"_target_": "os.system", "command": "ls"}]})"),
      json_of(R"(\u005ftarget_)", R"("os\u002esystem")"),
      json_of("class_path", R"("os.system")"),
      json_of("_component_", R"("os.system")"),
      json_of("model", R"({"target": "os.system", "params": {"command": "ls"}})"),
      json_of("x", R"({"py/object": "os.system"})"),
      json_of("x", R"({"py/reduce": [{"py/function": "os.system"}, {"py/tuple": ["ls"]}]})"),
      json_of("x", R"({"py/reduce": [{"py/type": "os.system"}, {"py/tuple": ["ls"]}]})"),
      json_of("x", R"({"py/reduce": [{"py/mod": "os/os.system"}, {"py/tuple": ["ls"]}]})"),
      json_of("x", R"({"json://{\"py/reduce\": [{\"py/type\": \"os.system\"}, {\"py/tuple\": [\"ls\"]}]}": 1})"),
      json_of("x", R"({"json://{\"json://{\\\"py/object\\\": \\\"os.system\\\"}\": 1}": 1})"),
      json_of("nested", R"("{\"_target_\": \"os.system\"}")"),
      json_of("nested", R"("[{\"nested\": \"{\\\"_target_\\\": \\\"os.system\\\"}\"}]")"),
      R"({"__module__": "os", "__class__": "system", "__loader__": "FunctionNode"})",
      json_of(":serialized:", "\"" + base64(call_4) + "\""),
      json_of(":serialized:", "\"" + base64(call) + "\""),
      json_of(":serialized:", "\"! " + base64(call).insert(3, "\\n") + "\""),
  };
  for (const std::string& object : objects) {
    INFO(object);
    CHECK(says(told(object, ".json"), "dangerous os.system"));
  }
  const std::string evaluated = R"-({"py/repr": "os/os.system('ls')"})-";
  CHECK(says(told(json_of("x", evaluated), ".json"), "dangerous builtins.eval"));
  CHECK(says(told(json_of("_target_", R"("${a}.${b}")"), ".json"), "unknown ${a}.${b}"));
  const std::string auto_map =
      json_of("auto_map", R"({"AutoModel": "modeling.Evil", "AutoTokenizer": ["a/b--c.D", null]})");
  CHECK(says(told(auto_map, ".json"), "unknown modeling.Evil"));
  CHECK(says(told(auto_map, ".json"), "unknown a/b--c.D"));
}

TEST_CASE("of a list of texts each names something, wherever it stands in it") {
  for (const char* list : {R"(["one.A", "two.B", "three.C"])", R"({"T": ["one.A", "two.B"], "M": "three.C"})",
                           R"({"T": "one.A", "M": ["two.B", null, "three.C"]})"}) {
    const std::string all = told(json_of("auto_map", list), ".json");
    for (const char* name : {"unknown one.A", "unknown two.B", "unknown three.C"}) CHECK(says(all, name));
  }
}

TEST_CASE("a text names as much as a file may cost, and is refused where it names more") {
  const auto many = [](std::size_t count, const std::string& line) {
    std::string text;
    for (std::size_t i = 0; i < count; ++i) text += line;
    return text;
  };
  const auto json = [&](std::size_t count) { return "[" + many(count, R"({"_target_":"a.b"},)") + "1]"; };
  CHECK_FALSE(says(told(many(1'000, "_target_ = os.system\n"), ".cfg"), "asks for more than"));
  CHECK((told(many(110'000, "_target_ = os.system\n"), ".cfg").find("asks for more than") != std::string::npos));
  CHECK_FALSE(says(told(json(1'000), ".json"), "asks for more than"));
  CHECK((told(json(95'000), ".json").find("asks for more than") != std::string::npos));
}

TEST_CASE("texts in which nothing is packed are texts, however empty they look") {
  for (const char* text :
       {"            ", "============", "------------", "AAAAAAAAAAAA", "            ====", "!!!!!!!!!!!!!!"}) {
    INFO(text);
    CHECK(told(json_of("note", "\"" + std::string(text) + "\""), ".json").empty());
  }
}

TEST_CASE("a module and a class that are no texts name nothing, and an escaped blank is one") {
  CHECK(told(R"({"__module__": "os", "__class__": 3})", ".json").empty());
  CHECK(told(R"({"__module__": 3, "__class__": "system"})", ".json").empty());
  CHECK(told(R"({"__class__": "system"})", ".json").empty());
  CHECK(says(told(R"({"__module__": "os", "__class__": "system"})", ".json"), "dangerous os.system"));
  CHECK(says(told(R"(_target_:\u0020os.system)", ".cfg"), "dangerous os.system"));
  CHECK(!says(told(R"(_target_:\u001fos.system)", ".cfg"), "os.system"));
}

TEST_CASE("classes that Hugging Face's configurations name are judged, but those of its own libraries") {
  const auto adapter = [](const std::string& library, const std::string& name) {
    return told(R"({"peft_type": "LORA", "auto_mapping": {"base_model_class": ")" + name + R"(", "parent_library": ")" +
                    library + R"("}})",
                ".json");
  };
  CHECK(adapter("transformers.models.llama.modeling_llama", "LlamaModel").empty());
  CHECK(says(adapter("os", "system"), "dangerous os.system"));
  CHECK(says(adapter("evil_model", "Evil"), "unknown evil_model.Evil"));
  CHECK(says(adapter("transformers_of_mine", "LlamaModel"), "unknown transformers_of_mine.LlamaModel"));

  const auto module = [](const std::string& type) {
    return told(R"([{"idx": 0, "name": "0", "path": "", "type": ")" + type + R"("}])", ".json");
  };
  CHECK(module("sentence_transformers.models.Transformer").empty());
  CHECK(says(module("os.system"), "dangerous os.system"));
  CHECK(says(module("custom_st.Transformer"), "unknown custom_st.Transformer"));

  const auto pipeline = [](const std::string& parts) {
    return told(R"({"_diffusers_version": "0.30.0", "requires_safety_checker": true, )" + parts + "}", ".json");
  };
  CHECK(pipeline(R"("_class_name": "StableDiffusionPipeline", "unet": ["diffusers", "UNet2DConditionModel"],
                    "text_encoder": ["transformers", "CLIPTextModel"], "feature_extractor": [null, null],
                    "safety_checker": ["stable_diffusion", "StableDiffusionSafetyChecker"])")
            .empty());
  CHECK(says(pipeline(R"("_class_name": "DDPMPipeline", "unet": ["os", "system"])"), "dangerous os.system"));
  CHECK(says(pipeline(R"("_class_name": ["my_pipeline", "Mine"])"), "unknown my_pipeline.Mine"));
  const auto modular = [&](const std::string& part, const std::string& hint) {
    return pipeline(R"("_class_name": "StableDiffusionXLModularPipeline", "unet": )" + part.substr(0, part.size() - 1) +
                    R"(, {"repo": "x", "type_hint": )" + hint + "}]");
  };
  CHECK(says(modular("[null, null]", R"(["os", "system"])"), "dangerous os.system"));
  CHECK(says(modular(R"(["os", "system"])", "null"), "dangerous os.system"));
  CHECK(modular("[null, null]", R"(["diffusers", "UNet2DConditionModel"])").empty());
  CHECK(told(R"({"unet": ["os", "system"], "loss_scale": 2.0})", ".json").empty());  // nobody's pipeline

  const auto setting = [](const std::string& key, const std::string& value) {
    return told("{\"" + key + "\": " + value + "}", ".json");
  };
  for (const char* key :
       {"activation_function", "activation_fn", "sbert_ce_default_activation_function", "tokenizer_class"}) {
    INFO(key);
    CHECK(says(setting(key, R"("evil.pkg.Run")"), "unknown evil.pkg.Run"));
    CHECK(says(setting("sentence_transformers", "{\""s + key + R"(": "os.system"})"), "dangerous os.system"));
    CHECK(!setting(key, R"("torch.utils.collect_env.main")").empty());
    CHECK(!setting(key, R"("torch.nn.modules.module.warnings")").empty());
    for (const char* own :
         {"torch.nn.modules.activation.Tanh", "torch.nn.modules.linear.Identity", "torch.nn.Sigmoid", "gelu_new",
          "LlamaTokenizerFast", "sentence_transformers.models.tokenizer.WhitespaceTokenizer"}) {
      CHECK(setting(key, "\""s + own + "\"").empty());
    }
  }
  const std::string types = R"({"query_0": "evil.pkg.Loader", "doc_0": "sentence_transformers.models.Dense"})";
  CHECK(says(told(R"({"structure": {"query": ["query_0"]}, "types": )" + types + "}", ".json"),
             "unknown evil.pkg.Loader"));
  CHECK(setting("types", types).empty());

  CHECK(says(told(R"({"custom_pipelines": {"x": {"impl": "pair.Pipeline", "pt": ["AutoModel"]}}})", ".json"),
             "unknown pair.Pipeline"));
}

TEST_CASE("a kernel of the Hub for attention is told at any depth, and a way of the library's own is not") {
  for (const char* key : {"_attn_implementation", "attn_implementation", "_attn_implementation_internal"}) {
    INFO(key);
    for (const char* kernel : {"evil/kernel", "evil/kernel@main:fn", "paged|evil/kernel@v1", "evil/kernel:fn"}) {
      const std::string value = "\""s + kernel + "\"";
      CHECK(says(told(json_of(key, value), ".json"), "unknown "s + kernel));
      CHECK(says(told(json_of("text_config", "{\""s + key + "\": " + value + "}"), ".json"), "unknown "s + kernel));
      CHECK(says(told(json_of(key, "{\"vision_config\": " + value + "}"), ".json"), "unknown "s + kernel));
    }
    for (const char* own : {"sdpa", "eager", "flash_attention_2", "paged|sdpa"}) {
      CHECK(told(json_of(key, "\""s + own + "\""), ".json").empty());
    }
    CHECK(told(json_of(key, "null"), ".json").empty());
  }
  CHECK(told(json_of("name", R"("owner/repo")"), ".json").empty());
}

TEST_CASE("the core of Megatron that PEFT imports is told where it is configured, and is another's") {
  const auto adapter = [](const std::string& core, const std::string& config) {
    return told(R"({"peft_type": "LORA", "megatron_config": )" + config + R"(, "megatron_core": )" + core + "}",
                ".json");
  };
  CHECK(says(adapter(R"("evil.mod")", R"({"a": 1})"), "unknown evil.mod"));
  CHECK(!adapter(R"("os")", "{}").empty());
  CHECK(adapter(R"("megatron.core")", R"({"a": 1})").empty());
  CHECK(adapter(R"("evil.mod")", "null").empty());
  CHECK(adapter("null", R"({"a": 1})").empty());
}

TEST_CASE("base64 is read as each of its readers would, whatever stands between its digits") {
  const auto judged = [](const std::string& text) {
    INFO(text);
    return says(told(json_of(":serialized:", "\"" + text + "\""), ".json"), "dangerous os.system");
  };
  const std::string unframed = call_4.substr(2);  // no protocol is told, and no line is in it
  for (const std::string& pickle : {call, call_4, unframed}) {
    const std::string digits = base64(pickle);
    for (const std::string passed_over : {"=", "==", "=====", "-", "_", " ", "[", "{", "!"}) {
      for (std::size_t at = 0; at <= 8; ++at) CHECK(judged(std::string(digits).insert(at, passed_over)));
    }
    CHECK(judged(digits + "==== and more"));
  }
  // What would be '+' and '/' of the usual alphabet.
  const std::string both = "\x80\4\x8c\4\xf0\x9f\xbf\xbf\x8c\5\xcf\xbf\xcf\xbe\x2e"s + call_4.substr(2);
  std::string for_urls = base64(both);
  REQUIRE(for_urls.find('+') != std::string::npos);
  REQUIRE(for_urls.find('/') != std::string::npos);
  CHECK(judged(for_urls));
  std::ranges::replace(for_urls, '+', '-');
  std::ranges::replace(for_urls, '/', '_');
  CHECK(judged(for_urls));
}

TEST_CASE("an archive in base64 is as good as its members, torch's or not, and ends where its readers say") {
  const auto judged = [](const std::string& digits) {
    return told(json_of(":serialized:", "\"" + digits + "\""), ".json");
  };
  const auto zip_of = [](const std::string& name, const std::string& member) {
    ArchiveWriter zip;
    zip.add(name, bytes_of(member));
    zip.add("last", Bytes(2));
    zip.finish();
    return std::string(as_text(zip.bytes()));
  };
  for (const std::string name : {"archive/data.pkl", "data.pkl", "model/policy.pth"}) {
    INFO(name);
    CHECK(says(judged(base64(zip_of(name, call))), "dangerous os.system"));
  }
  // Whose zip ends with a group that is filled up: readers that stop there have it, others what stands behind it, too.
  const auto a_name = [&](std::size_t size) { return zip_of(std::string(size, 'a'), call); };
  for (std::size_t size = 1; size <= 3; ++size) {
    const std::string digits = base64(a_name(size));
    INFO(digits);
    if (digits.ends_with("=")) {
      CHECK(says(judged(digits + std::string(limits::max_end_record_distance * 2, 'A')), "dangerous os.system"));
    }
  }
  CHECK(says(judged(base64("PK\x03\x04" + std::string(40, 'x'))), "zip"));
}

TEST_CASE("a Keras model alone in JSON is judged as in its archive") {
  const std::string lambda = R"({"class_name": "Sequential", "config": {"layers": [{"class_name": "Lambda"}]}})";
  CHECK(says(told(lambda, ".json"), "keras.layers.Lambda"));
  const std::string dense = R"({"class_name": "Sequential", "config": {"layers": [{"class_name": "Dense"}]}})";
  CHECK(told(dense, ".json").empty());
}

TEST_CASE("an object of Keras in a list, or in an object of any other, is judged as one alone") {
  const std::string lambda = R"({"class_name": "__lambda__", "config": {"value": "x"}})";
  const std::string system = R"({"module": "os", "class_name": "system", "config": {"command": "ls"}})";
  for (const std::string object : {"[@]", R"({"m": @})", R"([{"m": [1, {"n": @}]}])"}) {
    const std::size_t at = object.find('@');
    CHECK(says(told(std::string(object).replace(at, 1, lambda), ".json"), "dangerous marshal.loads"));
    CHECK(says(told(std::string(object).replace(at, 1, system), ".json"), "dangerous os.system"));
  }
  CHECK(told(R"({"m": {"class_name": "Mine", "loss_scale": 2.0}})", ".json").empty());
}

TEST_CASE("a name under which a class of Keras is said to be registered counts where it is another package's") {
  const auto dense = [](const std::string& registered) {
    return told(
        R"({"module": "keras.layers", "class_name": "Dense", "config": {}, "registered_name": )" + registered + "}",
        ".json");
  };
  CHECK(says(dense(R"("evil_pkg>Mine")"), "unknown evil_pkg.Mine"));
  CHECK(says(dense(R"("Custom>Mine")"), "unknown Custom.Mine"));
  for (const char* own : {"null", R"("Dense")", R"("keras>Dense")", R"("keras.src>Dense")", R"("tf_keras>Dense")"}) {
    INFO(own);
    CHECK(dense(own).empty());
  }
}

TEST_CASE("a module that jsonpickle imports is named, whatever it takes of it") {
  const auto named = [](const std::string& value) {
    return told(json_of("x", R"({"py/mod": ")" + value + "\"}"), ".json");
  };
  CHECK(says(named("evil/evil"), "unknown evil.(imported)"));
  CHECK(says(named("evil.mod/evil.mod.Run"), "unknown evil.mod.mod.Run"));
  CHECK(says(named("os/os.path.os.system"), "dangerous os.path.os.system"));
  CHECK(says(named("evil/ no name"), "unknown evil.(imported)"));
  CHECK(named("evil").empty());
}

TEST_CASE("a program of torch.export is told, in an archive and alone") {
  const std::string program = R"({"graph_module": {"graph": {"nodes": []}}, "schema_version": {"major": 8}})";
  ArchiveWriter zip;
  zip.add("m/models/model.json", bytes_of(program));
  zip.finish();
  CHECK(says(told(std::string(as_text(zip.bytes())), ".pt2"), "is a program of torch.export"));
  CHECK(says(told(program, ".json"), "is a program of torch.export"));
}

TEST_CASE("an index that names files outside its folder is told") {
  for (const std::string path : {"/tmp/a.bin", "../a.bin", "b/../../a.bin", R"(..\\a.bin)"}) {
    CHECK(says(told(R"({"weight_map": {"w": ")" + path + R"("}, "loss_scale": 2.0})", ".json"), "outside its folder"));
  }
  CHECK(told(R"({"weight_map": {"w": "b/a..bin"}, "loss_scale": 2.0})", ".json").empty());
}

TEST_CASE("files outside its folder are told whatever stands before them in an index, each once and 64 at most") {
  const auto index = [](const std::string& map) {
    return told(R"({"loss_scale": 2.0, "weight_map": {)" + map + "}}", ".json");
  };
  const std::string line = "names a file outside its folder: ";
  for (const std::string before : {"1", "null", "[]", R"("model.bin")"}) {
    CHECK(says(index(R"("a": )" + before + R"(, "b": "/tmp/b.bin")"), line + "/tmp/b.bin\n"));
  }
  const auto times = [&](const std::string& all) {
    std::size_t count = 0;
    for (std::size_t at = all.find(line); at != all.npos; at = all.find(line, at + 1)) ++count;
    return count;
  };
  CHECK(times(index(R"("a": "/tmp/b.bin", "b": "/tmp/b.bin")")) == 1);
  for (const std::size_t files : {63U, 64U, 65U}) {
    std::string map;
    for (std::size_t i = 0; i < files; ++i) {
      const std::string number = std::to_string(i);
      map += (i == 0 ? "" : ", ") + ("\"" + number + R"(": "/tmp/)" + number + "\"");
    }
    CHECK(times(index(map)) == std::min<std::size_t>(files, 64));
  }
}

TEST_CASE("words of JSON that nobody would call are words") {
  const std::string plain[] = {
      json_of("target", R"("torch.float16")"),
      json_of("type", R"("model.safetensors")"),
      json_of("chat_template", R"("{% if a %}{{ b }}{% endif %}")"),
      json_of("chat_template", R"("[INST] {\"a\": 1} [/INST]")"),
      json_of("_target_", "null"),
      json_of("id", "\"" + base64("no pickle, a text of some length") + "\""),
      json_of("sha256", R"("6a2da20943931e9834fc12cfe5bb47bbd9ae43489a30726962b576f4e3993b50")"),
      json_of("note", R"("costs\nmore\nthan it should")"),
      json_of("note", "\"" +
                          base64("c\xcb"
                                 "b\xbd\xab\nmore words\nand some") +
                          "\""),
  };
  for (const std::string& text : plain) {
    INFO(text);
    CHECK(told(text, ".json").empty());
  }
}

TEST_CASE("escapes hide no name in a text that is read by its words") {
  const std::string named[] = {R"("class\u005fpath" = "os.system")",
                               R"("\U0000005ftarget_" = "os\u002Esystem")",
                               R"("\x5ftarget_" = "os.sys\x74em")",
                               "{\"\\u005ftarget_\": \"os.system\"}\n{\"a\": 1}\n",
                               "// with comments\n{\"\\u005ftarget_\": \"o\\u0073.system\"}",
                               R"(auto_map = "a\/b--os.system")"};
  for (const std::string& text : named) {
    for (const char* ending : {".toml", ".jsonl", ".ini"}) {
      INFO(text << " in " << ending);
      CHECK(says(told(text, ending), "os.system"));
    }
  }
  const std::string plain[] = {R"({"text": "caf\u00e9 \u5f target"})" + "\n{}\n"s,
                               R"(x = "\\u005ftarget_ = os.system")", R"(path = "C:\users\x5")", "ends = '\\"};
  for (const std::string& text : plain) {
    INFO(text);
    CHECK(!says(told(text, ".toml"), "os.system"));
  }
}

TEST_CASE("YAML in whose quotes characters are written by their numbers is told: a name could be one of them") {
  for (const char* text : {"a: \"caf\\xe9\"\n", "a: \"caf\\u00e9\"\n", "- \"\\U0001f600\"\n", "a: \"\\n\\x41\"\n"}) {
    INFO(text);
    CHECK(says(told(text, ".yaml"), "is YAML with escapes"));
  }
  for (const char* text : {"a: \"line\\n\"\n", "a: \"C:\\\\xa\"\n", "a: 'caf\\xe9'\n", "a: b\\"}) {
    INFO(text);
    CHECK(told(text, ".yaml").empty());
  }
}

TEST_CASE("what YAML names for its loader is told, and what could hide a name") {
  const std::string named[] = {"_target_: os.system\n", "model:\n  - {lr: 1, '_target_': 'os.system'}\n",
                               "class_path: \"os.system\"\ninit_args: {command: ls}\n",
                               "model:\n  target: os.system\n  params:\n    command: ls\n"};
  for (const std::string& text : named) {
    INFO(text);
    CHECK(says(told(text, ".yaml"), "dangerous os.system"));
  }
  const std::string hidden[] = {"a: !!python/object/apply:os.system [ls]\n",
                                "a: !!%70ython/object/apply:os.system [ls]\n",
                                "%TAG !e! tag:yaml.org,2002:pyth\n---\na: !e!on/object/apply:os.system [ls]\n",
                                "a: !<tag:yaml.org,2002:python/object/apply:os.system> [ls]\n",
                                "- !new:os.system [ls]\n",
                                "[!apply:os.system [ls]]\n",
                                "\"\\x5ftarget_\": os.system\n",
                                "? _target_\n: os.system\n",
                                "a: &k _target_\n*k : os.system\n",
                                "_target_: >-\n  os.system\n",
                                "_target_: &n os.system\n",
                                "_target_: ${a}.${b}\n"};
  for (const std::string& text : hidden) {
    INFO(text);
    CHECK(!told(text, ".yaml").empty());
    CHECK(told(text, ".yaml").find("not a checkpoint") == std::string::npos);
  }
}

TEST_CASE("texts of other formats are gone through by their words, but those for people") {
  for (const std::string text :
       {"\xef\xbb\xbf{\"_target_\": \"os.system\"}", "{\"a\": 1}\n{\"_target_\": \"os.system\"}\n",
        "[model]\n_target_ = \"os.system\"\n", "_target_: os.system\n"}) {
    INFO(text);
    CHECK(says(told(text, ".cfg"), "dangerous os.system"));
    CHECK(told(text, ".md").find("os.system") == std::string::npos);
  }
}

TEST_CASE("YAML without calls is text") {
  for (const std::string text :
       {"lr: 1.0e-5\nname: Hello! World\nnote: not this ! one\n", "counter: !!int 3\nwords: [!!str a, b]\n",
        "my_target_: os.system\n", "path: C:\\files\ntarget: os.system\n"}) {
    INFO(text);
    CHECK(told("a: b\n" + text, ".yaml").find("YAML") == std::string::npos);
    CHECK(told("a: b\n" + text, ".yaml").find("names") == std::string::npos);
  }
}

TEST_CASE("a tag of YAML is told, whatever lone exclamation marks stand before it") {
  const std::string tag = "model: !!python/object/apply:os.getcwd []\n";
  CHECK(says(told(tag, ".yaml"), "YAML"));
  CHECK(says(told("note: ! that\nmore: [! this, ! those]\n" + tag, ".yaml"), "YAML"));
  CHECK(told("note: ! that\nmore: [! this, ! those]\n", ".yaml").empty());
}
