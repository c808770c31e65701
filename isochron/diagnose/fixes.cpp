#include "isochron/diagnose/fixes.h"

#include <fmt/core.h>

namespace isochron {
namespace {

// One row per cause: Keras and TensorFlow, PyTorch and Lightning, anything else.
struct Advice {
  Cause cause;
  std::string_view tensorflow;
  std::string_view torch;
  std::string_view any;
};

constexpr Advice kAdvice[] = {
    {Cause::startup_import,
     "Move imports to the top of the script and drop the ones training does not need; `python -X importtime train.py` "
     "ranks them.",
     "Move imports to the top of the script and drop the ones training does not need; `python -X importtime train.py` "
     "ranks them.",
     "Load libraries before the first epoch; `python -X importtime` ranks Python imports by cost."},
    {Cause::startup_graph,
     "This cost comes once per process and shape. Make the graph smaller: `unroll=False` in recurrent layers, loops as "
     "`tf.range`/"
     "`tf.while_loop` instead of Python's, one `tf.function` instead of many; warm up by a `model.fit` of one "
     "batch if the first epoch must look like the others (`train_on_batch` traces a function of its own, `build` "
     "traces "
     "none). `run_eagerly` only moves the cost into every step.",
     "Compile once and keep it: `torch.compile(model, dynamic=True)` for changing shapes, TORCHINDUCTOR_CACHE_DIR on a "
     "disk that is not emptied, so that the next process finds what this one compiled; `mode=\"default\"` rather than "
     "\"max-autotune\" for short runs.",
     "Build and compile the graph once, before the first epoch, and keep it."},
    {Cause::startup_init,
     "Use a cheaper initializer for very large weights (`HeNormal`, `GlorotUniform` instead of `Orthogonal`), or build "
     "the model "
     "(`model.build(input_shape)`) before training starts.",
     "Use a cheaper initialisation for very large weights (`nn.init.normal_` or `kaiming_uniform_` instead of "
     "`orthogonal_`, which is a QR "
     "decomposition), and create lazy parameters before the loop by one dry forward pass.",
     "Initialise weights before the first epoch, and with something cheaper than an orthogonal decomposition."},
    {Cause::input_cold_read,
     "The data came from disk once and from memory afterwards. Read in parallel: `interleave(..., "
     "num_parallel_calls=tf.data.AUTOTUNE)`, "
     "`prefetch(tf.data.AUTOTUNE)`; few large files (TFRecord shards) instead of many small ones; or warm the cache "
     "first: `cat data/* > /dev/null`.",
     "The data came from disk once and from memory afterwards. Use more workers (`DataLoader(num_workers=4, "
     "prefetch_factor=4)`), read in large "
     "blocks in file order (shards, `np.memmap` read sequentially), or warm the cache first: `cat data/* > /dev/null`.",
     "The data came from disk once and from memory afterwards: read it in large blocks and in parallel, or warm the "
     "page cache before training."},
    {Cause::input_shuffle_fill,
     "Shuffle before the expensive `map` (shuffle file names or indices, not decoded examples), or use a smaller "
     "buffer: "
     "`dataset.shuffle(1000)`; shuffle shards with `list_files(shuffle=True)` and `interleave` for the rest of the "
     "randomness.",
     "Shuffle indices instead of examples: a map-style dataset with `DataLoader(shuffle=True)`, or a smaller shuffle "
     "buffer in front of the decoding.",
     "Shuffle indices or file names instead of decoded examples, or make the shuffle buffer smaller."},
    {Cause::input_cache_fill,
     "`cache()` pays for every example once, in the first epoch. Make that pass parallel (`map(f, "
     "num_parallel_calls=tf.data.AUTOTUNE)` before "
     "`cache()`), keep it across runs (`cache('/path/on/fast/disk')`), or prepare the data offline.",
     "The first pass fills the cache. Fill it with several workers or offline, and keep it on disk between runs.",
     "The first pass fills the cache: fill it in parallel, offline, or keep it between runs."},
    {Cause::input_worker_start,
     "Build the dataset once outside the epoch loop, so its threads live on; avoid `from_generator` with processes "
     "started per epoch.",
     "`DataLoader(..., persistent_workers=True)` keeps workers alive between epochs; build the loader once, outside "
     "the epoch loop; use the "
     "fork start method where it is safe (`multiprocessing_context='fork'`), and keep imports out of what workers must "
     "load.",
     "Keep loader workers alive between epochs instead of starting them anew."},
    {Cause::input_bound,
     "The model waits for data. `dataset.map(f, "
     "num_parallel_calls=tf.data.AUTOTUNE).batch(n).prefetch(tf.data.AUTOTUNE)`; do the expensive part "
     "once (`cache()` after it, or preprocess offline); replace `tf.py_function`/`from_generator` by TensorFlow "
     "operations.",
     "The model waits for data. `DataLoader(num_workers=<cores>, prefetch_factor=4, persistent_workers=True)`; resize "
     "or decode the data once, "
     "offline; move per-sample Python work into batched tensor operations.",
     "The model waits for data: prepare batches in parallel and ahead of time, and do the expensive part once, "
     "offline."},
    {Cause::compute_retrace,
     "A `tf.function` is traced anew again and again. Pass tensors instead of Python numbers (`tf.constant(step)`), "
     "define it once outside the "
     "loop, pad batches to one shape (`drop_remainder=True`) or give it `input_signature=[tf.TensorSpec([None, ...])]` "
     "or `reduce_retracing=True`.",
     "The model is recompiled again and again. `torch.compile(model, dynamic=True)` or `torch._dynamo.mark_dynamic(x, "
     "0)` for changing shapes; "
     "pass tensors instead of Python numbers; TORCH_LOGS=recompiles names the guard that failed.",
     "A graph is compiled anew again and again: keep shapes and Python arguments the same from call to call."},
    {Cause::compute_more_work,
     "Later epochs do more work than earlier ones: compare time per example, not per epoch. If that growth is not "
     "wanted, look at what the "
     "schedule changes (sequence length, image size, unfrozen layers, steps_per_epoch).",
     "Later epochs do more work than earlier ones: compare time per sample or token, not per epoch. If that growth is "
     "not wanted, look at what "
     "the schedule changes (sequence length, image size, unfrozen layers, sampler length).",
     "Later epochs do more work than earlier ones: compare time per example, not per epoch."},
    {Cause::compute_denormals,
     "Numbers so small that the CPU handles them in slow paths. TensorFlow flushes them to zero in its own threads, "
     "NumPy and Python code do not: "
     "take branches without gradients out of training (`layer.trainable = False`), and clip tiny values in NumPy "
     "code.",
     "Numbers so small that the CPU handles them in slow paths: `torch.set_flush_denormal(True)` at the top of the "
     "script (and in every worker process), and no optimizer state for parameters that get no gradient: give the "
     "optimizer only those with `requires_grad`. Adam's `eps` does not help: its moments themselves decay into that "
     "range.",
     "Numbers so small that the CPU handles them in slow paths: turn on flush-to-zero and denormals-are-zero in every "
     "thread."},
    {Cause::compute_profiler,
     "A profiler is running. Profile a few steps only: `TensorBoard(profile_batch=(10, 20))`, or "
     "`tf.profiler.experimental.stop()` after them.",
     "A profiler is running. Use a schedule that ends: `profile(schedule=schedule(wait=1, warmup=1, active=3, "
     "repeat=1))`, call `prof.stop()` (of cProfile `disable()`), "
     "and leave `with_stack`, `profile_memory` and `record_shapes` off unless needed.",
     "A profiler is running: stop it after a few steps."},
    {Cause::memory_graph_growth,
     "The graph grows from step to step. Do not create variables, layers or ops in the loop; in TF1 style call "
     "`graph.finalize()` after building; "
     "`tf.keras.backend.clear_session()` between models; keep `float(loss)`, not the tensor.",
     "Something keeps the autograd graph of earlier steps: `total += loss.item()` instead of `total += loss`, `hidden "
     "= hidden.detach()` between "
     "batches, no `retain_graph=True`, store `.detach().cpu()` values in lists.",
     "The graph of earlier steps is kept: cut it after each step and keep plain numbers only."},
    {Cause::memory_leak,
     "Something is kept for every step and gone through again. Look for lists that grow (predictions, histories in "
     "callbacks), keep a running "
     "mean instead, and watch `tracemalloc.take_snapshot()` between epochs.",
     "Something is kept for every step and gone through again (`torch.cat` over all batches so far, lists of outputs). "
     "Keep running sums, or clear "
     "the list each epoch; `tracemalloc.take_snapshot()` between epochs names the line.",
     "Something is kept for every step and gone through again: keep running sums instead, or clear it each epoch."},
    {Cause::memory_swap,
     "Memory is full and the machine swaps. Use smaller batches or shuffle buffers, no `cache()` in memory, "
     "`float16`/`uint8` data, or stop the "
     "other processes.",
     "Memory is full and the machine swaps. Use smaller batches, fewer workers (each has its own copy), memory-mapped "
     "data, or stop the other "
     "processes.",
     "Memory is full and the machine swaps: use less of it, or stop the other processes."},
    {Cause::memory_oversized,
     "The model, its optimizer state or a batch does not fit. Weights + gradients + two Adam moments are four times "
     "the weights: use smaller "
     "layers or batches, mixed precision (`keras.mixed_precision.set_global_policy('mixed_bfloat16')`), SGD or "
     "Adafactor, or hashing for "
     "huge embeddings.",
     "The model, its optimizer state or a batch does not fit. Weights + gradients + two Adam moments are four times "
     "the weights: use smaller "
     "layers or batches with gradient accumulation, `nn.Embedding(sparse=True)` with `SparseAdam`, SGD or Adafactor, "
     "bfloat16, or gradient checkpointing.",
     "The model, its optimizer state or a batch does not fit into memory: make it smaller, or use an optimizer with "
     "less state."},
    {Cause::disk_checkpoint,
     "Checkpoints are written while training waits. Save less often (`ModelCheckpoint(save_freq=10 * "
     "steps_per_epoch)`, `save_best_only=True`), "
     "weights only (`save_weights_only=True`, to a `.weights.h5` file), and to a local disk.",
     "Checkpoints are written while training waits. Save less often, to a local disk, weights without optimizer state "
     "where that is enough, or in "
     "the background: `torch.distributed.checkpoint.async_save`, or a thread that writes a copy of `state_dict()`.",
     "Checkpoints are written while training waits: save less often, less, to a local disk, or in the background."},
    {Cause::disk_temp_growth,
     "A file is rewritten in full, larger each epoch. Append instead (`CSVLogger(append=True)`, one JSON line per "
     "record) or write a new file per epoch.",
     "A file is rewritten in full, larger each epoch. Append one JSON line per record, use TensorBoard's "
     "SummaryWriter, or write a new file per epoch.",
     "A file is rewritten in full, larger each epoch: append instead, or start a new file."},
    {Cause::disk_full,
     "The disk is full. Free space or write elsewhere; keep the last few checkpoints only "
     "(`ModelCheckpoint(save_best_only=True)`, "
     "`CheckpointManager(max_to_keep=3)`) and delete old runs.",
     "The disk is full. Free space or write elsewhere; keep the last few checkpoints only (Lightning: "
     "`ModelCheckpoint(save_top_k=2)`, Trainer: "
     "`save_total_limit=2`) and save to a temporary name first, so that a full disk never costs the last good file.",
     "The disk is full: free space, write elsewhere, or keep fewer checkpoints."},
    {Cause::disk_logging,
     "Logs are written too often. `TensorBoard(update_freq='epoch', histogram_freq=0, write_graph=False)`, "
     "`fit(verbose=2)`.",
     "Logs are written too often. Log every n-th step (`log_every_n_steps=50`), no `flush()` per line, histograms and "
     "images rarely.",
     "Logs are written too often: log every n-th step and do not flush each line."},
    {Cause::machine_contention,
     "Other programs take the cores. `top` names them; run alone, at another time, or give each job its own cores "
     "(`taskset -c 0-3 python train.py`, "
     "`tf.config.threading.set_intra_op_parallelism_threads(n)`).",
     "Other programs take the cores. `top` names them; run alone, at another time, or give each job its own cores "
     "(`taskset -c 0-3 python train.py`, "
     "`torch.set_num_threads(n)`; fewer DataLoader workers if they are the ones).",
     "Other programs take the cores: run alone, or give each job its own cores."},
    {Cause::machine_throttled,
     "The machine gives fewer CPU cycles than before: a container quota (`cpu.max`; `docker update --cpus`), a batch "
     "system's limit, a burst credit "
     "that ran out, or heat. Raise the quota, or set the number of threads to it.",
     "The machine gives fewer CPU cycles than before: a container quota (`cpu.max`; `docker update --cpus`), a batch "
     "system's limit, a burst credit "
     "that ran out, or heat. Raise the quota, or `torch.set_num_threads(n)` to it.",
     "The machine gives fewer CPU cycles than before (container quota, burst credits, heat): raise the quota or cool "
     "it."},
    {Cause::machine_clock,
     "The clock jumped or the machine slept; the time was not spent. Measure with `time.perf_counter()`.",
     "The clock jumped or the machine slept; the time was not spent. Measure with `time.perf_counter()`.",
     "The clock jumped or the machine slept; the time was not spent. Measure with a monotonic clock."},
    {Cause::wait_worker,
     "A loader process or thread does not deliver. Look at its stack (`py-spy dump --pid`); no locks held across fork "
     "(use the spawn start "
     "method), no TensorFlow in forked workers, timeouts on queues.",
     "A DataLoader worker does not deliver. Look at its stack (`py-spy dump --pid`); `DataLoader(timeout=60)` turns "
     "the wait into an error, "
     "`multiprocessing_context='spawn'` avoids locks inherited by fork, `num_workers=0` shows the exception itself.",
     "A worker does not deliver: look at its stack, and do not hold locks across fork."},
    {Cause::wait_lock,
     "Threads wait for each other. Take locks in one order, use `with lock:` and `acquire(timeout=...)`; `py-spy dump "
     "--pid` shows who holds what. If "
     "it is TensorFlow's own (epochs padded to 1.27, 2.55, 5.11 s), `options = tf.data.Options(); "
     "options.autotune.enabled = False`.",
     "Threads wait for each other. Take locks in one order, use `with lock:` and `acquire(timeout=...)`; `py-spy dump "
     "--pid` shows who holds what.",
     "Threads wait for each other: take locks in one order and with time limits."},
    {Cause::wait_io,
     "Training waits for a file, pipe or socket that gives nothing. Set timeouts (`socket.settimeout(30)`), check the "
     "sender and the mount.",
     "Training waits for a file, pipe or socket that gives nothing. Set timeouts (`socket.settimeout(30)`), check the "
     "sender and the mount.",
     "Training waits for a file, pipe or socket that gives nothing: set timeouts and check the other side."},
    {Cause::wait_peer,
     "A peer never arrives at the collective. All workers must be in TF_CONFIG, reachable and running the same steps; "
     "uneven data needs "
     "`drop_remainder=True` and the same `steps_per_epoch`.",
     "A rank never arrives at the collective. Every rank must call the same collectives in the same order (no "
     "`barrier()` or evaluation on rank 0 "
     "only, equal numbers of batches: `DistributedSampler(drop_last=True)` or `model.join()`); "
     "TORCH_DISTRIBUTED_DEBUG=DETAIL names the odd one.",
     "A rank never arrives at the collective: every rank must make the same calls in the same order."},
    {Cause::resume_skip,
     "After resuming, the loop reads and throws away the batches done before. Start the dataset at the right place: "
     "`dataset.skip(n)` before the "
     "expensive `map`, or checkpoint the iterator (`tf.train.Checkpoint(iterator=it)`).",
     "After resuming, the loop reads and throws away the batches done before. Skip indices, not batches: a sampler "
     "that starts at the offset, "
     "`StatefulDataLoader` (torchdata), Trainer's `ignore_data_skip=True`, or resume at an epoch's boundary.",
     "After resuming, batches are read and thrown away: skip indices instead."},
    {Cause::train_validation,
     "Validation takes the time. Validate less often or on less: `fit(validation_freq=5, validation_steps=50)`, a "
     "larger `validation_batch_size`, "
     "cached validation data.",
     "Validation takes the time. Validate less often or on less (Lightning: `Trainer(check_val_every_n_epoch=5, "
     "limit_val_batches=50)`), with a "
     "larger batch and under `torch.inference_mode()`.",
     "Validation takes the time: validate less often, on less data, or in larger batches."},
    {Cause::train_callback,
     "Callbacks take the time. Do their work every few epochs (every n-th batch in `on_train_batch_end`), on a sample, "
     "in vectorised form, or in a thread.",
     "Work beside the steps (metrics, plots, callbacks) takes the time. Do it every few epochs, on a sample, in "
     "vectorised form, or in a thread.",
     "A callback takes the time: do its work less often, on a sample, or in the background."},
};

}  // namespace

std::string fix_for(Cause cause, std::string_view framework) {
  for (const Advice& advice : kAdvice)
    if (advice.cause == cause) {
      if (framework == "keras" || framework == "tensorflow") return std::string(advice.tensorflow);
      if (framework == "torch" || framework == "lightning") return std::string(advice.torch);
      return std::string(advice.any);
    }
  return {};
}

std::string how_to_find_out(Symptom symptom, std::string_view framework, bool watched) {
  const std::string_view watch = "Run it under `isochron watch -- python train.py`";
  switch (symptom) {
    case Symptom::stuck:
      if (watched)
        return "The lines above say where it stands; `py-spy dump --native --pid N` shows all of its threads.";
      return fmt::format(
          "{}: while it hangs it says what the process waits for (worker, lock, file, socket, peer), with the stack. "
          "For a process "
          "that hangs now: `isochron watch --pid N`.",
          watch);
    case Symptom::died:
      if (watched) return "The error is the program's own: its last lines say where it was raised.";
      return fmt::format("{}: it records memory, disk and the last stack before the end.", watch);
    case Symptom::healthy:  // of which nothing is known but that no error is told
      if (watched) return "Epochs are told by the output, or by a variable called `epoch` in the training loop.";
      return fmt::format(
          "{}: it needs no times in the output. Or have times in the log: `python -u train.py 2>&1 | ts '%F %T'`.",
          watch);
    default:
      break;
  }
  const bool tensorflow = framework == "keras" || framework == "tensorflow";
  const std::string_view trace = tensorflow ? "`keras.callbacks.TensorBoard(log_dir, profile_batch=(1, 20))`"
                                            : "`torch.profiler.profile` over a few steps of a fast and a slow epoch";
  if (watched)
    return fmt::format(
        "A trace would name the operation: record one by {} and give it to `isochron doctor` with the log.", trace);
  return fmt::format(
      "{} (it measures CPU, memory, disk, other processes and waits per epoch), or add a trace by {} and give it to "
      "`isochron doctor` "
      "together with the log.",
      watch, trace);
}

}  // namespace isochron
