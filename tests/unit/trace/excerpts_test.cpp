// Lines as trainers' users quote them, in excerpts: what a bar, a prefix or another release puts around them.
#include <sstream>
#include <string>
#include <vector>

#include "tests/catch.hpp"
#include "tests/unit/trace/memory_files.hpp"

using namespace tare;

namespace {

struct Excerpt {
  const char* what;
  const char* text;
  std::vector<std::string> steps;
};

std::string described(const TraceStep& step) {
  std::ostringstream text;
  const auto put = [&](const char* key, const auto& value) {
    if (value) text << (text.tellp() == 0 ? "" : " ") << key << '=' << *value;
  };
  text << std::boolalpha;
  text.precision(16);
  put("step", step.step);
  put("scale", step.scale);
  put("after", step.after);
  put("smoothed", step.smoothed);
  put("overflow", step.overflow);
  put("skipped", step.skipped);
  if (step.fatal) put("fatal", std::optional(step.fatal));
  return text.str();
}

const std::vector<Excerpt> excerpts = {
    {"bars of tqdm and the Hugging Face Trainer's dictionaries stand in one line with DeepSpeed's",
     R"( 14%|#4        | 377/2724 [13:55:57<86:19:20, 132.41s/it]
 14%|#4        | 378/2724 [13:58:09<86:18:35, 132.44s/it][2023-06-07 22:16:00,018] [INFO] [loss_scaler.py:181:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 64, reducing to 32

 14%|#4        | 379/2724 [14:00:21<86:09:52, 132.28s/it][2023-06-07 22:18:11,762] [INFO] [loss_scaler.py:181:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 32, reducing to 16

 14%|#4        | 380/2724 [14:02:33<86:01:24, 132.12s/it]
                                                         
{'loss': 2.5, 'learning_rate': 0.0002, 'epoch': 0.28}
)",
     {"scale=64 after=32 overflow=true", "scale=32 after=16 overflow=true"}},
    {"somebody cut what stands in front of DeepSpeed's line",
     R"(Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768
Rank 0 Skipping step. Attempted loss scale: 32768, reducing to 16384
)",
     {"scale=65536 after=32768 overflow=true", "scale=32768 after=16384 overflow=true"}},
    {"DeepSpeed 0.3 called itself deepscale and told floats",
     R"(  0%|                                      | 9/63645 [00:19<37:53:00,  2.14s/it][2021-06-08 12:02:45,001] [INFO] [stage3.py:2323:_overflow_clean_up] [deepscale] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 16777216.0, reducing to 8388608.0
[2021-06-08 12:02:45,002] [INFO] [timer.py:157:stop] 0/10, SamplesPerSec=1.88
  0%|                                     | 10/63645 [00:21<37:46:42,  2.14s/it][2021-06-08 12:02:47,123] [INFO] [stage3.py:2323:_overflow_clean_up] [deepscale] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 8388608.0, reducing to 4194304.0
)",
     {"scale=16777216 after=8388608 overflow=true", "scale=8388608 after=4194304 overflow=true"}},
    {"a bar that holds losses, in front of a line of ZeRO-2's",
     R"([losses/total_loss: 1.34 | losses/policy_loss: -0.39 | losses/value_loss: 8.65]:  16%|###   | 1044/6400 [1:16:09<1:13:02,  1.23it/s][2023-02-28 20:08:24,113] [INFO] [stage_1_and_2.py:1769:step] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 128.0, reducing to 64.0
[losses/total_loss: 4.35 | losses/policy_loss: -0.03 | losses/value_loss: 21.92]:  16%|###   | 1045/6400 [1:16:09<53:12,  1.68it/s][2023-02-28 20:08:24,338] [INFO] [stage_1_and_2.py:1769:step] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 64.0, reducing to 32.0
)",
     {"scale=128 after=64 overflow=true", "scale=64 after=32 overflow=true"}},
    {"DeepSpeed before 0.8.3 told a hysteresis as a reduction to the same",
     R"([deepscale] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 65536
[deepscale] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 65536, reducing to 32768.0
)",
     {"scale=65536 after=65536 overflow=true", "scale=65536 after=32768 overflow=true"}},
    {"Megatron-DeepSpeed in bf16: a scale of 1, and norms that are nan",
     R"( iteration     5426/  250000 | consumed samples:        43408 | consumed tokens:     88899584 | elapsed time per iteration (ms): 4247.9 | learning rate: 2.999E-04 | global batch size:     8 | loss scale: 1.0 | grad norm: nan | actual seqlen:  2048 | number of skipped iterations:   0 | number of nan iterations:   0 | samples per second: 1.883 | TFLOPs: 78.36 |
 iteration     5427/  250000 | consumed samples:        43416 | consumed tokens:     88915968 | elapsed time per iteration (ms): 4225.8 | learning rate: 2.999E-04 | global batch size:     8 | loss scale: 1.0 | grad norm: nan | actual seqlen:  2048 | number of skipped iterations:   0 | number of nan iterations:   0 | samples per second: 1.893 | TFLOPs: 78.77 |
)",
     {"step=5426 after=1 overflow=false skipped=0", "step=5427 after=1 overflow=false skipped=0"}},
    {"Megatron's BERT: a first report without losses and norm, all of it skipped",
     R"( iteration       10/ 1000000 | consumed samples:           40 | elapsed time per iteration (ms): 356.2 | learning rate: 0.000E+00 | global batch size:     4 | loss scale: 8388608.0 | number of skipped iterations:  10 | number of nan iterations:   0 |
time (ms) | forward-compute: 193.77 | backward-compute: 73.02 | optimizer-unscale-and-check-inf: 50.71 | optimizer: 63.01 | batch-generator: 25.27
 iteration       20/ 1000000 | consumed samples:           80 | elapsed time per iteration (ms): 140.6 | learning rate: 2.020E-08 | global batch size:     4 | lm loss: 1.005022E+01 | sop loss: 8.174902E-01 | loss scale: 32768.0 | grad norm: 217.199 | number of skipped iterations:   8 | number of nan iterations:   0 |
)",
     {"step=10 after=8388608 overflow=true skipped=10", "step=20 after=32768 skipped=8"}},
    {"Apex without a floor, far below float32, with one blank or two",
     R"(Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 8.165126103939127e-202
Gradient overflow.  Skipping step, loss scaler 0 reducing loss scale to 4.082563051969564e-202
Gradient overflow. Skipping step, loss scaler 0 reducing loss scale to 2.041281525984782e-202
)",
     {"after=8.165126103939127e-202 overflow=true", "after=4.082563051969564e-202 overflow=true",
      "after=2.041281525984782e-202 overflow=true"}},
    {"fairseq 0.6 to its end",
     R"(| epoch 027 | loss 6.343 | nll_loss 4.984 | ppl 31.65 | wps 164346 | ups 0.4 | wpb 364096 | bsz 11907 | num_updates 10198 | lr 0.000626286 | gnorm 0.390 | clip 0% | oom 0 | loss_scale 0.500 | wall 23080 | train_wall 21383
| epoch 027 | valid on 'valid' subset | valid_loss 8.30118 | valid_nll_loss 7.15366 | valid_ppl 142.39 | num_updates 10198 | best 4.46376
| WARNING: overflow detected, setting loss scale to: 0.25
| WARNING: overflow detected, setting loss scale to: 0.125
| WARNING: overflow detected, setting loss scale to: 0.0001220703125
Traceback (most recent call last):
  File "train.py", line 352, in <module>
    raise FloatingPointError((
FloatingPointError: Minimum loss scale reached (0.0001). Your loss is probably exploding. Try lowering the learning rate, using gradient clipping or increasing the batch size.
)",
     {"step=10198 after=0.5", "after=0.25 overflow=true", "after=0.125 overflow=true",
      "after=0.0001220703125 overflow=true", "overflow=true fatal=true"}},
    {"fairseq's meters tell a mean of scales, which is none's",
     R"(2020-08-01 12:39:16 | INFO | fairseq.trainer | NOTE: overflow detected, setting loss scale to: 1024.0
2020-08-01 12:39:39 | INFO | train_inner | epoch 001:   3615 / 6547 loss=0.439, nll_loss=0.001, accuracy=87.9, wps=82565, ups=2.66, wpb=31075.5, bsz=64, num_updates=3600, lr=9e-06, gnorm=3.952, loss_scale=1399, train_wall=38, wall=1353
2023-01-18 06:21:13 | INFO | fairseq.trainer | NOTE: gradient overflow detected, ignoring gradient, setting loss scale to: 64.0
)",
     {"step=3600 after=1024 smoothed=1399 overflow=true skipped=1", "after=64 overflow=true"}},
    {"fairseq's JSON holds numbers as texts",
     R"(2020-02-07 13:21:07 | INFO | train | {"epoch": 1, "train_loss": "11.049", "train_nll_loss": "10.399", "train_wps": "100", "train_num_updates": "331", "train_lr": "4.1e-05", "train_gnorm": "2.9", "train_loss_scale": "8", "train_wall": "600"}
)",
     {"step=331 after=8"}},
    {"a report that no other follows: of which of ten steps the overflow was, it does not say",
     R"([2023-04-28 06:51:31,392] [INFO] [loss_scaler.py:181:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 32768, reducing to 16384
[2023-04-28 06:51:40,878] [INFO] [logging.py:96:log_dist] [Rank 0] step=10, skipped=3, lr=[1e-05], mom=[(0.9, 0.95)]
)",
     {"scale=32768 after=16384 overflow=true", "step=10"}},
    {"and of the first step it does",
     R"([2023-04-28 06:51:31,392] [INFO] [loss_scaler.py:181:update_scale] [deepspeed] OVERFLOW! Rank 0 Skipping step. Attempted loss scale: 32768, reducing to 16384
[2023-04-28 06:51:31,878] [INFO] [logging.py:96:log_dist] [Rank 0] step=1, skipped=1, lr=[1e-05], mom=[(0.9, 0.95)]
)",
     {"step=1 scale=32768 after=16384 overflow=true skipped=1"}},
    {"mindyolo's overflow, told between reports of every hundredth step",
     R"(2024-12-25 09:58:34,125 [WARNING] overflow, still update, loss scale adjust to 1024.0
2024-12-25 09:58:42,787 [INFO] Epoch 1/200, Step 100/3995, imgsize (640, 640), loss: 11.6707, lbox: 3.6262, lcls: 5.5689, dfl: 2.4756, cur_lr: 0.0992
2024-12-25 09:58:42,800 [INFO] Epoch 1/200, Step 100/3995, step time: 5736.71 ms
2024-12-25 09:59:48,228 [WARNING] overflow, still update, loss scale adjust to 512.0
2024-12-25 09:59:48,236 [INFO] Epoch 1/200, Step 200/3995, imgsize (640, 640), loss: 8.8465, lbox: 2.9380, lcls: 3.8950, dfl: 2.0134, cur_lr: 0.0985
)",
     {"after=1024 overflow=true", "after=512 overflow=true"}},
    {"insightface rounds to whole numbers: a 0 of it is no scale of 0",
     R"(Training: 2022-05-05 03:04:00,229-Reducer buckets have been rebuilt in this iteration.
Training: 2022-05-05 03:04:06,521-Speed 731.07 samples/sec   Loss 43.3935   LearningRate 0.1000   Epoch: 0   Global Step: 20   Fp16 Grad Scale: 16384   Required: 2244 hours
Training: 2022-05-05 03:04:10,028-Speed 730.09 samples/sec   Loss 44.7358   LearningRate 0.1000   Epoch: 0   Global Step: 30   Fp16 Grad Scale:  0   Required: 1625 hours
)",
     {"step=20 after=16384", "step=30 smoothed=0"}},
};

}  // namespace

TEST_CASE("excerpts of logs tell their steps, whatever stands around the lines") {
  for (const Excerpt& excerpt : excerpts) {
    std::vector<std::string> told;
    for (const TraceStep& step : steps_of(trace_of_log(excerpt.text))) told.push_back(described(step));
    INFO(excerpt.what);
    CHECK(told == excerpt.steps);
  }
}
