// What known code does: files and functions of libraries, and the words people name functions of their own with.
#pragma once

#include <cstdint>
#include <span>
#include <string_view>

#include "isochron/observe/activity.h"

namespace isochron::observe::known {

// A frame whose file contains `path` and whose function contains `function` (empty: any) means `phase`.
struct Marker {
  std::string_view path;
  std::string_view function;
  Phase phase;
  std::string_view what;
};

// In the order of precedence. Markers of one rank that are both on the stack: the outermost wins.
// Weights are drawn at once, even where a model is being built or traced.
inline constexpr Marker kDrawing[] = {
    {"torch/nn/init.py", "", Phase::init, "weight initialisation"},
    {"keras/src/initializers/", "", Phase::init, "weight initialisation"},
};
inline constexpr Marker kCompiling[] = {
    {"torch/_dynamo/", "", Phase::compile, "torch.compile"},
    {"torch/_inductor/", "", Phase::compile, "torch.compile"},
    {"torch/jit/_", "", Phase::compile, "torch.jit"},
    {"torch/onnx/", "export", Phase::compile, "ONNX export"},
    {"jax/_src/interpreters/", "", Phase::compile, "JAX tracing and compiling"},
    {"jax/_src/compiler.py", "", Phase::compile, "JAX compiling"},
    {"tensorflow/python/framework/func_graph.py", "func_graph_from_py_func", Phase::trace, "tf.function tracing"},
    {"polymorphic_function/tracing_compilation.py", "trace_function", Phase::trace, "tf.function tracing"},
    {"polymorphic_function/tracing_compilation.py", "_define_function", Phase::trace, "tf.function tracing"},
    {"polymorphic_function/polymorphic_function.py", "_initialize", Phase::trace, "tf.function tracing"},
    {"keras/src/models/", "_symbolic", Phase::build, "building the Keras model"},
    {"tensorflow/python/compiler/", "", Phase::compile, "TensorFlow compiling"},
};
inline constexpr Marker kSaving[] = {
    {"torch/serialization.py", "save", Phase::checkpoint, "torch.save"},
    {"safetensors/", "save", Phase::checkpoint, "safetensors save"},
    {"keras/src/saving/", "save", Phase::checkpoint, "Keras model save"},
    {"keras/src/callbacks/model_checkpoint.py", "", Phase::checkpoint, "ModelCheckpoint"},
    {"keras/src/models/model.py", "save", Phase::checkpoint, "Keras model save"},
    {"tensorflow/python/checkpoint/", "save", Phase::checkpoint, "tf.train.Checkpoint save"},
    {"tensorflow/python/saved_model/", "save", Phase::checkpoint, "SavedModel save"},
    {"lightning/pytorch/callbacks/model_checkpoint.py", "save", Phase::checkpoint, "ModelCheckpoint"},
    {"pytorch_lightning/callbacks/model_checkpoint.py", "save", Phase::checkpoint, "ModelCheckpoint"},
    {"transformers/trainer.py", "_save_checkpoint", Phase::checkpoint, "Trainer checkpoint"},
    {"joblib/numpy_pickle.py", "dump", Phase::checkpoint, "joblib.dump"},
    {"numpy/lib/", "save", Phase::checkpoint, "numpy.save"},
};
inline constexpr Marker kEvaluating[] = {
    {"keras/src/", "Trainer.evaluate", Phase::validate, "Keras evaluate"},
    {"lightning/pytorch/loops/evaluation_loop.py", "", Phase::validate, "Lightning validation"},
    {"pytorch_lightning/loops/evaluation_loop.py", "", Phase::validate, "Lightning validation"},
    {"transformers/trainer.py", "evaluation_loop", Phase::validate, "Trainer evaluation"},
    {"transformers/trainer.py", "evaluate", Phase::validate, "Trainer evaluation"},
    {"keras/src/utils/progbar.py", "", Phase::log, "Keras progress bar"},
    {"keras/src/callbacks/tensorboard.py", "", Phase::log, "TensorBoard callback"},
    {"keras/src/callbacks/", "on_", Phase::callback, "Keras callback"},
    {"lightning/pytorch/trainer/call.py", "_call_callback_hooks", Phase::callback, "Lightning callback"},
    {"pytorch_lightning/trainer/call.py", "_call_callback_hooks", Phase::callback, "Lightning callback"},
    {"transformers/trainer_callback.py", "call_event", Phase::callback, "Trainer callback"},
};
inline constexpr Marker kSynchronising[] = {
    {"torch/distributed/", "all_reduce", Phase::sync, "torch.distributed all_reduce"},
    {"torch/distributed/", "barrier", Phase::sync, "torch.distributed barrier"},
    {"torch/distributed/", "broadcast", Phase::sync, "torch.distributed broadcast"},
    {"torch/distributed/", "all_gather", Phase::sync, "torch.distributed all_gather"},
    {"torch/distributed/", "init_process_group", Phase::sync, "torch.distributed init_process_group"},
    {"torch/distributed/", "_store_based_barrier", Phase::sync, "torch.distributed rendezvous"},
    {"torch/distributed/", "rendezvous", Phase::sync, "torch.distributed rendezvous"},
    {"horovod/", "", Phase::sync, "Horovod"},
    {"tensorflow/python/distribute/", "barrier", Phase::sync, "tf.distribute barrier"},
    {"tensorflow/python/distribute/collective_all_reduce_strategy.py", "_initialize", Phase::sync,
     "tf.distribute waiting for all workers"},
    {"tensorflow/python/distribute/", "collective", Phase::sync, "tf.distribute collective"},
    {"tensorflow/python/eager/context.py", "configure_coordination", Phase::sync, "tf.distribute rendezvous"},
};
inline constexpr Marker kReading[] = {
    {"torch/utils/data/dataloader.py", "_MultiProcessingDataLoaderIter.__init__", Phase::input,
     "starting DataLoader workers"},
    {"torch/utils/data/dataloader.py", "_reset", Phase::input, "starting DataLoader workers"},
    {"torch/utils/data/dataloader.py", "_shutdown_workers", Phase::input, "ending DataLoader workers"},
    {"torch/utils/data/dataloader.py", "__iter__", Phase::input, "starting the DataLoader"},
    {"torch/utils/data/dataloader.py", "__next__", Phase::input, "DataLoader"},
    {"torch/utils/data/", "", Phase::input, "DataLoader"},
    {"tensorflow/python/data/ops/iterator_ops.py", "_next", Phase::input, "tf.data iterator"},
    {"tensorflow/python/ops/script_ops.py", "", Phase::input, "tf.data Python function"},
    {"tensorflow/python/data/", "", Phase::input, "tf.data"},
    {"keras/src/trainers/data_adapters/", "", Phase::input, "Keras data adapter"},
    {"webdataset/filters.py", "_shuffle", Phase::input, kShuffleFill},
    {"torchdata/", "", Phase::input, "torchdata"},
    {"datasets/arrow_dataset.py", "", Phase::input, "Hugging Face dataset"},
    {"datasets/iterable_dataset.py", "", Phase::input, "Hugging Face dataset"},
    {"transformers/tokenization", "", Phase::input, "tokenizing"},
    {"PIL/", "", Phase::input, "image decoding"},
    {"torchvision/io/", "", Phase::input, "image decoding"},
    {"torchvision/transforms/", "", Phase::input, "image transforms"},
    {"albumentations/", "", Phase::input, "image transforms"},
    {"skimage/", "", Phase::input, "image transforms"},
    {"imageio/", "", Phase::input, "image decoding"},
    {"librosa/", "", Phase::input, "audio decoding"},
    {"torchaudio/", "", Phase::input, "audio decoding"},
    {"numpy/lib/", "load", Phase::input, "numpy.load"},
    {"numpy/lib/", "genfromtxt", Phase::input, "numpy.genfromtxt"},
    {"h5py/_hl/dataset.py", "__getitem__", Phase::input, "HDF5 reading"},
    {"gzip.py", "read", Phase::input, "gzip reading"},
    {"gzip.py", "decompress", Phase::input, "gzip reading"},
    {"zipfile", "read", Phase::input, "zip reading"},
    {"tarfile.py", "read", Phase::input, "tar reading"},
    {"json/decoder.py", "", Phase::input, "json reading"},
    {"pandas/io/formats/", "", Phase::log, "pandas writing"},
    {"pandas/io/", "", Phase::input, "pandas reading"},
};
inline constexpr Marker kInitialising[] = {
    {"", "reset_parameters", Phase::init, "weight initialisation"},
    {"torch/serialization.py", "load", Phase::init, "torch.load"},
    {"keras/src/saving/", "load", Phase::init, "loading a Keras model"},
    {"tensorflow/python/checkpoint/", "restore", Phase::init, "restoring a checkpoint"},
    {"keras/src/layers/layer.py", "build", Phase::build, "building a Keras layer"},
    {"keras/src/models/", "build", Phase::build, "building the Keras model"},
};
inline constexpr Marker kLogging[] = {
    {"torch/utils/tensorboard/", "", Phase::log, "TensorBoard writer"},
    {"tensorboard/", "", Phase::log, "TensorBoard writer"},
    {"tensorflow/python/ops/summary_ops_v2.py", "", Phase::log, "tf.summary"},
    {"logging/__init__.py", "", Phase::log, "logging"},
    {"wandb/", "", Phase::log, "wandb"},
    {"mlflow/", "", Phase::log, "mlflow"},
    {"json/__init__.py", "dump", Phase::log, "json.dump"},
    {"json/encoder.py", "", Phase::log, "json.dump"},
    {"lib/python", "csv.py", Phase::log, "csv"},
};
// What comes over the network is input, unless a logger or a saver above it sends something.
inline constexpr Marker kFetching[] = {
    {"urllib/request.py", "", Phase::input, "fetching over HTTP"},
    {"http/client.py", "", Phase::input, "fetching over HTTP"},
    {"urllib3/", "", Phase::input, "fetching over HTTP"},
    {"requests/", "", Phase::input, "fetching over HTTP"},
    {"aiohttp/", "", Phase::input, "fetching over HTTP"},
    {"fsspec/", "", Phase::input, "reading remote files"},
    {"botocore/", "", Phase::input, "reading from object storage"},
    {"google/cloud/storage/", "", Phase::input, "reading from object storage"},
    {"pymongo/", "", Phase::input, "querying a database"},
    {"psycopg", "", Phase::input, "querying a database"},
    {"sqlalchemy/", "", Phase::input, "querying a database"},
    {"redis/", "", Phase::input, "querying a database"},
};
inline constexpr Marker kComputing[] = {
    {"torch/optim/", "step", Phase::update, "optimizer step"},
    {"keras/src/optimizers/", "apply", Phase::update, "optimizer step"},
    {"tensorflow/python/client/session.py", "run", Phase::forward, "session.run"},
    {"torch/_tensor.py", "backward", Phase::backward, "backward"},
    {"torch/autograd/", "backward", Phase::backward, "backward"},
    {"torch/autograd/__init__.py", "grad", Phase::backward, "backward"},
    {"torch/nn/modules/module.py", "_call_impl", Phase::forward, "forward"},
    {"torch/nn/functional.py", "", Phase::forward, "forward"},
    {"torchmetrics/", "", Phase::metrics, "torchmetrics"},
    {"sklearn/metrics/", "", Phase::metrics, "scikit-learn metrics"},
};

// Parts of the compilers that run compiled code, or step aside for code that is not to be compiled (optimizers).
inline constexpr std::string_view kRunsCompiled[] = {"torch/_dynamo/eval_frame.py", "torch/_dynamo/external_utils.py",
                                                     "torch/_dynamo/decorators.py", "torch/_inductor/output_code.py",
                                                     "torch/_inductor/utils.py",    "torch/_inductor/runtime/"};

inline constexpr std::string_view kExecutor = "tensorflow/python/eager/execute.py";

// What user functions are called when they do one of the known jobs. Short words must begin the name:
// `train_and_save` trains.
struct Word {
  std::string_view word;
  Phase phase;
  std::string_view what = "";
  bool begins = false;
};
inline constexpr Word kWords[] = {
    {"validate", Phase::validate},
    {"validation", Phase::validate},
    {"evaluate", Phase::validate},
    {"eval_epoch", Phase::validate},
    {"eval_model", Phase::validate},
    {"eval_loop", Phase::validate},
    {"run_eval", Phase::validate},
    {"test_epoch", Phase::validate},
    {"checkpoint", Phase::checkpoint},
    {"save_model", Phase::checkpoint},
    {"save_state", Phase::checkpoint},
    {"save_ckpt", Phase::checkpoint},
    {"export_model", Phase::checkpoint},
    {"log_metric", Phase::log},
    {"log_step", Phase::log},
    {"log_batch", Phase::log},
    {"log_scalar", Phase::log},
    {"write_log", Phase::log},
    {"write_metric", Phase::log},
    {"dump_log", Phase::log},
    {"dump_metric", Phase::log},
    {"dump_history", Phase::log},
    {"on_epoch_end", Phase::callback},
    {"callback", Phase::callback},
    {"fill_buffer", Phase::input, kShuffleFill},
    {"fill_shuffle", Phase::input, kShuffleFill},
    {"shuffle_buffer", Phase::input, kShuffleFill},
    {"fill_cache", Phase::input, kCacheFill},
    {"build_cache", Phase::input, kCacheFill},
    {"populate_cache", Phase::input, kCacheFill},
    {"__getitem__", Phase::input},
    {"load_batch", Phase::input},
    {"next_batch", Phase::input},
    {"get_batch", Phase::input},
    {"read_batch", Phase::input},
    {"fetch", Phase::input},
    {"sample_batch", Phase::input},
    {"make_batch", Phase::input},
    {"iter_batches", Phase::input},
    {"load_image", Phase::input},
    {"read_image", Phase::input},
    {"load_item", Phase::input},
    {"load_example", Phase::input},
    {"parse_example", Phase::input},
    {"parse_record", Phase::input},
    {"parse_line", Phase::input},
    {"tokenize", Phase::input},
    {"apply_transform", Phase::input},
    {"augment", Phase::input},
    {"preprocess", Phase::input},
    {"collate", Phase::input},
    {"load_data", Phase::input},
    {"read_sample", Phase::input},
    {"load_sample", Phase::input},
    {"read_record", Phase::input},
    {"decode_image", Phase::input},
    {"all_reduce", Phase::sync},
    {"allreduce", Phase::sync},
    {"barrier", Phase::sync},
    {"init_weights", Phase::init},
    {"init_params", Phase::init},
    {"weight_init", Phase::init},
    {"initiali", Phase::init},  // -ze, -se, -sation
    {"orthogonal", Phase::init},
    {"xavier", Phase::init},
    {"kaiming", Phase::init},
    {"glorot", Phase::init},
    {"build_graph", Phase::build},
    {"compile_model", Phase::compile},
    {"backward", Phase::backward},
    {"compute_metrics", Phase::callback},
    {"eval", Phase::validate, "", true},
    {"valid", Phase::validate, "", true},
    {"test", Phase::validate, "", true},
    {"accuracy", Phase::validate, "", true},
    {"save", Phase::checkpoint, "", true},
    {"snapshot", Phase::checkpoint, "", true},
    {"export", Phase::checkpoint, "", true},
    {"write", Phase::log, "", true},
    {"dump", Phase::log, "", true},
    {"plot", Phase::callback, "", true},
    {"visuali", Phase::callback, "", true},
    {"render", Phase::callback, "", true},
    {"load_model", Phase::init, "", true},
    {"load_weights", Phase::init, "", true},
    {"load_state", Phase::init, "", true},
    {"load", Phase::input, "", true},
    {"read", Phase::input, "", true},
    {"decode", Phase::input, "", true},
    {"parse", Phase::input, "", true},
};

enum Rank {
  drawing,
  compiling,
  saving,
  evaluating,
  synchronising,
  reading,
  initialising,
  logging,
  fetching,
  computing,
  kRanks
};
inline constexpr std::span<const Marker> kMarkers[kRanks] = {kDrawing,       kCompiling, kSaving,       kEvaluating,
                                                             kSynchronising, kReading,   kInitialising, kLogging,
                                                             kFetching,      kComputing};

struct Package {
  std::string_view folder, framework;
};
// The most special one first.
inline constexpr Package kPackages[] = {{"/pytorch_lightning/", "lightning"},
                                        {"/lightning/", "lightning"},
                                        {"/keras/src/", "keras"},
                                        {"/tensorflow/python/", "tensorflow"},
                                        {"/torch/", "torch"}};

}  // namespace isochron::observe::known
