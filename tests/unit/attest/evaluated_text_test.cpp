// Texts that frameworks evaluate as Python: MONAI's expressions, fairseq's settings, mmengine's configurations.
#include <string>

#include "lib/attest/logging_config.hpp"
#include "lib/attest/python_expression.hpp"
#include "tests/unit/attest/pickled.hpp"
#include "tests/unit/attest/told.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

TEST_CASE("an expression calls nothing where brackets only group, and something where it does so without one") {
  for (const char* values :
       {"(1, 2)", "[(512, 10, 5)] + [(512, 3, 2)] * 4", "@a::b#0 + '/models'", "{'a': (1), 'b': [2]}", "5 (USD)",
        "(pwd)/x", "torch.float32", "1 if @a else -1.5e3", "'f(x)'", "None"}) {
    INFO(values);
    CHECK(reach_of(values) == Reach::values);
  }
  for (const char* attributes : {"monai.bundle.scripts.os.system", "torch.load", "@net.backbone", "1.0.real"}) {
    INFO(attributes);
    CHECK(reach_of(attributes) == Reach::attributes);
  }
  for (const char* calls : {"f(x)", "f (x)", "f\\\n(x)", "(f)(x)", "1 if f('x') else 2", "1or(f('x'))", "C['id']",
                            "@a[0]", "import os", "\nimport os", "\\nimport os", "#\nimport os", "[C for C.a in b]",
                            "f'{x}'", "1.0.real.f('x')", "{1: f()}", "lambda: 1", "'a'.join('b')", "1 @f('x')"}) {
    INFO(calls);
    CHECK(reach_of(calls) == Reach::calls);
  }
}

TEST_CASE("a MONAI expression that runs without a bracket, in any part of a bundle, is dangerous") {
  const auto in_bundle = [](const std::string& item) { return R"({"bundle_root": ".", "run": [)" + item + "]}"; };
  for (const char* item : {R"("$\nimport evil")", R"("$#\nimport evil")",
                           R"("$[C['id'] for C.__class_getitem__ in [monai.bundle.scripts.os.system]]")",
                           R"({"_target_": "builtins.map", "func": "$monai.bundle.scripts.os.system"})"}) {
    INFO(item);
    CHECK(says(told(in_bundle(item), ".json"), "dangerous builtins.eval"));
  }
  for (const char* bundle :
       {R"-({"finalize": ["$f('x')"]})-", R"-({"train::trainer": "$f('x')"})-", R"-({"device": "$f('x')"})-",
        R"-({"_meta_": {}, "x": "$f('x')"})-", R"-({"version": "$f('x')", "monai_version": "1.3"})-"}) {
    INFO(bundle);
    CHECK(says(told(bundle, ".json"), "dangerous builtins.eval"));
    CHECK(says(told(bundle, ".yaml"), "dangerous builtins.eval"));
  }
  CHECK(says(told("run:\n- x\n- $f('x')\n", ".yaml"), "dangerous builtins.eval"));
  CHECK(says(told("train::trainer: $f('x')\n", ".yaml"), "dangerous builtins.eval"));
  CHECK(says(told("bundle_root: .\nrun:\n- \"$\\nimport evil\"\n", ".yaml"), "dangerous builtins.eval"));
  CHECK(says(told(R"({"bundle_root": ".", "run": "%other.json::x"})", ".json"), "unknown %other.json::x.(included)"));
  CHECK(says(told("bundle_root: .\nrun: '%other.json::x'\n", ".yaml"), "unknown other.json::x.(included)"));
}

