#include <cmath>

#include "../op_cases.h"

namespace isochron::testing {
namespace {

Padding padding_of(const ReferenceCase& c) {
  if (!c.has("pads")) return Padding(c.texts.at("padding"));
  const std::vector<int64_t> pads = c.integers("pads");
  Padding::Widths widths;
  for (size_t i = 0; i < pads.size(); i += 2) widths.emplace_back(pads[i], pads[i + 1]);
  return Padding(widths);
}

Attributes geometry(const ReferenceCase& c) {
  return {{"strides", c.integers("strides")},
          {"dilations", c.has("dilations") ? c.integers("dilations") : Extents(c.integers("strides").size(), 1)},
          {"pads", c.integers("pads")}};
}
Attributes conv_attributes(const ReferenceCase& c, AttributeName extents) {
  Attributes a = geometry(c);
  a.set("groups", c.integer("groups"));
  a.set(extents, c.integers(std::string(extents)));
  return a;
}
Attributes pool_attributes(const ReferenceCase& c) {
  Attributes a = geometry(c);
  a.set("window", c.integers("window"));
  return a;
}
PoolOptions pool_options(const ReferenceCase& c) {
  return {.window = c.integers("window"),
          .strides = c.integers("strides"),
          .padding = padding_of(c),
          .count_padding = c.has("count_padding") && c.flag("count_padding")};
}

// Of a 3x3 convolution with one group over (…, 4, 4, …) images.
Attributes plain(AttributeName extents, Extents values) {
  return {{"strides", Extents{1, 1}},
          {"dilations", Extents{1, 1}},
          {"pads", Extents{0, 0, 0, 0}},
          {"groups", int64_t{1}},
          {extents, std::move(values)}};
}
Attributes halves() {
  return {{"strides", Extents{2, 2}},
          {"dilations", Extents{1, 1}},
          {"pads", Extents{0, 0, 0, 0}},
          {"window", Extents{2, 2}}};
}
Attributes halves(AttributeName extra, Extents values) {
  Attributes a = halves();
  a.set(extra, std::move(values));
  return a;
}
Tensor call(const char* op, const Tensors& inputs, Attributes attributes) {
  return apply(op_named(op), inputs, std::move(attributes));
}

std::vector<OpCase> convolutions() {
  return {
      {.op = "conv",
       .forward =
           [](const ReferenceCase& c) {
             return Tensors{conv(c.inputs[0], c.inputs[1],
                                 {.strides = c.integers("strides"),
                                  .padding = padding_of(c),
                                  .dilations = c.integers("dilations"),
                                  .groups = c.integer("groups")})};
           },
       .slopes = {{{points({1, 4, 3, 2}), points({2, 2, 2, 2})},
                   [](const Tensors& t) {
                     return conv(t[0], t[1], {.strides = {2, 1}, .padding = "same"});
                   }},
                  {{points({2, 5, 2}), points({2, 1, 2})},
                   [](const Tensors& t) {
                     return conv(t[0], t[1], {.padding = "causal", .dilations = {2}, .groups = 2});
                   }}},
       .refusals = {{[] {
                       return conv(zeros({2, 4, 4, 3}), zeros({3, 3, 2, 5}));
                     },
                     "ShapeError", "x has 3 channels"},
                    {[] {
                       return conv(zeros({2, 2, 2, 3}), zeros({3, 3, 3, 5}));
                     },
                     "ShapeError", "does not fit into 2 elements"},
                    {[] {
                       return conv(zeros({2, 4}), zeros({3, 3}));
                     },
                     "ShapeError", "needs (batch, one to three spatial axes"},
                    {[] {
                       return conv(zeros({2, 4, 3}), zeros({3, 3, 3, 5}));
                     },
                     "ShapeError", "needs a kernel of rank 3"},
                    {[] {
                       return conv(zeros({2, 4, 4, 3}), zeros({3, 3, 3, 5}), {.groups = 2});
                     },
                     "ShapeError", "groups must divide the channels"},
                    {[] {
                       return conv(zeros({2, 4, 4, 3}), zeros({3, 3, 3, 5}), {.strides = {0}});
                     },
                     "ValueError", "strides must be at least 1, got (0)"},
                    {[] {
                       return conv(zeros({2, 4, 4, 3}), zeros({3, 3, 3, 5}), {.padding = "causal"});
                     },
                     "ValueError", "causal padding needs one spatial axis"},
                    {[] {
                       return conv(zeros({2, 4, 4, 3}), zeros({3, 3, 3, 5}), {.padding = "samee"});
                     },
                     "ValueError", "[padding] unknown padding \"samee\"; did you mean \"same\"?"},
                    {[] {
                       return conv(zeros({2, 4, 1}, DType::int32), zeros({3, 1, 1}, DType::int32));
                     },
                     "DTypeError", "needs floats, got int32"}}},
      {.op = "conv_input_grad",
       .forward =
           [](const ReferenceCase& c) {
             return Tensors{call("conv_input_grad", c.inputs, conv_attributes(c, "input"))};
           },
       .slopes = {{{points({1, 2, 2, 2}), points({3, 3, 1, 2})},
                   [](const Tensors& t) {
                     return call("conv_input_grad", t, plain("input", {4, 4}));
                   }}},
       .refusals =
           {{[] {
               return call("conv_input_grad", {zeros({1, 2, 2, 2}), zeros({3, 3, 1, 2})}, plain("input", {5, 5}));
             },
             "ShapeError", "the convolution of this input gives (1, 3, 3, 2), got (1, 2, 2, 2)"}}},
      {.op = "conv_kernel_grad",
       .forward =
           [](const ReferenceCase& c) {
             return Tensors{call("conv_kernel_grad", c.inputs, conv_attributes(c, "window"))};
           },
       .slopes = {{{points({1, 4, 4, 2}), points({1, 2, 2, 1})},
                   [](const Tensors& t) {
                     return call("conv_kernel_grad", t, plain("window", {3, 3}));
                   }}},
       .refusals =
           {{[] {
               return call("conv_kernel_grad", {zeros({1, 4, 4, 2}), zeros({2, 2, 2, 1})}, plain("window", {3, 3}));
             },
             "ShapeError", "need one batch and equal ranks"}}},
      {.op = "conv_transpose",
       .forward =
           [](const ReferenceCase& c) {
             return Tensors{conv_transpose(
                 c.inputs[0], c.inputs[1],
                 {.strides = c.integers("strides"),
                  .padding = padding_of(c),
                  .output_padding = c.has("output_padding") ? c.integers("output_padding") : Extents{}})};
           },
       .slopes = {{{points({1, 2, 2, 2}), points({2, 2, 1, 2})},
                   [](const Tensors& t) { return conv_transpose(t[0], t[1], {.strides = {2}, .padding = "same"}); }}},
       .refusals =
           {{[] {
               return conv_transpose(zeros({1, 2, 3}), zeros({3, 4, 2}));
             },
             "ShapeError", "[conv_input_grad]"},
            {[] {
               return conv_transpose(zeros({1, 2, 2}), zeros({3, 4, 2}), {.strides = {2}, .output_padding = {2}});
             },
             "ValueError", "output_padding must be in [0, stride), got 2"}}},
  };
}

}  // namespace

std::vector<OpCase> conv_cases() {
  std::vector<OpCase> all = convolutions();
  const std::vector<OpCase> pools = {
      {.op = "max_pool",
       .forward = [](const ReferenceCase& c) { return Tensors{max_pool(c.inputs[0], pool_options(c))}; },
       .known = {{[] {
                    return max_pool(tensor(std::vector<double>{1, NAN, 3, 2}, {1, 4, 1}));
                  },
                  tensor(std::vector<double>{NAN, 3}, {1, 2, 1})}},
       .slopes = {{{points({2, 4, 3, 2})},
                   [](const Tensors& t) { return max_pool(t[0], {.window = {2}, .strides = {1}, .padding = "same"}); }},
                  {{points({1, 7, 6, 2})},
                   [](const Tensors& t) { return max_pool(t[0], {.window = {6}, .strides = {1}}); }}},
       .refusals = {{[] {
                       return max_pool(zeros({1, 1, 4, 2}));
                     },
                     "ShapeError", "does not fit into 1 elements"},
                    {[] {
                       return max_pool(zeros({1, 4, 4, 2}), {.padding = {{2, 0}, {0, 0}}});
                     },
                     "ValueError", "padding must be smaller than the window"},
                    {[] {
                       return max_pool(zeros({1, 4, 2}, DType::int64));
                     },
                     "DTypeError", "needs floats, got int64"}}},
      {.op = "max_pool_backward",
       .forward =
           [](const ReferenceCase& c) { return Tensors{call("max_pool_backward", c.inputs, pool_attributes(c))}; },
       .known = {{[] {
                    return call(
                        "max_pool_backward",
                        {ones({1, 1, 1, 1}, DType::float64), tensor(std::vector<double>{2, 3, 3, 1}, {1, 2, 2, 1})},
                        halves());
                  },
                  tensor(std::vector<double>{0, 1, 0, 0}, {1, 2, 2, 1})}},
       .slopes = {{{points({1, 2, 2, 1}), points({1, 4, 4, 1})},
                   [](const Tensors& t) { return call("max_pool_backward", t, halves()); }}},
       .refusals = {{[] {
                       return call("max_pool_backward", {zeros({1, 2, 2, 1}), zeros({1, 6, 4, 1})}, halves());
                     },
                     "ShapeError", "for x (1, 6, 4, 1) it needs (1, 3, 2, 1), got (1, 2, 2, 1)"}}},
      {.op = "max_pool_pick",
       .forward = [](const ReferenceCase& c) { return Tensors{call("max_pool_pick", c.inputs, pool_attributes(c))}; },
       .slopes = {{{points({1, 4, 4, 1}), points({1, 4, 4, 1}, -2, 2, 0.11)},
                   [](const Tensors& t) { return call("max_pool_pick", t, halves()); }}},
       .refusals = {{[] {
                       return call("max_pool_pick", {zeros({1, 4, 4, 2}), zeros({1, 4, 4, 1})}, halves());
                     },
                     "ShapeError", "for x (1, 4, 4, 1) it needs (1, 4, 4, 1), got (1, 4, 4, 2)"}}},
      {.op = "avg_pool",
       .forward = [](const ReferenceCase& c) { return Tensors{avg_pool(c.inputs[0], pool_options(c))}; },
       .slopes = {{{points({2, 4, 3, 2})},
                   [](const Tensors& t) { return avg_pool(t[0], {.window = {2}, .strides = {1}, .padding = "same"}); }},
                  {{points({1, 7, 6, 2})},
                   [](const Tensors& t) { return avg_pool(t[0], {.window = {6}, .strides = {1}}); }}},
       .refusals = {{[] {
                       return avg_pool(zeros({1, 4, 4, 2}), {.window = {2, 2, 2}});
                     },
                     "ValueError", "window needs 1 or 2 numbers, got (2, 2, 2)"}}},
      {.op = "avg_pool_backward",
       .forward =
           [](const ReferenceCase& c) {
             Attributes a = pool_attributes(c);
             a.set("count_padding", c.flag("count_padding"));
             a.set("input", c.integers("input"));
             return Tensors{call("avg_pool_backward", c.inputs, std::move(a))};
           },
       .slopes = {{{points({1, 2, 2, 1})},
                   [](const Tensors& t) { return call("avg_pool_backward", t, halves("input", {4, 5})); }}},
       .refusals = {{[] {
                       return call("avg_pool_backward", {zeros({1, 2, 2, 1})}, halves("input", {6, 4}));
                     },
                     "ShapeError", "for x (1, 6, 4, 1) it needs (1, 3, 2, 1), got (1, 2, 2, 1)"}}},
  };
  all.insert(all.end(), pools.begin(), pools.end());
  return all;
}

}  // namespace isochron::testing
