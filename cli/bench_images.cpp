// Workloads on images: cnn, mnist, resnet.
#include "cli/bench.h"
#include "cli/data_folder.h"
#include "isochron/base/clock.h"
#include "isochron/data/idx.h"

namespace isochron::cli {
namespace {

void compile(Model& model, std::vector<AnyMetric> metrics = {}) {
  model.compile({.optimizer = Adam(1e-3),
                 .loss = SparseCategoricalCrossentropy({.from_logits = true}),
                 .metrics = std::move(metrics)});
}

std::vector<AnyLayer> cnn_layers() {
  return {Conv2D(32, 3, {.activation = "relu"}),
          Conv2D(64, 3, {.activation = "relu"}),
          MaxPooling2D(2),
          Flatten(),
          Dense(128, {.activation = "relu"}),
          Dense(10)};
}

BenchResult cnn(int epochs) {
  Sequential model(cnn_layers());
  compile(model);
  return bench_train(model, random_rows({640, 28, 28, 1}), random_labels(640, 10), 64, epochs);
}

// From the gzipped files to the accuracy on the test images. Pixels stay bytes until their batch is computed.
BenchResult mnist(int epochs) {
  const data::Mnist mnist = data::read_mnist(data_folder() + "/mnist");
  const auto images = [](const Tensor& x) { return reshape(x, {-1, 28, 28, 1}).eval(); };
  Sequential model{Rescaling(1.0 / 255)};
  for (const AnyLayer& layer : cnn_layers()) model.add(layer);
  compile(model, {"accuracy"});
  BenchResult result = bench_train(model, images(mnist.train_images), mnist.train_labels, 64, epochs);
  const Logs logs = model.evaluate(images(mnist.test_images), mnist.test_labels, {.batch_size = 200, .verbose = 0});
  result.accuracy = logs.back().second;
  result.evaluated_ns = monotonic_ns();
  return result;
}

// relu(normed conv 3x3 (relu (normed conv 3x3 (x))) + x); with a stride, a normed conv 1x1 takes the place of x.
class ResidualBlock : public Layer {
 public:
  ResidualBlock(int64_t filters, int64_t stride)
      : first_(filters, 3, stride), second_(filters, 3, 1), aside_(filters, 1, stride), strided_(stride > 1) {
    first_.add_to(*this);
    second_.add_to(*this);
    if (strided_) aside_.add_to(*this);
  }
  std::string class_name() const override { return "ResidualBlock"; }
  void build(const Shape& input) override {
    second_.build(first_.build(input));
    if (strided_) aside_.build(input);
  }
  Tensor call(const Tensor& x, const CallContext& context) override {
    const Tensor y = second_(relu(first_(x, context)), context);
    return relu(y + (strided_ ? aside_(x, context) : x));
  }

 private:
  struct NormedConv {
    std::shared_ptr<Conv2D> conv;
    std::shared_ptr<BatchNormalization> norm = std::make_shared<BatchNormalization>();
    NormedConv(int64_t filters, int64_t size, int64_t stride)
        : conv(std::make_shared<Conv2D>(filters, size,
                                        ConvLayerOptions{.strides = stride, .padding = "same", .use_bias = false})) {}
    void add_to(ResidualBlock& block) const {
      block.add_sublayer(conv);
      block.add_sublayer(norm);
    }
    Shape build(const Shape& input) const {
      conv->ensure_built(input);
      const Shape output = conv->output_shape(input);
      norm->ensure_built(output);
      return output;
    }
    Tensor operator()(const Tensor& x, const CallContext& context) const { return (*norm)((*conv)(x), context); }
  };
  NormedConv first_, second_, aside_;
  bool strided_;
};

BenchResult resnet(int epochs) {
  Sequential model{Conv2D(16, 3, {.padding = "same", .use_bias = false}), BatchNormalization(), Activation("relu")};
  int64_t width = 16;
  for (const int64_t filters : {16, 16, 32, 32, 64, 64, 128, 128}) {
    model.add(ResidualBlock(filters, filters == width ? 1 : 2));
    width = filters;
  }
  model.add(GlobalAveragePooling2D());
  model.add(Dense(10));
  compile(model);
  return bench_train(model, random_rows({320, 32, 32, 3}), random_labels(320, 10), 32, epochs);
}

const RegisteredWorkloads registered{{"cnn", 4, cnn}, {"mnist", 1, mnist}, {"resnet", 4, resnet}};

}  // namespace
}  // namespace isochron::cli
