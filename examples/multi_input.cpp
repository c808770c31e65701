// Two inputs, two outputs, each with a loss, a weight and metrics of its own: support tickets by title and body.
#include "examples/epochs.h"

namespace iso = isochron;

int main() {
  iso::set_seed(1);
  const int64_t rows = 2000;
  const iso::Tensor title = iso::random_normal({rows, 20}).eval(), body = iso::random_normal({rows, 50}).eval();
  const iso::Tensor words = (iso::sum(title, {1}, true) + 0.5 * iso::sum(body, {1}, true)).eval();
  const iso::Tensor priority = iso::tanh(0.2 * words).eval();
  const iso::Tensor department = iso::cast(iso::squeeze(words > 0, {1}), iso::DType::int64).eval();

  const auto title_in = iso::Input({20}, {.name = "title"}), body_in = iso::Input({50}, {.name = "body"});
  const auto joined = iso::Concatenate()(
      {iso::Dense(16, {.activation = "relu"})(title_in), iso::Dense(32, {.activation = "relu"})(body_in)});
  auto x = iso::Dense(48, {.activation = "relu"})(joined);
  const auto shared = iso::Add()({x, joined});  // a residual connection
  iso::Model model({title_in, body_in},
                   {iso::Dense(1, {.name = "priority"})(shared), iso::Dense(2, {.name = "department"})(shared)});
  fmt::print("{}", model.summary());

  model.compile(
      {.optimizer = iso::Adam(1e-3),
       .loss = {{"priority", "mse"}, {"department", iso::SparseCategoricalCrossentropy({.from_logits = true})}},
       .metrics = {{"department", {"accuracy"}}},
       .loss_weights = {{"priority", 2}, {"department", 1}}});
  const iso::History history =
      model.fit({{"title", title}, {"body", body}}, {{"priority", priority}, {"department", department}},
                {.epochs = 8, .verbose = 2});

  print_epochs(history);
  return verdict(history["loss"].front(), history["loss"].back(), 0.6);
}
