// What frameworks import, run or write because of where a text stands: in pickles as well as in JSON and YAML.
#include <string>
#include <vector>

#include "tests/unit/attest/pickled.hpp"
#include "tests/unit/attest/told.hpp"
#include "tests/unit/container/archive_writer.hpp"
#include "tests/unit/container/image.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

namespace {

std::string mmengine(const std::string& source) {
  return pickle_at({"message_hub", "runtime_info", "cfg", source});
}

/// What is told of a text in an archive of no framework.
std::string told_as_member(const std::string& name, const std::string& text) {
  ArchiveWriter archive;
  archive.add(name, bytes_of(text));
  archive.finish();
  return told(std::string(as_text(archive.bytes())));
}

const std::string loader = "ctorch.storage\n_load_from_bytes\n";
const std::string list_of_bytes = "(K\x63K\x6fK\x73K\x0al";

}  // namespace

TEST_CASE("bytes that are computed on loading and unpickled then are dangerous, and bytes that were read are not") {
  const std::string computed[] = {
      loader + "c_codecs\nencode\n" + long_text_op("\xe6\xbd\xa3") + long_text_op("utf-16-le") + "\x86R\x85R",
      loader + "c_codecs\nencode\n" + long_text_op("plain") + long_text_op("cp037") + "\x86R\x85R",
      loader + "c_codecs\nencode\n" + "C\5plain" + long_text_op("zlib") + "\x86R\x85R",
      loader + "cbuiltins\nbytearray\n" + list_of_bytes + "\x85R\x85R",
      loader + "cbuiltins\nbytes\n(K\x63K\x6ft\x85R\x85R",
      loader + "cbuiltins\nbytes\n" + long_text_op("plain") + long_text_op("utf-16-le") + "\x86R\x85R",
      "cnumpy.random._pickle\n__generator_ctor\n(C\1." + loader + "tR",
      "ctorch._tensor\n_rebuild_from_type\n(" + loader + "Nc_codecs\nencode\n" + long_text_op("x") + "\x85R\x85}tR",
  };
  for (const std::string& call : computed) {
    INFO(call);
    CHECK(says(told("\x80\3" + call + "."), "dangerous pickle.loads"));
  }
  const std::string words = long_text_op("words\xc2\xa0of");
  const std::string read[] = {loader + "C\x0dwords of text\x85R",
                              loader + "c_codecs\nencode\n" + words + long_text_op("latin1") + "\x86R\x85R",
                              loader + "cbuiltins\nbytearray\nC\5plain\x85R\x85R"};
  for (const std::string& call : read) {
    CHECK((told("\x80\3" + call + ".").find("dangerous") == std::string::npos));
  }
}

TEST_CASE("an extra state whose bytes are computed on loading is told, and one that is read is not") {
  const std::string computed = "cio\nBytesIO\n(cbuiltins\nbytearray\n" + list_of_bytes + "\x85RtR";
  const std::string read = "cio\nBytesIO\n(C\1.tR";
  const auto state = [](const std::string& value) {
    return "\x80\3}" + long_text_op("fc._extra_state") + value + "s.";
  };
  CHECK(says(told(state(computed)), "computed on loading"));
  CHECK((told(state(read)).find("computed on loading") == std::string::npos));
}

TEST_CASE("what a pickle's settings name for a loader to call is judged as in JSON") {
  CHECK(says(told(pickle_at({"hyper_parameters", "cfg", "_target_", "os.system"})), "dangerous os.system"));
  CHECK(says(told(pickle_at({"hyper_parameters", "cfg", "target", "evil.Model"})), "unknown evil.Model"));
  const std::string node =
      "comegaconf.nodes\nAnyNode\n)\x81}" + long_text_op("_val") + long_text_op("os.system") + "sb";
  CHECK(says(told("\x80\2}" + long_text_op("_target_") + node + "s."), "dangerous os.system"));
  CHECK(says(told(pickle_at({"a", R"({"py/reduce": [{"py/function": "os.system"}]})"})), "dangerous os.system"));
  for (const char* harmless : {"accuracy", "model.safetensors", "the best of all", "en-de"}) {
    CHECK(told(pickle_at({"hyper_parameters", "target", harmless})).empty());
  }
  CHECK(told(pickle_at({"a", R"({"lr": 0.1, "betas": [0.9, 0.98]})"})).empty());
}

