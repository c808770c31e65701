// All of nn/.
#pragma once

#include "isochron/nn/activations.h"
#include "isochron/nn/confusion_metrics.h"
#include "isochron/nn/ctc.h"
#include "isochron/nn/initializers.h"
#include "isochron/nn/iou_metrics.h"
#include "isochron/nn/layer.h"
#include "isochron/nn/layers.h"
#include "isochron/nn/losses.h"
#include "isochron/nn/metrics.h"
#include "isochron/nn/model.h"
#include "isochron/nn/modules.h"
#include "isochron/nn/pair_losses.h"
#include "isochron/nn/r2_score.h"
#include "isochron/nn/symbolic_ops.h"
#include "isochron/nn/torch_losses.h"
