#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <filesystem>
#include <fstream>

#include "isochron/observe/activity_log.h"
#include "isochron/observe/sample_store.h"
#include "isochron/observe/source_blocks.h"
#include "isochron/observe/source_lines.h"
#include "isochron/observe/waiting.h"
#include "isochron/observe/written_files.h"

namespace isochron::observe {
namespace {

TEST(SampleStore, StaysWithinItsRoomAndKeepsEpochBorders) {
  SampleStore store(100);
  store.pin(7.25);
  for (int i = 0; i < 5000; ++i) store.add({i * 0.1, {{"x", i}}});
  const auto& samples = store.samples();
  EXPECT_LE(samples.size(), 100u);
  EXPECT_GE(samples.size(), 40u);
  EXPECT_EQ(samples.front().time, 0);
  EXPECT_NEAR(samples.back().time, 499.9, 1e-9);
  const auto near = [&](double time) {
    return std::any_of(samples.begin(), samples.end(), [&](const Sample& s) { return std::abs(s.time - time) < 1e-9; });
  };
  EXPECT_TRUE(near(7.2));
  EXPECT_TRUE(near(7.3));
  EXPECT_TRUE(
      std::is_sorted(samples.begin(), samples.end(), [](const Sample& a, const Sample& b) { return a.time < b.time; }));
}

TEST(ActivityLog, SecondsByPhaseAreCutAtTheBorders) {
  ActivityLog log;
  const Activity input{Phase::input, "DataLoader", "a.py:1 f"}, forward{Phase::forward, "forward", "a.py:2 f"};
  for (int i = 1; i <= 10; ++i) log.add(i * 0.1, 0.1, input);
  for (int i = 11; i <= 30; ++i) log.add(i * 0.1, 0.1, forward);
  const PhaseSeconds phases = log.phases(0.55, 2.05);
  EXPECT_NEAR(phases[static_cast<size_t>(Phase::input)], 0.45, 1e-6);
  EXPECT_NEAR(phases[static_cast<size_t>(Phase::forward)], 1.05, 1e-6);
  const auto shares = log.shares(0, 3);
  ASSERT_EQ(shares.size(), 2u);
  EXPECT_EQ(shares[0].activity, forward);
  EXPECT_NEAR(shares[0].seconds, 2.0, 1e-5);
}

TEST(ActivityLog, TrainingBeginsWithTheFirstStepsData) {
  ActivityLog log;
  EXPECT_FALSE(log.training_began());
  log.add(1, 1, {Phase::input, "pandas reading", ""});
  log.add(2, 1, {Phase::start, "import torch", ""});
  log.add(3, 1, {Phase::input, "DataLoader", "a.py:1 f"});
  EXPECT_FALSE(log.training_began());
  log.add(4, 1, {Phase::forward, "forward", ""});
  ASSERT_TRUE(log.training_began());
  EXPECT_NEAR(*log.training_began(), 2, 1e-6);
}

TEST(ActivityLog, InputBeforeTheFirstStepIsToldWithWhatItsLinesName) {
  ActivityLog log;
  Activity fill{Phase::input, "DataLoader", "a.py:1 f"}, wait = fill;
  fill.store = Store::shuffle_buffer;
  log.add(1, 1, {Phase::start, "import torch", ""});
  for (int i = 1; i <= 30; ++i) log.add(1 + i * 0.1, 0.1, fill);
  log.add(4.1, 0.1, {Phase::backward, "backward", ""});
  for (int i = 1; i <= 9; ++i) log.add(4.1 + i * 0.1, 0.1, wait);
  EXPECT_NEAR(log.lead(1, 5).seconds, 3, 1e-5);
  EXPECT_EQ(log.lead(1, 5).store, Store::shuffle_buffer);
  EXPECT_NEAR(log.lead(4.05, 5).seconds, 0, 1e-5);
}

TEST(SourceLines, IdentifiersTellWhereInputGoes) {
  EXPECT_EQ(store_named_in("while len(self.buf) < self.size: self.buf.append(next(self.it))"), Store::shuffle_buffer);
  EXPECT_EQ(store_named_in("self._item_cache[i] = self.decode(i)"), Store::cache);
  EXPECT_EQ(store_named_in("shuffle_cache.append(x)"), Store::shuffle_buffer);
  EXPECT_EQ(store_named_in("x = np.frombuffer(f.read(n), 'uint8')"), Store::none);
  EXPECT_EQ(store_named_in(""), Store::none);
  EXPECT_EQ(call_in("pickle.dump(state, f)").phase, Phase::checkpoint);
  EXPECT_EQ(call_in("x = np.frombuffer(zlib.decompress(blob), 'uint8')").what, "zlib.decompress");
  EXPECT_EQ(call_in("rows.append([float(v) for v in line.split(',')])").phase, Phase::input);
  EXPECT_EQ(call_in("x = torch.tensor([encode(w) for w in words])").phase, Phase::input);
  EXPECT_EQ(call_in("for x in data.split(64):").phase, Phase::other);
  EXPECT_EQ(call_in("loss = criterion(out, y)").phase, Phase::other);
  EXPECT_TRUE(sets_weights("layer.weight.copy_(orthonormal(tuple(layer.weight.shape)))"));
  EXPECT_FALSE(sets_weights("loss += 1e-4 * layer.weight.pow(2).sum()"));
}

TEST(SourceBlocks, ALineThatEvaluatesIsToldByWhatHoldsIt) {
  const std::vector<std::string> lines = {
      "for epoch in range(9):",                                // 1
      "    for x, y in train_loader:",                         // 2
      "        with torch.no_grad():",                         // 3
      "            target = teacher(x)",                       // 4
      "        loss = criterion(",                             // 5
      "model(x), target)",                                     // 6
      "    with torch.no_grad():",                             // 7
      "        for a, b in loader:",                           // 8
      "            score(model(a), b)",                        // 9
      "        loss = criterion(model(x_val), y_val)",         // 10
      "    for step, batch in enumerate(testloader):",         // 11
      "        total += eval_step(batch)",                     // 12
      "    for phase in ['train', 'val']:",                    // 13
      "        run(phase)",                                    // 14
      "for epoch in range(test_epochs):",                      // 15
      "    step(model)",                                       // 16
      "def scores(val_loader):",                               // 17
      "    return model(val_loader)",                          // 18
      "for epoch in range(9):",                                // 19
      "    fit_epoch(model, loader, val_loader, train=True)",  // 20
      "    loss = run_epoch(model, val_loader, train=False)",  // 21
      "    for obs in rollout:",                               // 22
      "        logits, val = net(obs)",                        // 23
      "fit(model, loader, val_loader)",                        // 24
      "for epoch in range(9):",                                // 25
      "    errors = [loss(x) for x in held_out]",              // 26
  };
  std::vector<size_t> validating;
  for (size_t i = 1; i <= lines.size(); ++i)
    if (line_validates(lines, i)) validating.push_back(i);
  EXPECT_EQ(validating, (std::vector<size_t>{8, 9, 10, 11, 12, 21, 26}));
  EXPECT_EQ(split_variable(lines, 14), "phase");
  EXPECT_EQ(split_variable(lines, 12), "");
  EXPECT_EQ(enclosing_headers(lines, 4),
            (std::vector<std::string>{"target = teacher(x)",
                                      "with torch.no_grad():", "for x, y in train_loader:", "for epoch in range(9):"}));
  EXPECT_EQ(loop_around(lines, 4), Loop::epochs);
  EXPECT_EQ(loop_around({"while tries < 3:", "    train(epoch)"}, 2), Loop::some);
  EXPECT_EQ(loop_around({"losses = [train(epoch) for epoch in range(9)]"}, 1), Loop::epochs);
  EXPECT_EQ(loop_around(lines, 24), Loop::none);
  EXPECT_EQ(epoch_variable(lines, 4), "epoch");
  EXPECT_EQ(loop_variable(lines, 4), "x");
  EXPECT_EQ(epoch_variable({"for i in trange(1, args.epochs + 1):", "    step()"}, 2), "i");
  EXPECT_EQ(epoch_variable({"history = [train(k) for k in range(NUM_EPOCH)]"}, 1), "k");
  EXPECT_EQ(epoch_variable({"for e in range(1, 9):", "    step()"}, 2), "e");
  for (const char* batches :
       {"for e in range(n_experts):", "for k in range(steps_per_epoch):", "for k in range(epoch * n, epoch * n + n):",
        "for x in tqdm(loader, desc=f'Epoch {epoch} of {epochs}'):"})
    EXPECT_EQ(epoch_variable({batches, "    step()"}, 2), "") << batches;
  EXPECT_FALSE(line_validates(lines, 0));
  EXPECT_FALSE(line_validates(lines, 99));
}

TEST(SourceBlocks, OneLoopTrainsAndValidatesByASwitchOfGradients) {
  const auto variable = [](const std::vector<std::string>& lines) {
    return gradient_switch(lines, lines.size()).variable;
  };
  const std::vector<std::string> with = {"def run(loader, train):", "    for x, y in loader:",
                                         "        with torch.set_grad_enabled(train):", "            out = model(x)"};
  EXPECT_EQ(variable(with), "train");
  EXPECT_TRUE(switches_off(gradient_switch(with, 4), "0"));
  EXPECT_FALSE(switches_off(gradient_switch(with, 4), "1"));
  EXPECT_EQ(gradient_switch(with, 2).variable, "") << "what comes before it";
  const std::vector<std::string> above = {"def run(loader, test):", "    torch.set_grad_enabled(not test)",
                                          "    model.train(not test)",
                                          "    for x, y in loader:", "        out = model(x)"};
  EXPECT_EQ(variable(above), "test");
  EXPECT_TRUE(switches_off(gradient_switch(above, 5), "1"));
  const std::vector<std::string> split = {
      "def run(phase):", "    with torch.set_grad_enabled(phase == 'train'):", "        step()"};
  EXPECT_EQ(variable(split), "phase");
  EXPECT_TRUE(switches_off(gradient_switch(split, 3), "val"));
  EXPECT_FALSE(switches_off(gradient_switch(split, 3), "train"));
  EXPECT_EQ(variable({"def a(train):", "    torch.set_grad_enabled(train)", "def b():", "    step()"}), "");
  EXPECT_EQ(variable({"with torch.set_grad_enabled(self.training):", "    step()"}), "");
  EXPECT_EQ(variable({"if x:", "    torch.set_grad_enabled(train)", "step()"}), "");
  EXPECT_EQ(variable({"torch.set_grad_enabled(train)", "torch.set_grad_enabled(True)", "step()"}), "");
}

TEST(ActivityLog, SpansSkipOverAFlicker) {
  ActivityLog log;
  const Activity trace{Phase::trace, "tracing", ""}, other{};
  for (int i = 1; i <= 30; ++i) log.add(i * 0.1, 0.1, i == 15 ? other : trace);
  const auto spans = log.spans(0.5);
  ASSERT_EQ(spans.size(), 1u);
  EXPECT_EQ(spans[0].name, "tracing");
  EXPECT_EQ(spans[0].phase, Phase::trace);
  EXPECT_NEAR(spans[0].seconds, 3.0, 1e-5);
}

TEST(ActivityLog, MomentsTooShortForSpansAddUp) {
  ActivityLog log;
  for (int step = 1; step <= 10; ++step) {
    log.add(0.4 * step - 0.2, 0.2, {Phase::forward, "TensorFlow step", "", true});
    log.add(0.4 * step, 0.2, {Phase::input, kCacheFill, "", true});
  }
  for (const Span& span : log.spans(0.3)) EXPECT_NE(span.name, kCacheFill);
  EXPECT_NEAR(log.seconds_of(kCacheFill), 2.0, 1e-5);
  EXPECT_EQ(log.seconds_of(kShuffleFill), 0);
}

TEST(ActivityLog, MemoryIsBoundedAndNoTimeIsLost) {
  ActivityLog log;
  for (int i = 1; i <= 400000; ++i) log.add(i * 0.1, 0.1, {i % 2 ? Phase::forward : Phase::backward, "x", ""});
  const PhaseSeconds phases = log.phases(0, 40000);
  EXPECT_NEAR(phases[static_cast<size_t>(Phase::forward)] + phases[static_cast<size_t>(Phase::backward)], 40000, 1);
}

TEST(WrittenFiles, CountsFilesInNewFoldersAndEveryRewriting) {
  const std::string root = testing::TempDir() + "written_" + std::to_string(getpid());
  std::filesystem::create_directories(root);
  std::ofstream(root + "/before.txt") << "was there";
  WrittenFiles files({root});
  std::filesystem::create_directory(root + "/checkpoints");
  files.update(1);
  for (int i = 1; i <= 3; ++i) {
    std::ofstream(root + "/checkpoints/last.pt") << std::string(1000 * static_cast<size_t>(i), 'x');
    files.update(i);
  }
  EXPECT_EQ(files.count(), 1);
  EXPECT_EQ(files.total_bytes(), 3000);
  EXPECT_EQ(files.total_bytes_written(), 6000);
  EXPECT_EQ(files.files().begin()->second.writes, 3);
  std::filesystem::remove(root + "/checkpoints/last.pt");
  files.update(4);
  EXPECT_EQ(files.total_bytes(), 0);
  std::filesystem::remove_all(root);
}

TEST(Waiting, SystemCallsOfTheKernelsFormat) {
  const auto call =
      parse_system_call("0 0x3 0x7f892edeb000 0x20000 0x22 0xffffffff 0x0 0x7ffcb93b06c8 0x7f892ef672ad\n");
  ASSERT_TRUE(call);
  EXPECT_EQ(call->number, 0);
  EXPECT_EQ(call->arguments[0], 3u);
  EXPECT_FALSE(parse_system_call("running\n"));
  EXPECT_FALSE(parse_system_call("-1 0x7ffcb93b06c8 0x7f892ef672ad\n"));
}

}  // namespace
}  // namespace isochron::observe
