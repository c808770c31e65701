// All layers.
#pragma once

#include "isochron/nn/activation_layer.h"
#include "isochron/nn/conv_layers.h"
#include "isochron/nn/dense.h"
#include "isochron/nn/dropout.h"
#include "isochron/nn/normalization.h"
#include "isochron/nn/pool_layers.h"
#include "isochron/nn/rescaling.h"
#include "isochron/nn/reshape_layers.h"
#include "isochron/nn/resize_layers.h"
