#include "isochron/observe/activity.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <optional>
#include <span>
#include <string_view>

#include "isochron/observe/known_code.h"

namespace isochron::observe {
namespace {

using namespace known;

bool runs_compiled(std::string_view file) {
  return std::any_of(std::begin(kRunsCompiled), std::end(kRunsCompiled),
                     [&](std::string_view part) { return file.find(part) != std::string_view::npos; });
}

bool contains(std::string_view text, std::string_view part) { return text.find(part) != std::string_view::npos; }

}  // namespace

struct CodeRoles {
  std::array<const Marker*, kRanks> markers{};  // the first of each rank that fits
  const Word* word = nullptr;
  const Package* package = nullptr;
  bool user = false, importing = false, executor = false, fits = false;
  bool yields = false;                   // a generator of the program's own, not an expression within a line
  bool ungraded = false;                 // calls a function decorated by torch.no_grad() or inference_mode()
  bool launches = false, waits = false;  // for processes it launched
};

namespace {

// "save" for "Store._save"
std::string_view plain_name(std::string_view function) {
  function.remove_prefix(function.rfind('.') == std::string_view::npos ? 0 : function.rfind('.') + 1);
  while (function.starts_with('_')) function.remove_prefix(1);
  return function;
}

CodeRoles find_roles(const PythonCode& code) {
  const std::string &file = code.file, &function = code.function;
  CodeRoles roles;
  const auto in = [&](std::string_view path, std::string_view name = "") {
    return contains(file, path) && contains(function, name);
  };
  roles.user = is_user_file(file);
  roles.importing = file.starts_with("<frozen importlib");
  roles.executor = in(kExecutor);
  roles.fits = in("", "Trainer.fit");
  roles.yields = roles.user && code.generator && !function.ends_with('>');
  for (const std::string_view decorator : {"decorate_context", "no_grad", "inference_mode"})
    roles.ungraded = roles.ungraded || in("torch/utils/_contextlib.py", decorator);
  roles.launches =
      in("torch/multiprocessing/spawn.py") || in("torch/distributed/elastic/") || in("torch/distributed/launcher/");
  roles.waits = in("subprocess.py") || in("multiprocessing/process.py", "join");
  if (!runs_compiled(file))
    for (size_t rank = 0; rank < kRanks; ++rank)
      for (const Marker& marker : kMarkers[rank])
        if (!roles.markers[rank] && in(marker.path, marker.function)) roles.markers[rank] = &marker;
  const std::string_view name = plain_name(function);
  for (const Word& word : kWords)
    if (roles.user && !roles.word && (word.begins ? name.starts_with(word.word) : contains(function, word.word)))
      roles.word = &word;
  for (const Package& package : kPackages)
    if (!roles.user && !roles.package && in(package.folder)) roles.package = &package;
  return roles;
}

const CodeRoles& roles_of(const PythonFrame& frame) {
  const PythonCode& code = *frame.code;
  if (!code.roles) code.roles = std::make_shared<const CodeRoles>(find_roles(code));
  return *code.roles;
}

const Marker* outermost(Rank rank, std::span<const PythonFrame> frames) {
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
    if (const Marker* marker = roles_of(*frame).markers[rank]) return marker;
  return nullptr;
}

// An optimizer may be given the whole step to run (a closure: LBFGS, Lightning): then what runs in there counts.
const Marker* computation(std::span<const PythonFrame> frames) {
  const Marker* found = nullptr;
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame) {
    const Marker* marker = roles_of(*frame).markers[computing];
    if (!marker) continue;
    if (marker->phase != Phase::update) return marker;
    found = marker;
  }
  return found;
}

// A function that validates reads its own data: what is called by a loader does not count.
const Word* validating(const std::vector<PythonFrame>& frames) {
  for (auto frame = frames.rbegin(); frame != frames.rend() && !roles_of(*frame).markers[reading]; ++frame)
    if (const Word* word = roles_of(*frame).word; word && word->phase == Phase::validate) return word;
  return nullptr;
}

// The user's own function that torch.no_grad() or inference_mode() decorates: with a forward pass in it, it evaluates.
bool evaluates(const std::vector<PythonFrame>& frames) {
  for (size_t i = 1; i < frames.size(); ++i)
    if (roles_of(frames[i]).ungraded && roles_of(frames[i - 1]).user) return true;
  return false;
}

bool is_import_machinery(const PythonFrame& frame) { return roles_of(frame).importing; }

// "tensorflow" for …/site-packages/tensorflow/__init__.py, "helpers" for /home/me/helpers.py
std::string package_of(const std::string& path) {
  for (const std::string_view folder : {"site-packages/", "dist-packages/"})
    if (const size_t at = path.rfind(folder); at != std::string::npos) {
      const std::string rest = path.substr(at + folder.size());
      const std::string name = rest.substr(0, rest.find('/'));
      return name.substr(0, name.find('.'));
    }
  if (path.starts_with("<frozen ")) return path.substr(8, path.size() - 9);
  const size_t end = path.ends_with("/__init__.py") ? path.size() - 12 : path.rfind('.');
  const size_t slash = path.rfind('/', end == 0 ? 0 : end - 1);
  return path.substr(slash == std::string::npos ? 0 : slash + 1, end - (slash == std::string::npos ? 0 : slash + 1));
}

// The body of the module that the outermost import loads; rend() while its file is looked for.
auto first_imported(const std::vector<PythonFrame>& frames) {
  auto first = frames.rbegin();
  while (first != frames.rend() && !is_import_machinery(*first)) ++first;
  while (first != frames.rend() && is_import_machinery(*first)) ++first;
  return first;
}

std::string import_name(const std::vector<PythonFrame>& frames) {
  const auto first = first_imported(frames);
  return first == frames.rend() ? "a module" : package_of(first->code->file);
}

// Parts of itself that a compiler loads when it is first used.
bool loads_own_parts(const std::vector<PythonFrame>& frames) {
  const auto first = first_imported(frames);
  const auto compiles = [](const PythonFrame& frame) { return roles_of(frame).markers[compiling] != nullptr; };
  return first != frames.rend() && compiles(*first) && std::any_of(frames.rbegin(), first, compiles);
}

// The package imported, when the time goes into an import: everything inside the innermost import is
// module code, or the machinery itself. A training loop that runs while its module is imported is none.
std::optional<std::string> import_of(const std::vector<PythonFrame>& frames) {
  const auto innermost = std::find_if(frames.begin(), frames.end(), is_import_machinery);
  if (innermost == frames.end()) return std::nullopt;
  const std::span<const PythonFrame> inside(frames.begin(), innermost);
  // Libraries do not train while they are loaded, even those that compile (PyTorch loads its compiler late).
  const bool own = inside.empty() || roles_of(inside.back()).user;
  if (!own && loads_own_parts(frames)) return std::nullopt;
  if (!own) return import_name(frames);
  if (outermost(reading, inside) || outermost(computing, inside) || outermost(compiling, inside)) return std::nullopt;
  for (const PythonFrame& frame : inside)
    if (roles_of(frame).executor || roles_of(frame).fits) return std::nullopt;
  return import_name(frames);
}

const Word* outermost_word(const std::vector<PythonFrame>& frames) {
  for (auto frame = frames.rbegin(); frame != frames.rend(); ++frame)
    if (const Word* word = roles_of(*frame).word) return word;
  return nullptr;
}

}  // namespace

