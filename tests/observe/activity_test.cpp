#include "isochron/observe/activity.h"

#include <gtest/gtest.h>

namespace isochron::observe {
namespace {

// Frames from "file:line function" texts, innermost first. Paths below lib/ are those of packages.
std::vector<PythonFrame> stack(std::initializer_list<std::pair<std::string, std::string>> frames) {
  std::vector<PythonFrame> out;
  for (auto [path, function] : frames) {
    auto code = std::make_shared<PythonCode>();
    code->file = path.starts_with("lib/") ? "/usr/lib/python3/dist-packages/" + path.substr(4) : path;
    code->function = function;
    out.push_back({code, 41});
  }
  return out;
}

const std::pair<std::string, std::string> kImport = {"<frozen importlib._bootstrap>", "_find_and_load"};

TEST(Activity, ImportInsideAForwardPassIsAnImport) {
  const Activity activity = activity_of(stack({{"lib/lightning/fabric/x.py", "<module>"},
                                               kImport,
                                               {"lib/lightning/__init__.py", "<module>"},
                                               kImport,
                                               {"/home/me/train.py", "Net.forward"},
                                               {"lib/torch/nn/modules/module.py", "Module._call_impl"},
                                               {"/home/me/train.py", "<module>"}}));
  EXPECT_EQ(activity.phase, Phase::start);
  EXPECT_EQ(activity.what, "import lightning");
  EXPECT_EQ(activity.user, "train.py:41 Net.forward");
}

TEST(Activity, ALoadedLibraryTellsTheFrameworkIfThereIsOne) {
  const std::string torch = "/venv/torch/lib/libtorch_cpu.so", tensorflow = "/venv/tensorflow/libtensorflow_cc.so.2";
  EXPECT_EQ(loaded_framework(std::vector<std::string>{"/lib/libc.so.6", torch}), "torch");
  EXPECT_EQ(loaded_framework(std::vector<std::string>{tensorflow}), "tensorflow");
  EXPECT_EQ(loaded_framework(std::vector<std::string>{torch, tensorflow}), "");
  EXPECT_EQ(loaded_framework({}), "");
}

TEST(Activity, LoadingACompilerIsNoCompiling) {
  const Activity activity = activity_of(stack({{"lib/torch/_dynamo/source.py", "<module>"},
                                               kImport,
                                               {"lib/torch/_compile.py", "_disable_dynamo"},
                                               {"lib/torch/optim/optimizer.py", "Optimizer.add_param_group"},
                                               {"/home/me/train.py", "<module>"}}));
  EXPECT_EQ(activity.phase, Phase::start);
  EXPECT_EQ(activity.what, "import torch");
  // What it loads of itself when it compiles is part of that.
  EXPECT_EQ(activity_of(stack({{"lib/sympy/core.py", "<module>"},
                               kImport,
                               {"lib/torch/_inductor/ir.py", "<module>"},
                               kImport,
                               {"lib/torch/_dynamo/convert_frame.py", "compile_frame"},
                               {"/home/me/train.py", "<module>"}}))
                .phase,
            Phase::compile);
}

TEST(Activity, WhatComesOverTheNetworkIsInputUnlessALoggerSendsIt) {
  EXPECT_EQ(activity_of(stack({{"lib/python3.11/socket.py", "SocketIO.readinto"},
                               {"lib/python3.11/http/client.py", "HTTPResponse.read"},
                               {"/home/me/train.py", "<module>"}}))
                .phase,
            Phase::input);
  EXPECT_EQ(activity_of(stack({{"lib/python3.11/http/client.py", "HTTPConnection.send"},
                               {"lib/site-packages/mlflow/tracking/client.py", "MlflowClient.log_metric"},
                               {"/home/me/train.py", "<module>"}}))
                .phase,
            Phase::log);
}

TEST(Activity, TranslatedFunctionsAreNotTheUsersFiles) {
  const Activity activity =
      activity_of(stack({{"lib/tensorflow/python/framework/ops.py", "Graph._create_op_internal"},
                         {"/tmp/__autograph_generated_file3_8fh96_.py", "outer_factory.<locals>.tf__step"},
                         {"lib/tensorflow/python/framework/func_graph.py", "func_graph_from_py_func"},
                         {"/home/me/train.py", "<module>"}}));
  EXPECT_EQ(activity.user, "train.py:41 <module>");
}

TEST(Activity, TrainingWhileItsModuleIsImportedIsNoImport) {
  const Activity activity = activity_of(stack({{"lib/torch/optim/adam.py", "Adam.step"},
                                               {"/home/me/train.py", "<module>"},
                                               kImport,
                                               {"/home/me/main.py", "<module>"}}));
  EXPECT_EQ(activity.phase, Phase::update);
}

TEST(Activity, AnOptimizerThatRunsTheWholeStepIsNotAllUpdate) {
  const std::pair<std::string, std::string> step = {"lib/torch/optim/optimizer.py",
                                                    "Optimizer.profile_hook_step.<locals>.wrapper"},
                                            closure = {"lib/lightning/pytorch/loops/closure.py", "Closure.__call__"},
                                            user = {"/home/me/train.py", "<module>"};
  EXPECT_EQ(activity_of(stack({{"lib/torch/nn/modules/module.py", "Module._call_impl"}, closure, step, user})).phase,
            Phase::forward);
  EXPECT_EQ(activity_of(stack({{"lib/torch/autograd/graph.py", "_engine_run_backward"}, closure, step, user})).phase,
            Phase::backward);
  EXPECT_EQ(activity_of(stack({{"lib/torch/optim/adam.py", "_single_tensor_adam"},
                               {"lib/torch/autograd/profiler.py", "record_function.__exit__"},
                               {"lib/torch/optim/adam.py", "Adam.step"},
                               step,
                               user}))
                .phase,
            Phase::update);
}

TEST(Activity, WeightsDrawnWhileAModelIsBuiltAreInitialisation) {
  const Activity activity =
      activity_of(stack({{"lib/tensorflow/python/eager/execute.py", "quick_execute"},
                         {"lib/keras/src/initializers/random_initializers.py", "Orthogonal.__call__"},
                         {"lib/keras/src/layers/layer.py", "Layer.build_wrapper"},
                         {"lib/keras/src/models/model.py", "Model._symbolic_build"},
                         {"/home/me/train.py", "<module>"}}));
  EXPECT_EQ(activity.phase, Phase::init);
}

TEST(Activity, PandasReadsInputAndWritesLogs) {
  const std::pair<std::string, std::string> user = {"/home/me/train.py", "<module>"};
  EXPECT_EQ(activity_of(stack({{"lib/pandas/io/formats/csvs.py", "CSVFormatter.save"}, user})).phase, Phase::log);
  EXPECT_EQ(activity_of(stack({{"lib/pandas/io/parsers/readers.py", "read_csv"}, user})).phase, Phase::input);
}

TEST(Activity, ForwardInsideValidationIsValidation) {
  EXPECT_EQ(activity_of(stack({{"lib/torch/nn/modules/module.py", "Module._call_impl"},
                               {"/home/me/train.py", "validate"},
                               {"/home/me/train.py", "main"}}))
                .phase,
            Phase::validate);
  EXPECT_EQ(activity_of(stack({{"lib/tensorflow/python/eager/execute.py", "quick_execute"},
                               {"lib/keras/src/backend/tensorflow/trainer.py", "TensorFlowTrainer.evaluate"},
                               {"lib/keras/src/backend/tensorflow/trainer.py", "TensorFlowTrainer.fit"}}))
                .phase,
            Phase::validate);
}

TEST(Activity, RunningCompiledCodeIsNoCompiling) {
  const auto frames = stack({{"lib/torch/optim/adam.py", "Adam.step"},
                             {"lib/torch/_dynamo/eval_frame.py", "DisableContext.__call__.<locals>._fn"},
                             {"lib/torch/_compile.py", "_disable_dynamo.<locals>.inner"},
                             {"/home/me/train.py", "<module>"}});
  EXPECT_EQ(activity_of(frames).phase, Phase::update);
  EXPECT_EQ(framework_of(frames), "torch");
  EXPECT_EQ(activity_of(stack({{"lib/torch/_dynamo/convert_frame.py", "compile_inner"},
                               {"lib/torch/_dynamo/eval_frame.py", "_fn"},
                               {"/home/me/train.py", "<module>"}}))
                .phase,
            Phase::compile);
}

TEST(Activity, TracingBeatsWhateverItTraces) {
  const Activity activity =
      activity_of(stack({{"lib/keras/src/backend/tensorflow/trainer.py", "TensorFlowTrainer.test_step"},
                         {"lib/tensorflow/python/framework/func_graph.py", "func_graph_from_py_func"},
                         {"lib/keras/src/backend/tensorflow/trainer.py", "TensorFlowTrainer.evaluate"}}));
  EXPECT_EQ(activity.phase, Phase::trace);
  EXPECT_FALSE(activity.executing);
}

TEST(Activity, DecodingInsideALoaderIsInput) {
  const Activity activity = activity_of(stack({{"lib/PIL/Image.py", "Image.resize"},
                                               {"/home/me/train.py", "Leaves.__getitem__"},
                                               {"lib/torch/utils/data/_utils/fetch.py", "fetch"},
                                               {"lib/torch/utils/data/dataloader.py", "_BaseDataLoaderIter.__next__"},
                                               {"/home/me/train.py", "<module>"}}));
  EXPECT_EQ(activity.phase, Phase::input);
  EXPECT_EQ(activity.user, "train.py:41 Leaves.__getitem__");
}

TEST(Activity, InitialisationInsideAForwardPassIsInitialisation) {
  EXPECT_EQ(activity_of(stack({{"lib/torch/nn/init.py", "orthogonal_"},
                               {"/home/me/net.py", "Memory.forward"},
                               {"lib/torch/nn/modules/module.py", "Module._call_impl"}}))
                .phase,
            Phase::init);
}

TEST(Activity, ACheckpointInACallbackIsACheckpointAndOtherCallbacksAreCallbacks) {
  EXPECT_EQ(activity_of(stack({{"lib/keras/src/saving/saving_lib.py", "save_model"},
                               {"lib/keras/src/callbacks/model_checkpoint.py", "ModelCheckpoint.on_epoch_end"},
                               {"lib/keras/src/callbacks/callback_list.py", "CallbackList.on_epoch_end"}}))
                .phase,
            Phase::checkpoint);
  const Activity activity =
      activity_of(stack({{"/home/me/train.py", "BootstrapF1.on_epoch_end"},
                         {"lib/keras/src/callbacks/callback_list.py", "CallbackList.on_epoch_end"}}));
  EXPECT_EQ(activity.phase, Phase::callback);
  EXPECT_EQ(activity.user, "train.py:41 BootstrapF1.on_epoch_end");
}

TEST(Activity, FunctionsOfTheProgramTellByTheirNames) {
  const auto phase_in = [](const char* function) {
    return activity_of(stack({{"/home/me/train.py", function}, {"/home/me/train.py", "<module>"}})).phase;
  };
  EXPECT_EQ(phase_in("log_metrics"), Phase::log);
  EXPECT_EQ(phase_in("Logger.write_metrics"), Phase::log);
  EXPECT_EQ(phase_in("Corpus.tokenize"), Phase::input);
  EXPECT_EQ(phase_in("ReplayBuffer.sample_batch"), Phase::input);
  EXPECT_EQ(phase_in("save_ckpt"), Phase::checkpoint);
  EXPECT_EQ(phase_in("write_predictions"), Phase::log);
  EXPECT_EQ(phase_in("Store._save_all"), Phase::checkpoint);
  EXPECT_EQ(phase_in("test"), Phase::validate);
  EXPECT_EQ(phase_in("train_and_save"), Phase::other);
  EXPECT_EQ(phase_in("log_prob"), Phase::other) << "arithmetic";
}

TEST(Activity, AValidationReadsItsOwnData) {
  const std::pair<std::string, std::string> next = {"lib/torch/utils/data/dataloader.py",
                                                    "_BaseDataLoaderIter.__next__"},
                                            main = {"/home/me/train.py", "main"};
  EXPECT_EQ(activity_of(stack({next, {"/home/me/train.py", "evaluate"}, main})).phase, Phase::validate);
  EXPECT_EQ(activity_of(stack({{"/home/me/data.py", "validate_row"}, next, main})).phase, Phase::input);
}

TEST(Activity, AForwardPassInAFunctionWithoutGradientsIsAnEvaluation) {
  const std::pair<std::string, std::string> forward = {"lib/torch/nn/modules/module.py", "Module._call_impl"},
                                            ungraded = {"lib/torch/utils/_contextlib.py", "no_grad"},
                                            main = {"/home/me/train.py", "main"};
  EXPECT_EQ(activity_of(stack({forward, {"/home/me/train.py", "top_five"}, ungraded, main})).phase, Phase::validate);
  EXPECT_EQ(activity_of(stack({forward, main})).phase, Phase::forward);
  // Averages of weights are kept without gradients, too, but nothing is passed through the model.
  EXPECT_EQ(activity_of(stack({{"/home/me/train.py", "Average.update"}, ungraded, main})).phase, Phase::other);
}

TEST(Activity, AGeneratorOfTheProgramsOwnGivesInput) {
  const auto in_generator = [](const std::string& function) {
    auto frames = stack({{"lib/pandas/core/indexing.py", "_iLocIndexer._getitem_axis"},
                         {"/home/me/train.py", function},
                         {"/home/me/train.py", "main"}});
    auto code = std::make_shared<PythonCode>(*frames[1].code);
    code->generator = true;
    frames[1].code = code;
    return activity_of(frames).phase;
  };
  EXPECT_EQ(in_generator("batches"), Phase::input);
  EXPECT_EQ(in_generator("main.<locals>.<genexpr>"), Phase::other);
}

TEST(Activity, UnknownCodeIsOther) {
  const Activity activity = activity_of(stack({{"/home/me/train.py", "step"}, {"/home/me/train.py", "<module>"}}));
  EXPECT_EQ(activity.phase, Phase::other);
  EXPECT_EQ(activity.what, "");
  EXPECT_EQ(activity_of({}).phase, Phase::other);
}

TEST(Activity, AWorkerThatInitialisesIsStarting) {
  const std::pair<std::string, std::string> loop = {"lib/torch/utils/data/_utils/worker.py", "_worker_loop"};
  EXPECT_EQ(worker_stage(stack({{"/home/me/train.py", "load_vocab"}, loop})), WorkerStage::starting);
  EXPECT_EQ(worker_stage(stack({{"/home/me/train.py", "Text.__getitem__"},
                                {"lib/torch/utils/data/_utils/fetch.py", "_MapDatasetFetcher.fetch"},
                                loop})),
            WorkerStage::loading);
  EXPECT_EQ(worker_stage(stack({{"/usr/lib/python3.11/multiprocessing/queues.py", "Queue.get"}, loop})),
            WorkerStage::loading);
  EXPECT_EQ(worker_stage(stack({{"lib/torch/utils/data/_utils/worker.py", "<module>"}, kImport})), WorkerStage::none);
  EXPECT_TRUE(starts_workers(stack({{"/usr/lib/python3.11/multiprocessing/popen_fork.py", "Popen._launch"},
                                    {"lib/torch/utils/data/dataloader.py", "_MultiProcessingDataLoaderIter.__init__"},
                                    {"lib/torch/utils/data/dataloader.py", "DataLoader.__iter__"}})));
  EXPECT_FALSE(starts_workers(stack({{"lib/torch/utils/data/dataloader.py", "DataLoader.__iter__"}})));
}

TEST(Activity, LaunchersWaitForTheProcessesTheyStarted) {
  EXPECT_TRUE(only_launched(stack({{"/usr/lib/python3.11/multiprocessing/connection.py", "wait"},
                                   {"lib/torch/multiprocessing/spawn.py", "ProcessContext.join"},
                                   {"/home/me/train.py", "<module>"}})));
  EXPECT_TRUE(only_launched(stack({{"/usr/lib/python3.11/multiprocessing/popen_fork.py", "Popen.wait"},
                                   {"/usr/lib/python3.11/multiprocessing/process.py", "BaseProcess.join"},
                                   {"/home/me/train.py", "<module>"}})));
  // A loader that ends its workers, and a compiler that runs another program, are at work themselves.
  EXPECT_FALSE(
      only_launched(stack({{"/usr/lib/python3.11/multiprocessing/process.py", "BaseProcess.join"},
                           {"lib/torch/utils/data/dataloader.py", "_MultiProcessingDataLoaderIter._shutdown_workers"},
                           {"/home/me/train.py", "<module>"}})));
  EXPECT_FALSE(only_launched(stack({{"/usr/lib/python3.11/subprocess.py", "Popen.communicate"},
                                    {"lib/torch/_inductor/cpp_builder.py", "run_compile_cmd"},
                                    {"/home/me/train.py", "<module>"}})));
}

// A metric computed by TensorFlow does not make a PyTorch run one of Keras.
TEST(Activity, TheFrameworkThatTrainsIsTheOneSeenMost) {
  EXPECT_EQ(training_framework({{"torch", 90}, {"keras", 7}, {"tensorflow", 3}}), "torch");
  EXPECT_EQ(training_framework({{"torch", 90}, {"lightning", 8}}), "lightning");
  EXPECT_EQ(training_framework({{"tensorflow", 40}, {"keras", 9}, {"torch", 6}}), "keras");
  EXPECT_EQ(training_framework({{"torch", 3}}), "");
}

}  // namespace
}  // namespace isochron::observe