TEST_CASE("dollar signs in files that are no bundle of MONAI's are plain data") {
  for (const char* text :
       {R"-({"device": "cuda", "note": "$5 (five)"})-", R"-({"device": "cuda", "path": "$HOME/x", "cmd": "$(pwd)/x"})-",
        R"-({"train": 1, "model": {"vocab": {"$(": 1}, "merges": ["$ (", "$ import"]}})-",
        R"-({"run": {"id": 1}, "device": "cuda", "tags": ["$price (usd)"]})-",
        R"-({"device": "cuda:0", "results": [{"text": "$\\frac{1}{2}(x)$"}]})-"}) {
    INFO(text);
    CHECK(told(text, ".json").empty());
  }
  for (const char* text :
       {"train:\n  epochs: 3\nnotes: $5 (USD)\n", "run: train.sh\nout: $(pwd)/x\nargs: ${HOME}/a (b)\n",
        "train: true\nhydra:\n  run:\n    dir: ${oc.env:X}/a\nx: ${now:%Y} (b)\n",
        "train: x\ntext: \"$f(x)$ is odd\"\n"}) {
    INFO(text);
    CHECK(told(text, ".yaml").empty());
  }
  CHECK(told(pickle_at({"run", "prompt", "$twenty (dollars)"})).empty());
}

TEST_CASE("every setting that fairseq evaluates is judged, and those that call nothing are data") {
  const auto setting = [](const std::string& key, const std::string& value) {
    return told(pickle_at({"cfg", "model", key, value}));
  };
  for (const char* key : {"adam_betas", "adamax_betas", "encoder_layers", "pretrained", "left_pad_source", "wer_args",
                          "character_filters", "xformers_att_config", "pipeline_balance", "conv_feature_layers"}) {
    INFO(key);
    CHECK(says(setting(key, "__import__('os').system('ls')"), "dangerous builtins.eval"));
    for (const char* data : {"(0.9, 0.98)", "None", "True", "[(1, 5, 2)]*3 # x", "[(512, 10, 5, 'same')]", "relu",
                             "models/resnet50.pth"}) {
      CHECK(setting(key, data).empty());
    }
  }
  CHECK(says(setting("adam_betas", "${model.betas}"), "unknown ${model.betas}.(interpolated)"));
  CHECK(told(pickle_at({"model", "pretrained", "resnet (v2)"})).empty());
}

TEST_CASE("an algorithm of Composer's is evaluated, so that anything but a call with literals is dangerous") {
  const auto algorithm = [](const std::string& text) {
    const std::string pair = "(" + long_text_op("Name") + "}" + long_text_op("repr") + long_text_op(text) + "st";
    return told("\x80\2}" + long_text_op("state") + "}" + long_text_op("algorithms") + "]" + pair + "ass.");
  };
  CHECK(says(algorithm("Ghost.__init__.__globals__['os'].system('ls')"), "dangerous builtins.eval"));
  CHECK(says(algorithm("Ghost(x=f())"), "dangerous builtins.eval"));
  for (const char* text : {"Ghost()", "LabelSmoothing(smoothing=0.1,target='x.y')", "<Ghost object at 0x7f1e>"}) {
    INFO(text);
    CHECK(algorithm(text).empty());
  }
}

TEST_CASE("a model of Composer's that asks for code of the Hub is told") {
  const auto content = [](const std::string& asks) {
    const std::string config = "}" + long_text_op("trust_remote_code") + asks + "s" + beside("_name_or_path", "a/b");
    return told("\x80\2}" + long_text_op("huggingface") + "}" + long_text_op("model") + "}" + long_text_op("config") +
                "}" + long_text_op("content") + config + "ssss.");
  };
  CHECK(says(content("\x88"), "unknown a/b.(code of the Hub)"));
  CHECK(content("\x89").empty());
  CHECK(content("N").empty());
}

TEST_CASE("Python that people wrote for mmengine is data where it assigns literals, with comments and arithmetic") {
  for (const char* line :
       {"# notes\n", "x = 1  # more\r\n", "x = float('inf')\n", "x = dict(y=inf, z=nan)\n", "x = b'a'\n",
        "x = 5 * 2 - 1\n", "{'a': [1, true]}\n", "custom_imports = dict(imports=['mmpretrain.models'])\n",
        "default_scope = 'opencompass'\n"}) {
    INFO(line);
    CHECK(told(pickle_at({"meta", "config", line})).empty());
  }
  for (const char* words : {"configs/transformer.yaml", "default", "resnet-50", "a: 1\nb: x y\n", "C:/a"}) {
    INFO(words);
    CHECK(told(pickle_at({"meta", "cfg", words})).empty());
  }
  for (const char* line :
       {"# -*- coding: utf-7 -*-\n", "x = 1 # c\rimport os\n", "inf = 'os.system'\n", "@f\nclass X: 1\n", "import os",
        "float = exec\n", "x = float(f())\n", "for x in y: z", "x = 1 * f()\n"}) {
    INFO(line);
    CHECK(says(told(pickle_at({"meta", "cfg", line})), "dangerous builtins.exec"));
  }
  CHECK(says(told(pickle_at({"meta", "cfg", "runner_type = 'evil.Runner'\n"})), "unknown evil.Runner"));
}

TEST_CASE("arguments in settings of Python's logging are evaluated, so that those that call something are dangerous") {
  const auto with = [](const std::string& option) {
    return names_in_logging_config("[handlers]\nkeys=h\n[handler_h]\nlevel=INFO\n" + option + "\n");
  };
  for (const char* option : {"args=(__import__('os').system('ls'),)", "ARGS : (f(),)", "args=(1,\n  f())", "args=%(x)s",
                             "kwargs={'a': f()}", "args=(os.environ,)", "  args=(f(),)", "args=(1,\n\n# x\n  f())",
                             "  args=(1,\n  x=2,\n  f())", "class=f()", "class=(lambda: 1)"}) {
    INFO(option);
    REQUIRE(with(option).size() == 1);
    CHECK(with(option).front().name == "eval");
  }
  CHECK(with("class=os.system").front().module == "os");
  CHECK(with("class=evil.Handler").front().name == "Handler");
  for (const char* option :
       {"args=(sys.stdout,)", "args=('a.log', 'w')", "args=()", "class=StreamHandler",
        "args=", "class=logging.handlers.RotatingFileHandler", "format=%(message)s (x)", "kwargs={'a': 1}"}) {
    INFO(option);
    CHECK(with(option).empty());
  }
  CHECK(says(told("[handler_h]\nargs=(f(),)\n", ".conf"), "dangerous builtins.eval"));
}

TEST_CASE("what onnxruntime-genai would load as a provider's library is told but where its own is named") {
  const auto provider = [](const std::string& name, const std::string& key, const std::string& path) {
    return told(
        R"({"session_options": {"provider_options": [{")" + name + "\": {\"" + key + "\": \"" + path + "\"}}]}}",
        ".json");
  };
  CHECK(says(provider("qnn", "backend_path", "./evil.so"), "dangerous ctypes.CDLL"));
  CHECK(says(provider("qnn", "backend_path", "./libQnnHtp.so"), "dangerous ctypes.CDLL"));
  CHECK(says(provider("NvTensorRtRtx", "trt_extra_plugin_lib_paths", "./evil.so"), "dangerous ctypes.CDLL"));
  CHECK(provider("qnn", "backend_path", "QnnHtp.dll").empty());
  CHECK(provider("cuda", "enable_cuda_graph", "0").empty());
}

TEST_CASE("AllenNLP's configurations name classes by plain texts and packages, and other files with steps do not") {
  CHECK(
      says(told(R"({"dataset_reader": {"tokenizer": "evil.Tokens"}, "model": "evil.Model"})", ".json"), "evil.Model"));
  CHECK(says(told(R"({"dataset_reader": "evil.Reader"})", ".json"), "unknown evil.Reader"));
  CHECK(says(told(R"({"steps": {"a": {"type": "train"}}, "include_package": ["evil"]})", ".json"), "evil.(imported)"));
  for (const char* data :
       {R"({"dataset_reader": {"type": "allennlp.data.dataset_readers.SnliReader"}, "path": "data/a.JSON"})",
        R"({"dataset_reader": {"type": "snli"}, "model": {"type": "allennlp_models.pair.models.ESIM"}})",
        R"({"step": 10, "config": {"optimizer": {"type": "a.B"}}})", R"({"steps": [{"type": "a.B"}]})",
        R"({"steps": 10, "args": {"type": "gpt.small"}})"}) {
    INFO(data);
    CHECK(told(data, ".json").empty());
  }
  CHECK(told(pickle_at({"data_loader", "x", "type", "a.B"})).empty());
}

TEST_CASE("nnssl's plans of a checkpoint name classes as those of nnU-Net do") {
  const std::string adaptation = R"({"architecture_plans": {"arch_class_name": "evil.Net",
      "arch_kwargs": {"a": "os.system"}, "arch_kwargs_requiring_import": ["a"]}})";
  CHECK(says(told(adaptation, ".json"), "dangerous os.system"));
  CHECK(says(told(adaptation, ".json"), "unknown evil.Net"));
  CHECK(told(R"({"architecture_plans": {"arch_class_name": "ResEncL"}})", ".json").empty());
}
