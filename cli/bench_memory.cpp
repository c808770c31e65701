// Pipelines from memory: pipeline-images, pipeline-loader, pipeline-sleep, pipeline-overhead.
#include <chrono>
#include <cstdlib>
#include <thread>

#include "cli/bench_pipeline.h"
#include "isochron/base/rng.h"
#include "isochron/base/threads.h"
#include "isochron/data/loader.h"

namespace isochron::cli {
namespace {

using namespace data;

// What NumPy's random.rand gives: 100,000 images of 28 x 28 x 3 as float64, 1.9 GB. Not timed.
PipelineResult images(const std::string&, int passes) {
  constexpr int64_t kImages = 100'000;
  const Shape shape{kImages, 28, 28, 3};
  Storage pixels = Storage::allocate(static_cast<size_t>(shape.elements()) * sizeof(double));
  auto* values = reinterpret_cast<double*>(pixels.data());
  ThreadTeam& team = ThreadTeam::global();
  team.parallel(team.size(), [&](int thread, int threads) {
    fill_uniform(values, {.seed = 1, .stream = 0}, shape.elements() * thread / threads,
                 shape.elements() * (thread + 1) / threads, 0.0, 1.0);
  });
  std::vector<int64_t> classes(kImages);
  fill_integers(classes.data(), {.seed = 2, .stream = 0}, 0, kImages, int64_t{0}, int64_t{10});
  const Tensor x = Tensor::from_storage(std::move(pixels), {DType::float64, shape});
  const Tensor y = Tensor::from_buffer(std::move(classes), {kImages});
  return time_passes(passes, [&] {
    return from_tensor_slices(x, y).shuffle(kImages).batch(32).cast({.dtype = DType::float32}).prefetch();
  });
}

// PyTorch's tutorial class: rows and labels, element by element.
struct RandomRows : MapStyleDataset {
  static constexpr int64_t kRows = 10'000, kColumns = 100;
  Component x, y;
  RandomRows() {
    std::vector<float> values(kRows * kColumns);
    std::vector<int64_t> labels(kRows);
    fill_normal(values.data(), {.seed = 1, .stream = 0}, 0, kRows * kColumns, 0.f, 1.f);
    fill_integers(labels.data(), {.seed = 2, .stream = 0}, 0, kRows, int64_t{0}, int64_t{10});
    x = Tensor::from_buffer(std::move(values), {kRows, kColumns});
    y = Tensor::from_buffer(std::move(labels), {kRows});
  }
  int64_t size() const override { return kRows; }
  Element get(int64_t i) const override { return make_element(row_of(x, i), row_of(y, i)); }
};

PipelineResult loader(const std::string&, int passes) {
  const auto rows = std::make_shared<RandomRows>();
  return time_passes(passes, [&] { return DataLoader(rows, {.batch_size = 128, .shuffle = true}).dataset(); });
}

// 32 batches whose function sleeps 50 ms; nothing known from earlier runs.
PipelineResult sleeping(const std::string&, int passes) {
  setenv("ISOCHRON_CACHE_DIR", "", 1);
  return time_passes(passes, [] {
    return range(32 * 32)
        .batch(32)
        .map(
            [](const Element& batch) {
              std::this_thread::sleep_for(std::chrono::milliseconds(50));
              return batch;
            },
            {.num_parallel_calls = AUTOTUNE, .name = "sleep"})
        .prefetch();
  });
}

// A function that does nothing, then batches: what the machinery itself costs an element.
PipelineResult overhead(const std::string&, int passes) {
  return time_passes(passes,
                     [] { return range(1'000'000).map([](const Element& element) { return element; }).batch(256); });
}

const RegisteredPipelines registered{{"pipeline-images", 4, images},
                                     {"pipeline-loader", 8, loader},
                                     {"pipeline-sleep", 3, sleeping},
                                     {"pipeline-overhead", 4, overhead}};

}  // namespace
}  // namespace isochron::cli
