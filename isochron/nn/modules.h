// All modules in the manner of PyTorch, and what goes with them.
//
//   nn::Sequential net{nn::Conv2d(1, 32, 3), nn::ReLU(), nn::MaxPool2d(2), nn::Flatten(), nn::Linear(5408, 10)};
#pragma once

#include "isochron/nn/activation_modules.h"
#include "isochron/nn/attention_modules.h"
#include "isochron/nn/clip_grad.h"
#include "isochron/nn/conv_modules.h"
#include "isochron/nn/embedding_modules.h"
#include "isochron/nn/init.h"
#include "isochron/nn/linear.h"
#include "isochron/nn/loss_modules.h"
#include "isochron/nn/module.h"
#include "isochron/nn/module_list.h"
#include "isochron/nn/norm_modules.h"
#include "isochron/nn/pool_modules.h"
#include "isochron/nn/sequence_modules.h"
#include "isochron/nn/shape_modules.h"
#include "isochron/nn/transformer_modules.h"