TEST_CASE("mmengine's configuration is data where it assigns literals, and Python where it does more") {
  const std::string written = R"(auto_scale_lr = dict(base_batch_size=16, enable=False)
default_scope = 'mmdet'
model = dict(
    type='ResNet',
    norm=dict(type='mmdet.BN', eps=1e-05),
    scale=(
        1333,
        -800,
    ),
    more={
        'a.b': [None, True, 'it\'s (not) a call'],
    })
optim = dict(type='torch.optim.adamw.AdamW')
name = '''two
lines'''
)";
  CHECK(told(mmengine(written)).empty());
  for (const char* more :
       {"import os\n", "x = __import__('os').system('ls')\n", "x = dict(exec('1'))\n", "dict = exec\n", "x = 1; y()\n",
        "x = f'{exec(1)}'\n", "x = '{{$A:b}}'\n", "x = [1or exec('1')]\n", "_base_ = 'other.py'\n", "x = '\n'\n",
        "x = dict(type='os\\x2esystem')\n", "x: f() = 1\n"}) {
    INFO(more);
    CHECK(says(told(mmengine(written + more)), "dangerous builtins.exec"));
  }
  CHECK(says(told(mmengine("custom_imports = dict(imports=['evil.mod'])\n")), "evil.mod.(imported)"));
  CHECK(says(told(mmengine("default_scope = 'evil'\n")), "evil.registry.(imported)"));
  CHECK(says(told(mmengine("hooks = [dict(type='os.system', command='ls')]\n")), "dangerous os.system"));
  CHECK(says(told(mmengine("hooks = [dict(type='os.' 'system')]\n")), "dangerous os.system"));
  CHECK(says(told(pickle_at({"meta", "cfg", "exec('1')"})), "dangerous builtins.exec"));
  CHECK(says(told(pickle_at({"meta", "config", "exec('1')"})), "dangerous builtins.exec"));
  CHECK(told(pickle_at({"meta", "notes", "exec('1')"})).empty());
}

TEST_CASE("a class that Composer, pyannote, nnU-Net or Tango imports by a text is judged, and their own is not") {
  const auto composer = [](const std::string& path) {
    return pickle_at({"state", "integrations", "huggingface", "model", "config", "class", path});
  };
  CHECK(says(told(composer("evil.Model")), "unknown evil.Model"));
  CHECK(told(composer("transformers.models.bert.modeling_bert.BertForMaskedLM")).empty());
  const auto pyannote = [](const std::string& module) {
    return pickle_at({"pyannote.audio", "architecture", "module", module}, beside("class", "Net"));
  };
  CHECK(says(told(pyannote("evil")), "unknown evil.Net"));
  CHECK(told(pyannote("pyannote.audio.models.segmentation")).empty());
  const auto pipeline = [](const std::string& name) {
    return "version: 3.1.0\npipeline:\n  name: " + name + "\n  params:\n    embedding: a/b\n";
  };
  CHECK(says(told(pipeline("evil.Pipeline"), ".yaml"), "unknown evil.Pipeline"));
  CHECK(told(pipeline("pyannote.audio.pipelines.SpeakerDiarization"), ".yaml").empty());
  const auto plans = [](const std::string& network, const std::string& layer) {
    return R"({"architecture": {"network_class_name": ")" + network +
           R"(", "arch_kwargs": {"stages": 6, "conv_op": ")" + layer + R"("}, "_kw_requires_import": ["conv_op"]}})";
  };
  const std::string own = "dynamic_network_architectures.architectures.unet.PlainConvUNet";
  CHECK(told(plans(own, "torch.nn.modules.conv.Conv3d"), ".json").empty());
  CHECK(says(told(plans("evil.Net", "torch.nn.modules.conv.Conv3d"), ".json"), "unknown evil.Net"));
  CHECK(says(told(plans(own, "evil"), ".json"), "evil.(imported)"));
  CHECK(says(told(R"({"dataset_reader": {"type": "evil.Reader"}})", ".json"), "unknown evil.Reader"));
  CHECK(says(told(R"({"steps": {"a": {"type": "evil.Step"}}})", ".json"), "unknown evil.Step"));
  CHECK(told(R"({"dataset_reader": {"type": "snli"}, "model": {"type": "basic_classifier"}})", ".json").empty());
  CHECK(told(R"({"columns": {"type": "evil.Reader"}})", ".json").empty());
}

