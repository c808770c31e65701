// Lines whose times are known, as `isochron watch` reads them: where epochs begin and end.
#include <fmt/core.h>
#include <gtest/gtest.h>

#include "isochron/readers/console_reader.h"

namespace isochron {
namespace {

// A message of the epoch itself (a warning, a library that is loaded) is not where it begins.
TEST(ConsoleReader, AFirstEpochThatBeginsAtSomeLineIsNamed) {
  ConsoleReader reader("output");
  reader.feed("cuda drivers not found\n", 20.8);
  for (int epoch = 1; epoch <= 3; ++epoch)
    reader.feed("Epoch " + std::to_string(epoch) + " metric 0.5\n", 20.0 + epoch);
  const RunRecord run = reader.finish().front();
  ASSERT_EQ(run.epochs.size(), 3u);
  const Fact* first = run.find_fact("epoch.unbegun");
  ASSERT_NE(first, nullptr);
  EXPECT_DOUBLE_EQ(first->time.value(), 21);
}

TEST(ConsoleReader, AnEndSaidBeforeTheNumberIsAnEnd) {
  for (const char* line : {"== end of epoch {} ==", "finished epoch {} of 4"}) {
    ConsoleReader reader("output");
    reader.feed("model built\n", 10.0);
    for (int epoch = 1; epoch <= 4; ++epoch)
      reader.feed(fmt::format(fmt::runtime(line), epoch) + "\n", 10.0 + epoch + (epoch > 2 ? 3 : 0));
    const RunRecord run = reader.finish().front();
    ASSERT_EQ(run.epochs.size(), 4u) << line;
    EXPECT_NEAR(run.epochs[2].seconds, 4, 1e-6) << line;
    EXPECT_FALSE(run.open_epoch);
  }
}

// Ended while it validated: Keras' bar of the last epoch is full, but its last word is missing.
TEST(ConsoleReader, AFullBarBeforeValidationIsNoEnd) {
  ConsoleReader reader("output");
  for (int epoch = 1; epoch <= 3; ++epoch) {
    reader.feed(fmt::format("Epoch {}/6\n 1/32 ━━━━━━━━━━ 1s 40ms/step - loss: 0.7", epoch));
    reader.feed("\r32/32 ━━━━━━━━━━ 0s 13ms/step - loss: 0.7");
    if (epoch < 3) reader.feed("\r32/32 ━━━━━━━━━━ 14s 440ms/step - loss: 0.7 - val_loss: 0.6\n");
  }
  const RunRecord run = reader.finish().front();
  ASSERT_EQ(run.epochs.size(), 2u);
  ASSERT_TRUE(run.open_epoch);
  EXPECT_EQ(run.open_epoch->index, 3);
}

// tqdm's bar ends with the last step. What the loop does then is part of its epoch, if the lines have times.
TEST(ConsoleReader, WhatFollowsABarIsPartOfItsEpoch) {
  const auto read = [](bool at_once) {
    ConsoleReader reader("output");
    double now = 10;
    for (int epoch = 1; epoch <= 4; ++epoch) {
      const auto bar = [&](int step, double time) {
        reader.feed(
            fmt::format("\rEpoch {}/4: {}%|##| {}/10 [00:0{}<00:00, 5.00it/s]", epoch, 10 * step, step, step / 5),
            at_once ? 30.0 + epoch / 3 * 20 : time);
      };
      for (int step = 0; step <= 10; ++step) bar(step, now + 0.2 * step);
      now += 2;
      if (epoch % 2 == 0) now += 3;
      reader.feed(epoch % 2 == 0 ? "\naccuracy 0.5\n" : "\n", at_once ? 30.0 + epoch / 3 * 20 : now);
    }
    return reader.finish().front();
  };
  const RunRecord run = read(false);
  ASSERT_EQ(run.epochs.size(), 4u);
  for (size_t i = 0; i < 4; ++i) EXPECT_NEAR(run.epochs[i].seconds, i % 2 ? 5 : 2, 0.25) << i;
  EXPECT_NEAR(run.epochs[2].start, run.epochs[1].start + 5, 0.01);
  // A pipe that was read when the program ended: its times tell nothing of the gaps.
  for (const Epoch& epoch : read(true).epochs) EXPECT_NEAR(epoch.seconds, 2, 0.25);
}

}  // namespace
}  // namespace isochron
