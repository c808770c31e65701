// A small residual network that tells the direction of stripes in generated images; its block is a layer of one's own.
#include <cmath>

#include "examples/epochs.h"

namespace iso = isochron;

// relu(norm(conv(relu(norm(conv(x))))) + x)
class Residual : public iso::Layer {
 public:
  explicit Residual(int64_t filters) {
    for (int i = 0; i < 2; ++i) {
      convolutions_.push_back(
          std::make_shared<iso::Conv2D>(filters, 3, iso::ConvLayerOptions{.padding = "same", .use_bias = false}));
      norms_.push_back(std::make_shared<iso::BatchNormalization>(iso::BatchNormalizationOptions{.momentum = 0.9}));
      add_sublayer(convolutions_.back());
      add_sublayer(norms_.back());
    }
  }
  std::string class_name() const override { return "Residual"; }
  void build(const iso::Shape& input) override {
    for (const auto& sublayer : sublayers()) sublayer->ensure_built(input);
  }
  iso::Tensor call(const iso::Tensor& x, const iso::CallContext& context) override {
    const iso::Tensor y = iso::relu((*norms_[0])((*convolutions_[0])(x), context));
    return iso::relu((*norms_[1])((*convolutions_[1])(y), context) + x);
  }

 private:
  std::vector<std::shared_ptr<iso::Conv2D>> convolutions_;
  std::vector<std::shared_ptr<iso::BatchNormalization>> norms_;
};

// Stripes of four directions, of any width and place, with noise.
iso::Tensor striped_images(const iso::Tensor& labels) {
  const int64_t count = labels.shape()[0], side = 16;
  const iso::Tensor angle = iso::reshape(iso::cast(labels, iso::DType::float32) * (M_PI / 4), {count, 1, 1, 1});
  const auto per_image = [&](double low, double high) { return iso::random_uniform({count, 1, 1, 1}, low, high); };
  const iso::Tensor row = iso::reshape(iso::arange(0, side, 1, iso::DType::float32), {1, side, 1, 1});
  const iso::Tensor column = iso::reshape(row, {1, 1, side, 1});
  const iso::Tensor across = column * iso::cos(angle) + row * iso::sin(angle);
  const iso::Tensor stripes = iso::sin(across * per_image(0.6, 1.6) + per_image(0, 6.28));
  return stripes + iso::random_normal({count, side, side, 3}, 0, 0.5);
}

int main() {
  iso::set_seed(1);
  const iso::Tensor labels = iso::random_integers({640}, 0, 4).eval(), images = striped_images(labels).eval();
  iso::Sequential model{iso::Conv2D(16, 3, {.padding = "same", .activation = "relu"}),
                        Residual(16),
                        iso::MaxPooling2D(),
                        Residual(16),
                        iso::GlobalAveragePooling2D(),
                        iso::Dense(4)};
  model.compile({.optimizer = iso::Adam(3e-3),
                 .loss = iso::SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = {"accuracy"}});
  const iso::History history = model.fit(images, labels, {.epochs = 4, .batch_size = 32, .verbose = 2});
  print_epochs(history);
  return verdict(history["loss"].front(), history["loss"].back(), 0.5);
}
