#include "models.h"

#include <stdexcept>

namespace nn = torch::nn;

namespace {

struct TransformerImpl : nn::Module {
  nn::TransformerEncoder encoder{
      nn::TransformerEncoderOptions(nn::TransformerEncoderLayerOptions(128, 4).dim_feedforward(512).dropout(0.0), 2)};
  nn::Linear out{128, 10};

  TransformerImpl() {
    register_module("encoder", encoder);
    register_module("out", out);
  }

  // x (batch, sequence, features); the C++ encoder wants the sequence first.
  torch::Tensor forward(const torch::Tensor& x) { return out(encoder(x.transpose(0, 1)).mean(0)); }
};
TORCH_MODULE(Transformer);

struct RecurrentImpl : nn::Module {
  nn::LSTM lstm{nn::LSTMOptions(128, 256).num_layers(2).batch_first(true)};
  nn::Linear out{256, 10};

  RecurrentImpl() {
    register_module("lstm", lstm);
    register_module("out", out);
  }

  torch::Tensor forward(const torch::Tensor& x) { return out(std::get<0>(lstm(x)).select(1, -1)); }
};
TORCH_MODULE(Recurrent);

nn::Sequential make_mlp() { return nn::Sequential(nn::Linear(784, 128), nn::ReLU(), nn::Linear(128, 10)); }

void channels_last(nn::Sequential& model) {
  for (auto& parameter : model->parameters())
    if (parameter.dim() == 4) parameter.set_data(parameter.contiguous(at::MemoryFormat::ChannelsLast));
}

nn::Sequential make_cnn() {
  nn::Sequential model(nn::Conv2d(1, 32, 3), nn::ReLU(), nn::Conv2d(32, 64, 3), nn::ReLU(), nn::MaxPool2d(2),
                       nn::Flatten(), nn::Linear(12 * 12 * 64, 128), nn::ReLU(), nn::Linear(128, 10));
  channels_last(model);
  return model;
}

nn::Conv2d conv(int64_t inputs, int64_t outputs, int64_t size, int64_t stride = 1) {
  return nn::Conv2d(nn::Conv2dOptions(inputs, outputs, size).stride(stride).padding(size / 2).bias(false));
}

struct BlockImpl : nn::Module {
  nn::Sequential body{nullptr}, aside{nullptr};

  BlockImpl(int64_t inputs, int64_t outputs, int64_t stride) {
    body = nn::Sequential(conv(inputs, outputs, 3, stride), nn::BatchNorm2d(outputs), nn::ReLU(),
                          conv(outputs, outputs, 3), nn::BatchNorm2d(outputs));
    register_module("body", body);
    if (stride > 1) aside = nn::Sequential(conv(inputs, outputs, 1, stride), nn::BatchNorm2d(outputs));
    if (stride > 1) register_module("aside", aside);
  }
  torch::Tensor forward(const torch::Tensor& x) {
    return torch::relu(body->forward(x) + (aside ? aside->forward(x) : x));
  }
};
TORCH_MODULE(Block);

nn::Sequential make_resnet() {
  nn::Sequential model(conv(3, 16, 3), nn::BatchNorm2d(16), nn::ReLU());
  int64_t width = 16;
  for (const auto& [filters, stride] :
       {std::pair<int64_t, int64_t>{16, 1}, {16, 1}, {32, 2}, {32, 1}, {64, 2}, {64, 1}, {128, 2}, {128, 1}}) {
    model->push_back(Block(width, filters, stride));
    width = filters;
  }
  model->push_back(nn::AdaptiveAvgPool2d(1));
  model->push_back(nn::Flatten());
  model->push_back(nn::Linear(width, 10));
  channels_last(model);
  return model;
}

// Any module holder with a forward(x), trained by Adam on softmax cross-entropy over ten classes.
template <typename Holder>
void classify(Work& work, Holder model, torch::IntArrayRef shape) {
  work.x = torch::rand(shape);
  work.y = torch::randint(0, 10, {shape[0]}, torch::kInt64);
  work.model = model.ptr();
  work.loss = [model](const torch::Tensor& x, const torch::Tensor& y) mutable {
    return nn::functional::cross_entropy(model->forward(x), y);
  };
  work.optimizer = std::make_unique<torch::optim::Adam>(model->parameters(), torch::optim::AdamOptions(1e-3));
}

void regress(Work& work) {
  nn::Linear model(1, 1);
  work.x = torch::tensor({1.0F, 2.0F, 3.0F}).reshape({3, 1});
  work.y = 2 * work.x;
  work.model = model.ptr();
  work.loss = [model](const torch::Tensor& x, const torch::Tensor& y) mutable { return torch::mse_loss(model(x), y); };
  work.optimizer = std::make_unique<torch::optim::SGD>(model->parameters(), torch::optim::SGDOptions(0.01));
}

}  // namespace

Work make_work(const std::string& name) {
  Work work;
  if (name == "mlp32" || name == "mlp1") {
    work.batch = name == "mlp1" ? 1 : 32;
    work.default_epochs = name == "mlp1" ? 4 : 12;
    classify(work, make_mlp(), {1000, 784});
  } else if (name == "linreg") {
    work.batch = 3;
    regress(work);
  } else if (name == "cnn") {
    work.batch = 64;
    work.default_epochs = 4;
    classify(work, make_cnn(), {640, 1, 28, 28});
  } else if (name == "resnet") {
    work.batch = 32;
    work.default_epochs = 4;
    classify(work, make_resnet(), {320, 3, 32, 32});
    work.x = work.x.contiguous(at::MemoryFormat::ChannelsLast);
  } else if (name == "transformer") {
    work.batch = 16;
    work.default_epochs = 5;
    classify(work, Transformer(), {160, 64, 128});
  } else if (name == "lengths") {
    work.batch = 16;
    work.default_epochs = 3;
    work.many_lengths = true;
    classify(work, Transformer(), {2048, 64, 128});
  } else if (name == "lstm") {
    work.default_epochs = 4;
    classify(work, Recurrent(), {320, 64, 128});
  } else {
    throw std::invalid_argument("unknown workload " + name);
  }
  return work;
}
