// What the TensorBoard callback leaves behind, read field by field with the checksums done the slow way.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

#include "isochron/base/crc32c.h"
#include "isochron/base/files.h"
#include "isochron/base/wire.h"
#include "isochron/isochron.h"

namespace isochron {
namespace {

using ::testing::Contains;
using ::testing::IsSupersetOf;
using ::testing::Key;
using ::testing::SizeIs;

struct Entry {
  int64_t step = 0;
  std::string kind;  // scalar, histogram, graph, hparams, text, image, version
  std::string tag;
  double value = 0;
};

float float_of(uint64_t bits) {
  float out;
  const auto narrow = static_cast<uint32_t>(bits);
  std::memcpy(&out, &narrow, sizeof out);
  return out;
}

void read_value(std::string_view message, Entry& entry) {
  for (WireReader fields(message); fields.next();) {
    if (fields.number() == 1) entry.tag = fields.bytes();
    if (fields.number() == 2) entry.kind = "scalar", entry.value = float_of(fields.value());
    if (fields.number() == 4) entry.kind = "image";
    if (fields.number() == 5) {
      entry.kind = "histogram";
      for (WireReader histo(fields.bytes()); histo.next();)
        if (histo.number() == 3) entry.value = histo.as_double();
    }
    if (fields.number() == 9)
      for (WireReader meta(fields.bytes()); meta.next();)
        for (WireReader plugin(meta.bytes()); plugin.next();)
          if (plugin.number() == 1) entry.kind = plugin.bytes();
  }
}

std::vector<Entry> read_events(const std::string& folder) {
  std::vector<Entry> out;
  for (const auto& file : std::filesystem::directory_iterator(folder)) {
    const std::string bytes = read_file(file.path());
    const auto word = [&](size_t at) {
      uint32_t value;
      std::memcpy(&value, bytes.data() + at, 4);
      return value;
    };
    const auto mask = [](std::string_view part) {
      const uint32_t crc = crc32c_by_table(part);
      return ((crc >> 15) | (crc << 17)) + 0xA282EAD8u;
    };
    for (size_t at = 0; at < bytes.size();) {
      const size_t length = word(at);
      EXPECT_EQ(word(at + 8), mask(std::string_view(bytes).substr(at, 8)));
      const std::string_view record = std::string_view(bytes).substr(at + 12, length);
      EXPECT_EQ(word(at + 12 + length), mask(record));
      at += 16 + length;
      Entry entry;
      for (WireReader fields(record); fields.next();) {
        if (fields.number() == 2) entry.step = fields.signed_value();
        if (fields.number() == 3) entry.kind = "version", entry.tag = fields.bytes();
        if (fields.number() == 4) entry.kind = "graph", entry.tag = fields.bytes();
        if (fields.number() == 5)
          for (WireReader summary(fields.bytes()); summary.next();) read_value(summary.bytes(), entry);
      }
      out.push_back(entry);
    }
  }
  return out;
}

std::map<std::string, std::vector<double>> by_tag(const std::vector<Entry>& entries, const std::string& kind) {
  std::map<std::string, std::vector<double>> out;
  for (const Entry& entry : entries)
    if (entry.kind == kind) out[entry.tag].push_back(entry.value);
  return out;
}

TEST(TensorBoard, WritesMetricsAsKerasLaysThemOut) {
  TempFolder folder;
  const Tensor x = random_normal({40, 3}, 0, 1, {.seed = 1}).eval(), y = sum(x, {1}, true).eval();
  Sequential model{Input({3}), Dense(4, {.activation = "relu"}), Dense(1)};
  model.compile({.optimizer = SGD(0.01), .loss = "mse", .metrics = {"mae"}});
  const auto callback =
      std::make_shared<TensorBoard>(TensorBoard::Options{.log_dir = folder.file("logs"),
                                                         .histogram_freq = 2,
                                                         .write_images = true,
                                                         .write_steps_per_second = true,
                                                         .update_freq = 2,
                                                         .hparams = {{"units", 4.0}, {"name", "small"}}});
  const History history =
      model.fit(x, y, {.epochs = 3, .batch_size = 8, .validation_split = 0.2, .verbose = 0, .callbacks = {callback}});

  const std::vector<Entry> train = read_events(folder.file("logs/train"));
  EXPECT_EQ(train.front().tag, "brain.Event:2");
  auto scalars = by_tag(train, "scalar");
  ASSERT_THAT(scalars["epoch_loss"], SizeIs(3));
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(scalars["epoch_loss"][i], history["loss"][i], 1e-6);
  EXPECT_THAT(scalars["epoch_mae"], SizeIs(3));
  EXPECT_NEAR(scalars["epoch_learning_rate"][0], 0.01, 1e-8);
  EXPECT_GT(scalars["epoch_steps_per_second"][0], 0);
  EXPECT_THAT(scalars["batch_loss"], SizeIs(6));  // every second of 12 steps
  EXPECT_THAT(scalars["phase/forward"], SizeIs(3));
  const auto histograms = by_tag(train, "histogram");
  EXPECT_THAT(histograms, SizeIs(4));  // two kernels, two biases
  for (const auto& [tag, counts] : histograms) EXPECT_THAT(counts, SizeIs(2)) << tag;
  EXPECT_THAT(by_tag(train, "image"), SizeIs(4));
  EXPECT_THAT(by_tag(train, "hparams"), IsSupersetOf({Key("_hparams_/experiment"), Key("_hparams_/session_start_info"),
                                                      Key("_hparams_/session_end_info")}));
  EXPECT_EQ(by_tag(train, "graph").size(), 1u);

  auto validation = by_tag(read_events(folder.file("logs/validation")), "scalar");
  ASSERT_THAT(validation["epoch_loss"], SizeIs(3));
  EXPECT_NEAR(validation["epoch_loss"][2], history["val_loss"][2], 1e-6);
}

TEST(TensorBoard, PicturesOfWeightsThatAreNotFinite) {
  TempFolder folder;
  Sequential model{Input({5}), Dense(1, {.use_bias = false})};
  model.compile({.optimizer = SGD(0.01), .loss = "mse"});
  model.set_weights({tensor({{NAN}, {1.0F}, {INFINITY}, {3.0F}, {2.0F}})});
  TensorBoard callback({.log_dir = folder.path(), .histogram_freq = 1, .write_images = true});
  callback.set_model(&model);
  callback.on_train_begin({});
  callback.on_epoch_begin(0, {});
  callback.on_epoch_end(0, {});
  const Tensor expected = Tensor::from_buffer(std::vector<uint8_t>{0, 0, 0, 255, 127}, {5, 1, 1});
  for (const auto& file : std::filesystem::directory_iterator(folder.file("train")))
    EXPECT_NE(read_file(file.path().string()).find(data::encode_png(expected)), std::string::npos);
}

TEST(EventFile, KeepsWhatOneHandsIt) {
  TempFolder folder;
  {
    EventFile events(folder.file("a"));
    events.text("note", "**hello**", 3);
    events.image("cat", "png bytes", 4, 5, 3, 7);
    const float values[] = {1, 2, NAN, 3};
    events.histogram("h", values, 1);
    events.histogram("none", std::span<const float>(values + 2, 1), 1);
  }
  const std::vector<Entry> entries = read_events(folder.file("a"));
  ASSERT_EQ(entries.size(), 4u);
  EXPECT_EQ(entries[1].kind, "text");
  EXPECT_EQ(entries[2].kind, "image");
  EXPECT_EQ(entries[2].step, 7);
  EXPECT_EQ(entries[3].value, 3);  // values that are numbers
  write_file(folder.file("plain"), "x");
  EXPECT_THROW(EventFile(folder.file("plain/b")), FileError);
}

}  // namespace
}  // namespace isochron
