// What of a framework's own its configurations may name, and what they reach through it.
#include <string>

#include "tests/unit/attest/pickled.hpp"
#include "tests/unit/attest/told.hpp"

using namespace tare;
using namespace tare::test;
using namespace std::string_literals;

namespace {

std::string config_of_type(const std::string& path) {
  return pickle_at({"runtime_info", "cfg", "model = dict(type='" + path + "')\n"});
}
std::string composer_class(const std::string& path) {
  return pickle_at({"huggingface", "model", "config", "class", path});
}
std::string plans_with(const std::string& network, const std::string& layer) {
  return R"({"architecture": {"network_class_name": ")" + network + R"(", "arch_kwargs": {"nonlin": ")" + layer +
         R"("}, "_kw_requires_import": ["nonlin"]}})";
}
std::string pipeline_of(const std::string& name, const std::string& preprocessor) {
  return "pipeline:\n  name: " + name + "\npreprocessors:\n  audio:\n    name: " + preprocessor + "\n";
}
const std::string unet = "dynamic_network_architectures.architectures.unet.";
const std::string diarization = "pyannote.audio.pipelines.SpeakerDiarization";

}  // namespace

TEST_CASE("a path that leads through a framework's own package is judged by where it leads") {
  for (const char* type : {"mmengine.Config.fromstring", "mmengine.load", "mmengine.Config", "mmdet.models.torch.Size",
                           "mmengine.utils.misc.Iterable", "mmengine.fileio.io.load"}) {
    INFO(type);
    CHECK(says(told(config_of_type(type)), type));
  }
  CHECK(says(told(config_of_type("mmengine.runner.checkpoint.os.system")), "dangerous"));
  CHECK(says(told(config_of_type("torch.nn.functional.torch.ctypes.CDLL")), "dangerous"));
  CHECK(says(told(plans_with(unet + "torch.os.system", "torch.nn.ReLU"), ".json"), "dangerous"));
  CHECK(says(told(plans_with(unet + "torch.hub.load", "torch.nn.ReLU"), ".json"), unet + "torch.hub.load"));
  CHECK(says(told(plans_with(unet + "PlainConvUNet", "torch.nn.functional.torch.ctypes.CDLL"), ".json"), "dangerous"));
  CHECK(says(told(composer_class("transformers.utils.hub.os.system")), "dangerous"));
  const std::string loader = "pyannote.audio.core.model.pl_load";
  CHECK(says(told(pipeline_of(diarization, loader), ".yaml"), loader));
  CHECK(says(told(pipeline_of(loader, diarization), ".yaml"), loader));
  CHECK(says(told(pipeline_of(diarization, "os.system"), ".yaml"), "dangerous os.system"));
}

TEST_CASE("classes of torch's and of the framework that reads a configuration are plain data in it") {
  for (const char* type : {"mmdet.BN", "mmdet.models.detectors.mask_rcnn.MaskRCNN", "torch.optim.adamw.AdamW", "v1.0",
                           "torch.optim.lr_scheduler.StepLR", "mmengine.hooks.CheckpointHook"}) {
    INFO(type);
    CHECK(told(config_of_type(type)).empty());
  }
  CHECK(told(plans_with(unet + "PlainConvUNet", "torch.nn.modules.conv.Conv3d"), ".json").empty());
  CHECK(told(plans_with("ResNet50", "torch.nn.LeakyReLU"), ".json").empty());
  CHECK(told(composer_class("transformers.models.gpt2.modeling_gpt2.GPT2LMHeadModel")).empty());
  CHECK(told(pipeline_of(diarization, "pyannote.audio.pipelines.utils.PipelineModel"), ".yaml").empty());
  for (const char* key : {"_target_", "class_path", "target"}) {
    INFO(key);
    CHECK(told(pickle_at({"hyper_parameters", "optimizer", key, "torch.optim.AdamW"})).empty());
    CHECK(told("{\""s + key + R"(": "torch.nn.Linear"})", ".json").empty());
    CHECK(told(key + ": torch.nn.modules.linear.Linear\n"s, ".yaml").empty());
    CHECK_FALSE(told("{\""s + key + R"(": "torch.nn.utils.stateless.contextlib"})", ".json").empty());
  }
}

TEST_CASE("a path is parted at its last dot where its framework does so, whatever its parts are called") {
  for (const char* path : {"evil.model", "evil.index", "evil-dir.Model", "transformers_modules.a.mpt-7b.x.Y"}) {
    INFO(path);
    CHECK(says(told(composer_class(path)), path));
    CHECK(says(told(pipeline_of(path, diarization), ".yaml"), path));
    CHECK(says(told(R"({"dataset_reader": {"type": ")"s + path + "\"}}", ".json"), path));
  }
}

TEST_CASE("a target without a dot is a module that Hydra imports, and one behind a dollar sign is code") {
  CHECK(says(told(R"({"_target_": "evil"})", ".json"), "unknown evil.(imported)"));
  CHECK(says(told("_target_: evil\n", ".yaml"), "unknown evil.(imported)"));
  CHECK(says(told(R"({"_target_": "$monai.bundle.scripts.os.system"})", ".json"), "dangerous builtins.eval"));
  CHECK(says(told(R"({"_target_": "@other"})", ".json"), "unknown @other.(referred to)"));
  CHECK(told("_target_: null\n", ".yaml").empty());
}

TEST_CASE("NeMo makes what stands under cls beside params, and a weight of that name is data") {
  CHECK(says(told(R"({"encoder": {"cls": "evil.model", "params": {}}})", ".json"), "unknown evil.model"));
  CHECK(says(told("encoder:\n  cls: os.system\n  params:\n    command: ls\n", ".yaml"), "dangerous os.system"));
  CHECK(told("cls: 0.5\nparams: 3\n", ".yaml").empty());
}

TEST_CASE("words of a user's own under keys that others call things by are plain data in a pickle") {
  for (const char* target : {"sales.amount", "model.layer4", "encoder.layers", "val/loss"}) {
    INFO(target);
    CHECK(told(pickle_at({"hyper_parameters", "target", target})).empty());
    CHECK(told(pickle_at({"search", "target", target}, beside("params", "lr"))).empty());
  }
  for (const char* classes : {"data/classes.txt", "classes.txt", "./classes/imagenet.names"}) {
    CHECK(told(pickle_at({"hyper_parameters", "class_path", classes})).empty());
  }
  CHECK(told(pickle_at({"pipeline", "name", "sklearn.pipeline"})).empty());
  CHECK(says(told(pickle_at({"hyper_parameters", "target", "ldm.models.Encoder"})), "unknown ldm.models.Encoder"));
  CHECK(says(told(pickle_at({"a", "target", "os.system"}, beside("params", "ls"))), "dangerous os.system"));
}
