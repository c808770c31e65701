// Examples written to a TFRecord file, as TensorFlow would write them, and read back in shuffled batches.
#include "examples/epochs.h"
#include "isochron/base/files.h"

namespace iso = isochron;

int main() {
  const iso::TempFolder folder;
  const std::string path = folder.file("train.tfrecord");
  {
    iso::data::TfRecordWriter writer(path);
    for (int64_t i = 0; i < 10000; ++i) {
      iso::data::Example example;
      example.set("x", std::vector<float>{static_cast<float>(i), static_cast<float>(-i)});
      example.set("label", i % 10);
      writer.write(example.serialize());
    }
    writer.commit();
  }

  const auto train = iso::data::tfrecord(path, {{"x", iso::data::FixedLen(iso::DType::float32, {2})},
                                                {"label", iso::data::FixedLen(iso::DType::int64)}})
                         .shuffle(10000)
                         .batch(64)
                         .prefetch();
  Epochs epochs;
  int64_t wrong = 0;
  double sum = 0;
  for (int epoch = 0; epoch < 5; ++epoch)
    epochs.run([&] {
      for (const iso::data::Element& batch : train) {
        const auto x = batch["x"].tensor().to_vector<float>();
        const auto labels = batch["label"].tensor().to_vector<int64_t>();
        for (size_t i = 0; i < labels.size(); ++i) {
          wrong += x[2 * i] != -x[2 * i + 1] || static_cast<int64_t>(x[2 * i]) % 10 != labels[i];
          sum += x[2 * i];
        }
      }
    });
  epochs.print();
  const bool same = wrong == 0 && sum == 5 * 10000.0 * 9999 / 2;
  fmt::print("{}\n", same ? "every example came back in every epoch" : "examples were lost or changed");
  return same ? 0 : 1;
}
