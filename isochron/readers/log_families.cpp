#include "isochron/readers/log_families.h"

#include <bitset>
#include <vector>

#include "isochron/readers/needle_index.h"
#include "isochron/readers/pattern.h"

namespace isochron {
namespace {

using Kind = LogEvent::Kind;
using Role = LogEvent::Role;

struct Family {
  std::string_view framework;
  Kind kind;
  std::string_view pattern;
  Role role = Role::train;
  bool within = false;
};

// The first row that fits wins, so the more telling forms stand first. pattern.h explains the language.
constexpr Family kFamilies[] = {
    // Keras 1 with verbose=2, below its header: " - 34s - loss: 0.3"
    {"keras", Kind::epoch_end, R"(^ - {epoch_time}( {step_time}/step| {step_time}/sample)? - ~loss:)"},
    // TensorFlow.js, below its header: "12310ms 205us/step - acc=0.91 loss=0.3"
    {"tensorflow", Kind::epoch_end, R"(^ {epoch_time} {step_time}/step - )"},
    // CNTK: Finished Epoch[ 1 of 40]: [Training] loss = 2.3 * 50000 … 21.741s (2759.8 samples/s);
    {"cntk", Kind::epoch_end, R"(finished epoch\[ {epoch} of {epochs}\]: ~ {epoch_time} \( {examples_rate} samples/s)"},
    // MindSpore: epoch time: 36501.857 ms, per step time: 935.945 ms
    {"mindspore", Kind::epoch_end, R"(epoch time: {epoch_time}, per step time: {step_time})"},
    {"mindspore", Kind::step, R"(epoch: {epoch} step: {step}(,)? loss is)"},
    {"mindspore", Kind::epoch_end, R"(total time since last epoch: {epoch_time})"},
    // MXNet: Epoch[5] Time cost=4.351 and [Epoch 0] … time cost: 69.03 and Epoch[0] Batch [50] Speed: 829.01
    // samples/sec
    {"mxnet", Kind::epoch_end, R"(epoch\[{epoch}\] time cost={epoch_time})"},
    {"mxnet", Kind::epoch_end, R"(\[epoch {epoch}\] ~time cost(:|=) {epoch_time})"},
    {"mxnet", Kind::step, R"(epoch\[{epoch}\] batch \[({}-)?{step}\] speed: {examples_rate} samples/sec)"},
    {"mxnet", Kind::epoch_end, R"(\[epoch {epoch}\] training cost: {epoch_time})"},
    // Paddle
    {"paddle", Kind::epoch_end, R"(epoch: {epoch} done, ~epoch time: {epoch_time})"},
    {"paddle", Kind::step,
     R"(epoch: \[{epoch}(/{epochs})?\](,)? \[ {step}/{steps}\] ~batch_cost: {step_time}(,)? (data|reader)_cost: {data_time})"},
    {"paddle", Kind::step,
     R"(epoch: \[{epoch}/{epochs}\], ~global_step: {step}, ~avg_reader_cost: {data_time}, avg_batch_cost: {step_time})"},
    // OpenMMLab: Epoch [1][200/626]  lr: …, eta: 1 day, 1:32:11, time: 1.473, data_time: 0.449
    {"torch", Kind::step, R"(epoch \[{epoch}\]\[ {step}/{steps}\] ~ time: {step_time}(,)? data_time: {data_time})"},
    {"torch", Kind::step,
     R"(epoch\(train\) \[ {epoch}\]\[ {step}/{steps}\] ~ time: {step_time}(,)? data_time: {data_time})"},
    {"torch", Kind::progress, R"(epoch\((val|test)\) \[ {epoch}\]\[ ({step}/)?{steps}\])", Role::validation},
    {"torch", Kind::step, R"(iter(\(train\))? \[ {step}/{steps}\] ~ time: {step_time}(,)? data_time: {data_time})"},
    // Detectron2: eta: 0:17:09 iter: 19 … time: 3.6 [last_time: 3.5] data_time: 3.2
    {"torch", Kind::step, R"(eta: {left} iter: {step} ~ time: {step_time} (last_time: {} )?data_time: {data_time})"},
    {"torch", Kind::step, R"(iter: {step} ~ time: {step_time} (last_time: {} )?data_time: {data_time})"},
    // BasicSR: [epoch: 0, iter: 100, …] [eta: …, time (data): 1.663 (0.247)]
    {"torch", Kind::step, R"(\[epoch: {epoch}, iter: {step}, ~ time \(data\): {step_time} \({data_time}\))"},
    // YOLOX: epoch: 299/300, iter: 40/47, … iter_time: 0.111s, data_time: 0.003s
    {"torch", Kind::step,
     R"(epoch: {epoch}/{epochs}, iter: {step}/{steps}, ~iter_time: {step_time}, data_time: {data_time})"},
    // torchvision's MetricLogger
    {"torch", Kind::epoch_end, R"(epoch: \[{epoch}\] total time: {epoch_time})"},
    {"torch", Kind::epoch_end, R"(test: total time: {validation_time})", Role::validation},
    {"torch", Kind::step,
     R"(epoch: \[{epoch}\] \[ {step}/{steps}\] eta: {left} ~ time: {step_time} data: {data_time})"},
    {"torch", Kind::run_end, R"(^ training time {run_time})"},
    // ImageNet meters: Epoch: [0][ 10/2500] Time 0.225 ( 9.306) Data 0.000 ( 0.709)
    {"torch", Kind::step,
     R"(epoch: \[{epoch}\]\[ {step}/{steps}\] ~time {step_time} \( {mean_step_time}\) ~data {} \( {mean_data_time}\))"},
    {"torch", Kind::step, R"(epoch: \[{epoch}\]\[ {step}/{steps}\] ~time(:)? {step_time} \( {mean_step_time}\))"},
    {"torch", Kind::step,
     R"(epoch: \[{epoch}/{epochs}\]\[ {step}/{steps}\] data {} \( {mean_data_time}\) batch {step_time} \( {mean_step_time}\))"},
    {"torch", Kind::progress, R"(^ test: \[ {step}/{steps}\])", Role::validation},
    // Swin and its descendants: Train: [0/300][10/1251] eta 1:22:11 lr … time 0.45 (0.50)
    {"torch", Kind::step, R"(train: \[{epoch}/{epochs}\]\[ {step}/{steps}\] ~time {} \( {mean_step_time}\))"},
    {"torch", Kind::epoch_end, R"(epoch {epoch} training takes {epoch_time})"},
    // timm: Train: 0 [  50/73 ( 70%)]  Loss: …  Time: 0.320s, 400.32/s  (0.470s, 272.1/s)  …  Data: 0.217 (0.047)
    {"torch", Kind::step,
     R"(train: {epoch} \[ {step}/{steps} ~ time: {}s, ~\( {mean_step_time}, ~ data: {} \( {mean_data_time}\))"},
    // OpenPCDet: Train:    1/80 (  1%) [  50/928 (  5%)]  Loss: … Data time: 0.01(0.02)  …  Batch time: 0.42(0.43)
    {"torch", Kind::step,
     R"(train: {epoch}/{epochs} \( {}%\) \[ {step}/{steps} ~data time: {}\({mean_data_time}\) ~batch time: {}\({mean_step_time}\))"},
    // Flair: epoch 1 - iter 21/219 - loss 1.2 - time (sec): 4.01 - samples/sec: 19.11
    {"torch", Kind::step,
     R"(epoch {epoch} - iter {step}/{steps} - ~time \(sec\): {elapsed} - samples/sec: {examples_rate})"},
    {"torch", Kind::step, R"(epoch {epoch} - iter {step}/{steps} - ~samples/sec: {examples_rate})"},
    {"torch", Kind::epoch_end, R"(epoch {epoch} done: loss)"},
    // TensorFlow Estimator: loss = 8.1, step = 100 (1373.1 sec)
    {"tensorflow", Kind::step, R"(loss = {}, step = {step} \({window_time}\))"},
    {"tensorflow", Kind::step, R"(global_step/sec: {rate})"},
    // TensorFlow Object Detection API: Step 100 per-step time 0.512s
    {"tensorflow", Kind::step, R"(step {step} per-step time {step_time})"},
    // OpenNMT: Step 50/100000; acc: 21.3; ppl: 234.1; …; 16000/16400 tok/s;  12 sec (since the run began)
    {"torch", Kind::step, R"(step {step}/ {steps}; ~tok/s; {clock})"},
    // Tacotron 2: Train loss 120 0.431 Grad Norm 1.21 2.00s/it
    {"torch", Kind::step, R"(train loss {step} {} grad norm {} {step_time}/it)"},
    {"", Kind::step, R"(time( taken)? for {window_steps} steps(:|=)? {window_time})"},
    // nanoGPT: iter 100: loss 3.48, time 10538.35ms
    {"torch", Kind::step, R"(iter {step}: loss {}, time {step_time})"},
    // Darknet: 1000: 0.15, 0.18 avg loss, 0.0026 rate, 26.37 seconds, 64000 images
    {"darknet", Kind::step, R"({step}: {}, {} avg( loss)?, {} rate, {step_time}, {examples} images)"},
    // Caffe: Iteration 100 (16.4 iter/s, 6.087s/100 iters), loss = 0.5
    {"caffe", Kind::step, R"(iteration {step} \({rate} iter/s, {window_time}/{window_steps} iters)"},
    // ESPnet: 1epoch results: [train] iter_time=…, time=5 minutes and 1.5 seconds, … [valid] … time=3.2 seconds
    {"torch", Kind::epoch_end,
     R"({epoch}epoch results: \[train\] ~, time={epoch_time}, ~\[valid\] ~, time={validation_time},)"},
    {"torch", Kind::epoch_end, R"({epoch}epoch results: \[train\] ~, time={epoch_time})"},
    {"torch", Kind::epoch_begin, R"({epoch}/{epochs}epoch started)"},
    {"torch", Kind::step, R"({epoch}epoch:train:{}-{step}batch:~iter_time={data_time}, ~train_time={step_time})"},
    // PyTorch Ignite, tensorpack, AllenNLP, fairseq
    {"torch", Kind::epoch_end, R"(epoch\[{epoch}\] complete. time taken: {epoch_time})"},
    {"tensorflow", Kind::epoch_end, R"(epoch {epoch} \(global_step {}\) finished, time: {epoch_time})"},
    {"torch", Kind::epoch_end, R"(epoch duration: {epoch_time})"},
    {"torch", Kind::epoch_end, R"(epoch {epoch} \| ~\| train_wall {epoch_time})"},
    // Megatron: iteration       10/     500 | … | elapsed time per iteration (ms): 312.4 | …
    {"torch", Kind::step, R"(iteration {step}/ {steps} \| ~elapsed time per iteration \(ms\): {step_ms})"},
    {"torch", Kind::step, R"(iteration {step}/ {steps} \| ~elapsed time per iteration \(s\): {step_time})"},
    // Marian: Ep. 1 : Up. 100 : Sen. 12,000 : Cost 7.1 : Time 10.12s : 5000 words/s
    {"", Kind::step, R"(ep\. {epoch} : up\. {step} : ~: time {window_time} :)"},
    // nnU-Net
    {"torch", Kind::epoch_end, R"(this epoch took {epoch_time})"},
    // Lightning's own profiler: | [_TrainingEpochLoop].train_dataloader_next | 0.13489 | 120 | 16.186 | 54.1 |
    {"lightning", Kind::run_end, R"(train_dataloader_next \| {} \| {} \| {run_input_time} \|)"},
    // TabNet, since the run began: epoch 3  | loss: 0.69202 | val_0_auc: 0.56891 |  0:00:21s
    {"torch", Kind::epoch_end, R"(^ epoch {epoch} \| loss: ~ \| {clock}s $)"},
    // The times of whole runs: ultralytics, old fastai
    {"", Kind::epoch_end,
     R"({epoch}( of|/| out of) {epochs} epochs( completed| done| finished)?( in| took| after)(:)? {epoch_time})"},
    {"", Kind::run_end, R"({epochs} epochs completed in {run_time})"},
    {"", Kind::run_end, R"(^ total time: {run_time} $)"},
    {"", Kind::run_end, R"(^ (total )?training time( is| was)?(:|=)? {run_time})"},
    {"", Kind::run_end, R"(training (complete|completed|finished|done|took)( in| after)?(:)? {run_time})"},
    // "Median time per epoch: 0.0123s": of no epoch in particular
    {"", Kind::progress, R"((median|mean|average|avg)( training| epoch)? time( taken| spent)?( per|/| for| of))",
     Role::other},
    // Unnumbered: "Time taken for 1 epoch 41.0 sec", "[100%] in 30.7s (1.30/s)"
    {"", Kind::epoch_end,
     R"(time( taken| consuming| cost| spent)?( for| of)? epoch {epoch}( is| was|:|=)(:)? {epoch_time})"},
    {"", Kind::epoch_end,
     R"(time( taken| cost| elapsed)?( for| of| per| this)( 1| one| an| the| this)? epoch( is| was)?(:|=)? {epoch_time})"},
    {"", Kind::epoch_end, R"(^ {epoch_time} (for|spent on|in) epoch {epoch})"},
    {"", Kind::epoch_end, R"(\[100%\] in {epoch_time})"},
    // Below an epoch's header, one thing a line: "time taken: 3.4s", "took 3.4 s", "seconds: 3.4"
    {"", Kind::epoch_end, R"(^ (time( taken)?|took|seconds|duration|elapsed|total) (:|=)? {epoch_time} $)", Role::train,
     true},
    {"", Kind::epoch_end, R"(^ (...)? (done|finished|completed) in {epoch_time})", Role::train, true},
    // and what Julia's @time prints: 80.1 seconds (12.3 M allocations: 1.2 GiB, 3.10% gc time)
    {"", Kind::epoch_end, R"(^ {epoch_time} \({}( k| m| g)? allocations)", Role::train, true},
    {"", Kind::epoch_end, R"(epoch time( taken)?(:|=)? {epoch_time})"},
    {"", Kind::epoch_end, R"(epoch (complete|completed|finished|done|took)( in)?(:)? {epoch_time})"},
    // The PyTorch MNIST example: Train Epoch: 1 [6400/60000 (11%)]  Loss: 0.5
    {"torch", Kind::step, R"(epoch: {epoch} \[ {examples}/{} \()"},
    {"torch", Kind::epoch_end, R"(^ test set: average loss:)"},
};

struct Compiled {
  const Family* family;
  Pattern pattern;
};

struct Table {
  std::vector<Compiled> rows;
  NeedleIndex required;
};

const Table& table() {
  static const Table all = [] {
    std::vector<Compiled> rows;
    for (const Family& family : kFamilies) rows.push_back({&family, Pattern(family.pattern)});
    std::vector<std::string_view> required;
    for (const Compiled& row : rows) required.push_back(row.pattern.required());
    NeedleIndex index(required);
    return Table{std::move(rows), std::move(index)};
  }();
  return all;
}

}  // namespace

std::optional<LogEvent> match_log_family(std::string_view line, std::string_view line_lower) {
  std::bitset<std::size(kFamilies)> possible;
  table().required.find(line_lower, [&](size_t row) {
    possible.set(row);
    return true;
  });
  for (size_t i = 0; i < std::size(kFamilies); ++i) {
    if (!possible.test(i)) continue;
    const Compiled& row = table().rows[i];
    auto event = row.pattern.match(line, line_lower);
    if (!event) continue;
    event->kind = row.family->kind;
    event->role = row.family->role;
    event->framework = row.family->framework;
    event->within = row.family->within;
    return event;
  }
  return std::nullopt;
}

}  // namespace isochron