std::string_view framework_of(const std::vector<PythonFrame>& frames) {
  const Package* best = nullptr;
  for (const PythonFrame& frame : frames)
    if (const Package* package = roles_of(frame).package; package && (!best || package < best)) best = package;
  return best ? best->framework : "";
}

std::string_view training_framework(const std::map<std::string, int>& looks) {
  constexpr int kEnough = 5;
  constexpr std::array<std::array<std::string_view, 2>, 2> kFamilies = {
      {{"lightning", "torch"}, {"keras", "tensorflow"}}};
  const auto seen = [&](std::string_view name) {
    const auto found = looks.find(std::string(name));
    return found == looks.end() ? 0 : found->second;
  };
  const auto all = [&](const auto& family) { return seen(family[0]) + seen(family[1]); };
  const auto& family = kFamilies[all(kFamilies[1]) > all(kFamilies[0]) ? 1 : 0];
  for (const std::string_view name : family)
    if (seen(name) >= kEnough) return name;
  return "";
}

std::string_view loaded_framework(std::span<const std::string> files) {
  const auto loaded = [&](std::string_view library) {
    return std::any_of(files.begin(), files.end(), [&](const std::string& file) { return contains(file, library); });
  };
  const bool torch = loaded("/libtorch_cpu."), tensorflow = loaded("/libtensorflow_cc.");
  return torch == tensorflow ? "" : torch ? "torch" : "tensorflow";
}

