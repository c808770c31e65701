// A folder of images with a folder for each class, read with augmentation: random parts, mirrored half of the time.
// The images are made here, stripes that run across or down; a small model learns to tell them apart.
#include <cmath>
#include <filesystem>

#include "examples/epochs.h"
#include "isochron/base/files.h"

namespace iso = isochron;

void make_images(const std::string& folder) {
  for (int label = 0; label < 2; ++label) {
    const std::string place = folder + (label == 0 ? "/across" : "/down");
    std::filesystem::create_directories(place);
    for (int i = 0; i < 100; ++i) {
      std::vector<uint8_t> pixels;
      for (int y = 0; y < 40; ++y)
        for (int x = 0; x < 40; ++x)
          for (int c = 0; c < 3; ++c)
            pixels.push_back(static_cast<uint8_t>(128 + 100 * std::sin(0.8 * (label == 0 ? y : x) + i + c)));
      const iso::Tensor image = iso::Tensor::from_buffer(std::move(pixels), {40, 40, 3});
      iso::write_file(fmt::format("{}/{:03}.jpg", place, i), iso::data::encode_jpeg(image));
    }
  }
}

int main() {
  iso::set_seed(1);
  const iso::TempFolder folder;
  make_images(folder.path());

  const iso::data::Augmentation augmentation{.height = 32, .width = 32, .mean = {0.5f, 0.5f, 0.5f}};
  const auto train =
      iso::data::image_files(folder.path())
          .shuffle(200)
          .map(
              [=](const std::string& file, int64_t label, const iso::data::ElementContext& at) {
                const std::string bytes = iso::read_file(file);
                return std::pair(iso::data::decode_augmented(bytes, augmentation, at.random_seed, file), label);
              },
              {.num_parallel_calls = iso::data::AUTOTUNE, .name = "decode"})
          .batch(20)
          .prefetch();

  iso::nn::Linear hidden(32 * 32 * 3, 32), out(32, 2);
  std::vector<iso::Variable> weights = hidden.parameters();
  for (const iso::Variable& weight : out.parameters()) weights.push_back(weight);
  iso::optim::Adam optimizer(weights, {.lr = 0.002});
  Epochs epochs;
  std::vector<double> losses;
  for (int epoch = 0; epoch < 8; ++epoch)
    epochs.run([&] {
      double sum = 0;
      for (const iso::data::Element& batch : train) {
        auto [images, labels] = batch.tensors<2>();
        const iso::Tensor logits = out(iso::relu(hidden(images.reshape({-1, 32 * 32 * 3}))));
        const iso::Tensor loss = iso::mean(iso::sparse_softmax_cross_entropy(logits, labels));
        optimizer.zero_grad();
        loss.backward();
        optimizer.step();
        sum += loss.item();
      }
      losses.push_back(sum);
    });
  epochs.print();
  return verdict(losses.front(), losses.back(), 0.3);
}
