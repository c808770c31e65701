// Pipelines from files: pipeline-jpeg, pipeline-csv, pipeline-tfrecord. The files are the same in every run.
#include <cmath>
#include <filesystem>

#include "cli/bench_pipeline.h"
#include "isochron/base/files.h"
#include "isochron/base/rng.h"
#include "isochron/data/files/csv.h"
#include "isochron/data/files/record_sources.h"
#include "isochron/data/files/tfrecord.h"
#include "isochron/data/image/image.h"

namespace isochron::cli {
namespace {

using namespace data;

// 256 x 256 with the detail of a photograph: waves of several lengths, edges, a little noise.
Tensor picture(int64_t number) {
  constexpr int64_t kSize = 256;
  std::vector<float> random(16 + kSize * kSize);
  fill_uniform(random.data(), {.seed = 11, .stream = static_cast<uint64_t>(number)}, 0,
               static_cast<int64_t>(random.size()), 0.f, 1.f);
  std::vector<uint8_t> pixels;
  pixels.reserve(kSize * kSize * 3);
  for (int64_t y = 0; y < kSize; ++y)
    for (int64_t x = 0; x < kSize; ++x) {
      const auto fx = static_cast<float>(x), fy = static_cast<float>(y);
      const float noise = 12 * (random[static_cast<size_t>(16 + y * kSize + x)] - 0.5f);
      const float edge = fx * random[12] + fy * random[13] > 128 ? 25.f : -25.f;
      for (size_t c = 0; c < 3; ++c) {
        const float wave = 60 * std::sin((fx * random[c] + fy * random[c + 3]) / 6 + 6 * random[c + 6]) +
                           25 * std::sin(fx * fy * random[c + 9] / 900);
        pixels.push_back(static_cast<uint8_t>(std::clamp(128 + wave + edge + noise, 0.f, 255.f)));
      }
    }
  return Tensor::from_buffer(std::move(pixels), {kSize, kSize, 3});
}

PipelineResult jpeg(const std::string& folder, int passes) {
  const std::string root = folder + "/jpeg";
  if (!std::filesystem::exists(root)) {
    const std::string unfinished = root + ".unfinished";
    for (int64_t i = 0; i < 2000; ++i) {
      const std::string place = fmt::format("{}/class{}", unfinished, i % 10);
      if (i < 10) std::filesystem::create_directories(place);
      write_file(fmt::format("{}/{:04}.jpg", place, i), encode_jpeg(picture(i), 90));
    }
    std::filesystem::rename(unfinished, root);
  }
  return time_passes(passes, [&] {
    const Augmentation augmentation{.mean = {0.485f, 0.456f, 0.406f}, .stddev = {0.229f, 0.224f, 0.225f}};
    return image_files(root)
        .shuffle(2000)
        .map(
            [augmentation](const std::string& file, int64_t label, const ElementContext& at) {
              return std::pair(decode_augmented(read_file(file), augmentation, at.random_seed, file), label);
            },
            {.num_parallel_calls = AUTOTUNE, .name = "decode"})
        .batch(32)
        .prefetch(4);
  });
}

PipelineResult csv_rows(const std::string& folder, int passes) {
  const std::string path = folder + "/rows.csv";
  if (!std::filesystem::exists(path)) {
    AtomicFile file(path);
    std::string text;
    for (int c = 0; c < 10; ++c) text += fmt::format("f{},", c);
    text += "y\n";
    std::vector<float> values(10000);
    size_t written = 0;
    for (uint64_t block = 0; written < 100'000'000; ++block) {
      fill_uniform(values.data(), {.seed = 12, .stream = block}, 0, 10000, -5.f, 5.f);
      for (size_t row = 0; row < 1000; ++row) {
        for (size_t c = 0; c < 10; ++c) text += fmt::format("{:.6f},", values[10 * row + c]);
        text += fmt::format("{}\n", (row + block) % 10);
      }
      file.write(text.data(), text.size());
      written += text.size();
      text.clear();
    }
    file.commit();
  }
  return time_passes(
      passes, [&] { return csv(path, {.label = "y"}).batch(1024).prefetch(); }, -1);
}

PipelineResult tfrecords(const std::string& folder, int passes) {
  const std::string path = folder + "/small.tfrecord";
  if (!std::filesystem::exists(path)) {
    TfRecordWriter writer(path);
    std::vector<float> values(16);
    for (int64_t i = 0; i < 200'000; ++i) {
      fill_uniform(values.data(), {.seed = 13, .stream = static_cast<uint64_t>(i)}, 0, 16, -1.f, 1.f);
      Example example;
      example.set("values", values);
      example.set("label", i % 10);
      example.set("weight", values[0]);
      writer.write(example.serialize());
    }
    writer.commit();
  }
  const auto mapped = static_cast<int64_t>(std::filesystem::file_size(path));
  return time_passes(
      passes,
      [&] {
        return tfrecord(path, {{"values", FixedLen(DType::float32, {16})},
                               {"label", FixedLen(DType::int64)},
                               {"weight", FixedLen(DType::float32)}})
            .batch(256)
            .prefetch();
      },
      mapped);
}

const RegisteredPipelines registered{
    {"pipeline-jpeg", 4, jpeg}, {"pipeline-csv", 3, csv_rows}, {"pipeline-tfrecord", 4, tfrecords}};

}  // namespace
}  // namespace isochron::cli