WorkerStage worker_stage(const std::vector<PythonFrame>& frames) {
  // Merely importing that module does not make a worker.
  const auto loop = std::find_if(frames.begin(), frames.end(), [](const PythonFrame& frame) {
    return frame.code->function == "_worker_loop" && contains(frame.code->file, "torch/utils/data/");
  });
  if (loop == frames.end()) return WorkerStage::none;
  // The loop calls the program's own code only to initialise; examples come by way of a fetcher.
  const bool initialises = loop != frames.begin() && roles_of(*std::prev(loop)).user;
  return initialises ? WorkerStage::starting : WorkerStage::loading;
}

bool starts_workers(const std::vector<PythonFrame>& frames) {
  return std::any_of(frames.begin(), frames.end(), [](const PythonFrame& frame) {
    return frame.code->function == "_MultiProcessingDataLoaderIter.__init__";
  });
}

bool only_launched(const std::vector<PythonFrame>& frames) {
  for (size_t i = 0; i < frames.size() && !roles_of(frames[i]).user; ++i) {
    if (roles_of(frames[i]).launches) return true;
    // Loaders and compilers have processes of their own to wait for; here it is the program itself.
    if (roles_of(frames[i]).waits && i + 1 < frames.size() && roles_of(frames[i + 1]).user) return true;
  }
  return false;
}

std::string describe(const PythonFrame& frame) {
  const std::string& path = frame.code->file;
  const size_t slash = path.rfind('/');
  return fmt::format("{}:{} {}", path.substr(slash == std::string::npos ? 0 : slash + 1), frame.line,
                     frame.code->function);
}

Activity activity_of(const std::vector<PythonFrame>& frames) {
  Activity activity;
  const auto user = std::find_if(frames.begin(), frames.end(), [](const auto& frame) { return roles_of(frame).user; });
  if (user != frames.end()) activity.user = describe(*user);
  if (!frames.empty()) activity.executing = roles_of(frames[0]).executor;
  if (const auto package = import_of(frames)) {
    activity.phase = Phase::start;
    activity.what = "import " + *package;
    return activity;
  }
  const auto take = [&](const auto* found) {
    if (!found) return false;
    activity.phase = found->phase;
    activity.what = found->what;
    return true;
  };
  for (const Rank rank : {drawing, compiling, saving, evaluating, synchronising})
    if (take(outermost(rank, frames))) return activity;
  if (take(validating(frames))) return activity;
  for (const Rank rank : {reading, initialising})
    if (take(outermost(rank, frames))) return activity;
  if (take(outermost_word(frames))) return activity;
  for (const Rank rank : {logging, fetching})
    if (take(outermost(rank, frames))) return activity;
  if (take(computation(frames))) {
    if (activity.phase == Phase::forward && evaluates(frames))
      activity = {Phase::validate, "evaluation without gradients", activity.user};
    return activity;
  }
  if (activity.executing) {
    activity.phase = Phase::forward;
    activity.what = "TensorFlow step";
  } else if (std::any_of(frames.begin(), frames.end(), [](const auto& frame) { return roles_of(frame).yields; })) {
    activity.phase = Phase::input;  // what a loop of the program's own goes through
    activity.what = "a generator";
  }
  return activity;
}

}  // namespace isochron::observe