TEST_CASE("a tokenizer's files that Composer would write outside its folder, or as code, are told") {
  const auto tokenizer = [](const std::string& file, const std::string& ending) {
    return pickle_at({"huggingface", "tokenizer", file, "file_extension", ending});
  };
  for (const char* file : {"../../evil", "/tmp/evil", "sub/vocab"}) {
    CHECK(says(told(tokenizer(file, ".txt")), "its loader writes a file "s + file + ".txt"));
  }
  for (const char* file : {"evil", "evil.py"}) {
    CHECK(says(told(tokenizer(file, ".py")), "its loader writes a file evil.py"));
  }
  CHECK(told(tokenizer("tokenizer_config.json", ".json")).empty());
  CHECK(told(tokenizer("evil.py", ".txt")).empty());  // as evil.py.txt
  CHECK(told(pickle_at({"huggingface", "tokenizer", "meta/llama", "use_fast", "True"})).empty());
}

TEST_CASE("what MONAI and fairseq evaluate is judged, and arithmetic and references are data") {
  const auto monai = [](const std::string& text) { return R"({"bundle_root": ".", "x": [")" + text + R"("]})"; };
  for (const char* text : {"$__import__('os').system('ls')", "$import os", "$from os import system"}) {
    CHECK(says(told(monai(text), ".json"), "dangerous builtins.eval"));
    const std::string line = "bundle_root: .\nx: \"" + std::string(text) + "\"\n";
    CHECK(says(told(line, ".yaml"), "dangerous builtins.eval"));
  }
  CHECK(says(told("bundle_root: .\nx: $[{\n  'a': f()}]\n", ".yaml"), "dangerous builtins.eval"));
  CHECK(told(monai("$@bundle_root + '/models'"), ".json").empty());
  CHECK(told("bundle_root: .\nx: $@bundle_root + '/models'\ny: f(x)\n", ".yaml").empty());
  CHECK(told(R"-({"merges": ["$f (x)", "$import os"]})-", ".json").empty());
  const auto layers = [](const std::string& text) { return pickle_at({"cfg", "model", "conv_feature_layers", text}); };
  CHECK(says(told(layers("__import__('os').system('ls')")), "dangerous builtins.eval"));
  CHECK(told(layers("[(512, 10, 5)] + [(512, 3, 2)] * 4 + [(512,2,2)]")).empty());
  const auto library = [](const std::string& path) {
    return R"({"session_options": {"custom_ops_library": ")" + path + R"("}})";
  };
  CHECK(says(told(library("./evil"), ".json"), "dangerous ctypes.CDLL"));
  CHECK(told(library(""), ".json").empty());
}

TEST_CASE("texts of which Python or git runs lines are told by their names, and others of these names are not") {
  const auto is_told = [](const std::string& name, const std::string& text) {
    return !told_as_member(name, text).empty();
  };
  CHECK(is_told("evil.pth", "# paths\nimport os; os.system('ls')\n"));
  CHECK_FALSE(is_told("paths.pth", "../lib\nimportant\n"));
  CHECK(is_told(".git/hooks/post-checkout", "ls\n"));
  CHECK(is_told(".git/modules/a/hooks/post-checkout", "ls\n"));
  CHECK_FALSE(is_told(".git/hooks/post-checkout.sample", "words\n"));
  CHECK(is_told(".allennlp_plugins", "evil\n"));
  CHECK_FALSE(is_told(".allennlp_plugins", "allennlp_models\n"));
}
