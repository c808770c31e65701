// Isochron: training in which every epoch costs the same, the first included.
//
//   #include <isochron/isochron.h>
//   namespace iso = isochron;
//
//   iso::Sequential model{iso::Dense(128, {.activation = "relu"}), iso::Dense(10)};
//   model.compile({.optimizer = iso::Adam(1e-3), .loss = iso::SparseCategoricalCrossentropy({.from_logits = true}),
//                  .metrics = {"accuracy"}});
//   auto history = model.fit(x, y, {.epochs = 10});
//   history.epoch_report().print();
#pragma once

#include "isochron/base/error.h"
#include "isochron/base/threads.h"
#include "isochron/checkpoint/safetensors.h"
#include "isochron/checkpoint/store.h"
#include "isochron/data/activity.h"
#include "isochron/data/dataset.h"
#include "isochron/data/files/csv.h"
#include "isochron/data/files/record_sources.h"
#include "isochron/data/files/tfrecord.h"
#include "isochron/data/idx.h"
#include "isochron/data/image/image.h"
#include "isochron/data/loader.h"
#include "isochron/exec/evaluate.h"
#include "isochron/exec/function.h"
#include "isochron/graph/gradient.h"
#include "isochron/graph/tape.h"
#include "isochron/nn/config.h"
#include "isochron/nn/nn.h"
#include "isochron/ops/ops.h"
#include "isochron/optim/lbfgs.h"
#include "isochron/optim/lr_scheduler.h"
#include "isochron/optim/optimizers.h"
#include "isochron/optim/torch_optimizers.h"
#include "isochron/passes/passes.h"
#include "isochron/profiler/profile.h"
#include "isochron/report/epoch_report.h"
#include "isochron/tensor/npy.h"
#include "isochron/tensor/stream.h"
#include "isochron/timeline/timeline.h"
#include "isochron/train/callback.h"
#include "isochron/train/callbacks.h"
#include "isochron/train/estimate.h"
#include "isochron/train/history.h"
#include "isochron/train/model_checkpoint.h"
#include "isochron/train/model_file.h"
#include "isochron/train/tensorboard.h"
#include "isochron/train/train_run.h"
