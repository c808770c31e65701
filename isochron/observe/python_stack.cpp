#include "isochron/observe/python_stack.h"

#include <fmt/core.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <utility>

#include "isochron/observe/elf_symbols.h"

namespace isochron::observe {
namespace {

constexpr int kAttempts = 4;
constexpr size_t kMaxFrames = 256;
constexpr size_t kMaxThreads = 512;
constexpr size_t kMaxCachedCodes = 20000;
constexpr uint64_t kMaxText = 1024;
constexpr uint64_t kMaxLineTable = 1 << 16;
constexpr uint64_t kCheckEvery = 10;  // looks between checks that a known function is still what lies at its address
constexpr int kOwnedByCStack = 3;     // frames the interpreter pushes for itself (3.12 on)

bool names_an_epoch(std::string_view name) {
  constexpr std::string_view kNames[] = {"epoch",     "ep",      "epoch_idx", "epoch_index",
                                         "epoch_num", "epoch_i", "cur_epoch"};
  return std::find(std::begin(kNames), std::end(kNames), name) != std::end(kNames);
}

// The minor version in a name such as libpython3.11.so.1.0 or python3.9.
int minor_from_path(const std::string& path) {
  const size_t at = path.rfind("python3.");
  return at == std::string::npos ? -1 : std::atoi(path.c_str() + at + 8);
}

bool may_hold_python(const std::string& path) {
  const size_t slash = path.rfind('/');
  return path.find("python", slash == std::string::npos ? 0 : slash) != std::string::npos;
}

}  // namespace

bool is_user_file(const std::string& path) {
  return !path.empty() && path[0] != '<' && path.find("site-packages/") == std::string::npos &&
         path.find("dist-packages/") == std::string::npos && path.find("/lib/python3") == std::string::npos &&
         path.find("/__autograph_generated_file") == std::string::npos;  // TensorFlow's translation of a function
}

std::optional<PythonProcess> PythonProcess::attach(int pid, std::string* why_not) {
  std::string reason = "no Python interpreter in this process";
  const std::string root = fmt::format("/proc/{}/root", pid);
  for (const MappedFile& file : mapped_files(pid)) {
    if (!may_hold_python(file.path)) continue;
    const auto symbols = exported_symbols(file, {"_PyRuntime", "PyCode_Type", "Py_Version"}, root);
    const auto runtime = symbols.find("_PyRuntime"), code_type = symbols.find("PyCode_Type");
    if (runtime == symbols.end() || code_type == symbols.end()) continue;
    const ProcessMemory memory(pid);
    int minor = minor_from_path(file.path);
    if (const auto version = symbols.find("Py_Version"); version != symbols.end())
      if (const auto value = memory.get<uint64_t>(version->second.begin)) minor = static_cast<int>(*value >> 16 & 0xff);
    const PythonLayout* layout = python_layout(minor);
    if (!layout) {
      reason = fmt::format("Python 3.{} keeps its stacks in a way this version does not know", minor);
    } else if (!memory.get<uint64_t>(runtime->second.begin)) {
      reason = "its memory may not be read (ptrace permission)";
    } else {
      return PythonProcess(pid, layout, runtime->second.begin, code_type->second.begin);
    }
    break;
  }
  if (why_not) *why_not = reason;
  return std::nullopt;
}

PythonProcess::PythonProcess(int pid, const PythonLayout* layout, uint64_t runtime, uint64_t code_type)
    : pid_(pid),
      memory_(pid),
      layout_(layout),
      runtime_(runtime),
      code_type_(code_type),
      interpreters_at_(layout->runtime_interpreters),
      threads_at_(layout->interpreter_threads) {
  if (interpreters_at_ >= 0) return;
  // From 3.13 on the runtime begins with a table of offsets: cookie, version, free-threading, then
  // three words on the runtime and the interpreter's size, id, next and threads.
  std::array<uint64_t, 10> table{};
  if (memory_.read(runtime_, table.data(), sizeof table)) {
    interpreters_at_ = static_cast<int>(table[5]);
    threads_at_ = static_cast<int>(table[9]);
  }
}

std::string PythonProcess::version() const { return fmt::format("3.{}", layout_->minor); }

uint64_t PythonProcess::newest_thread() {
  const uint64_t interpreter = memory_.pointer(runtime_ + static_cast<uint64_t>(interpreters_at_));
  return interpreter ? memory_.pointer(interpreter + static_cast<uint64_t>(threads_at_)) : 0;
}

// The main thread is the oldest, so the last of the list; where it was found it stays.
uint64_t PythonProcess::find_main_thread() {
  const uint64_t main_id = memory_.pointer(runtime_ + static_cast<uint64_t>(layout_->runtime_main_thread));
  const auto is_main = [&](uint64_t thread) {
    return memory_.pointer(thread + static_cast<uint64_t>(layout_->thread_id)) == main_id;
  };
  if (main_at_ && is_main(main_at_)) return main_at_;
  uint64_t thread = newest_thread();
  for (size_t i = 0; thread && i < kMaxThreads && !is_main(thread); ++i)
    thread = memory_.pointer(thread + static_cast<uint64_t>(layout_->thread_next));
  return main_at_ = thread && is_main(thread) ? thread : 0;
}

std::optional<PythonThread> PythonProcess::main_thread() {
  ++looks_;
  memory_.renew();
  const uint64_t thread = find_main_thread();
  for (int attempt = 0; thread && attempt < kAttempts; ++attempt) {
    if (attempt > 0) memory_.renew();
    PythonThread out{.main = true};
    if (!walk(thread, out)) continue;
    // The outermost frame stays the same for a program's life: another one is a sign of tearing.
    const std::string& outermost = out.frames.back().code->function;
    if (outermost != std::exchange(outermost_, outermost) && attempt + 1 < kAttempts) continue;
    return out;
  }
  return std::nullopt;
}

std::vector<PythonThread> PythonProcess::threads() {
  ++looks_;
  memory_.renew();
  const uint64_t main_id = memory_.pointer(runtime_ + static_cast<uint64_t>(layout_->runtime_main_thread));
  std::vector<PythonThread> out;
  uint64_t thread = newest_thread();
  for (size_t i = 0; thread && i < kMaxThreads; ++i) {
    PythonThread one{.main = memory_.pointer(thread + static_cast<uint64_t>(layout_->thread_id)) == main_id};
    if (walk(thread, one)) out.push_back(std::move(one));
    thread = memory_.pointer(thread + static_cast<uint64_t>(layout_->thread_next));
  }
  std::stable_partition(out.begin(), out.end(), [](const PythonThread& t) { return t.main; });
  return out;
}

bool PythonProcess::walk(uint64_t thread, PythonThread& out) {
  if (out.main) out.tid = pid_;
  if (layout_->thread_native_id >= 0)
    out.tid = static_cast<int>(memory_.pointer(thread + static_cast<uint64_t>(layout_->thread_native_id)));
  const uint64_t hooks = thread + static_cast<uint64_t>(layout_->thread_profiler);
  out.profiled = memory_.pointer(hooks) != 0 || memory_.pointer(hooks + 8) != 0;
  uint64_t frame = memory_.pointer(thread + static_cast<uint64_t>(layout_->thread_frame));
  if (layout_->cframe_frame >= 0 && frame)
    frame = memory_.pointer(frame + static_cast<uint64_t>(layout_->cframe_frame));
  for (size_t depth = 0; frame && depth < kMaxFrames; ++depth) {
    uint8_t block[128];
    if (!memory_.read(frame, block, sizeof block)) return false;
    const uint64_t previous = field<uint64_t>(block, layout_->frame_previous);
    const bool shim = layout_->minor >= 12 && field<uint8_t>(block, layout_->frame_owner) == kOwnedByCStack;
    if (!shim) {
      const uint64_t code_address = field<uint64_t>(block, layout_->frame_code);
      CachedCode* known = code_at(code_address);
      if (!known) return false;
      const auto& code = known->code;
      int64_t offset;
      if (layout_->code_instructions >= 0)
        offset = static_cast<int64_t>(field<uint64_t>(block, layout_->frame_instruction) - code_address -
                                      static_cast<uint64_t>(layout_->code_instructions));
      else
        offset = int64_t{field<int32_t>(block, layout_->frame_instruction)} * (layout_->minor == 10 ? 2 : 1);
      if (offset != known->offset) {
        known->line =
            line_of(layout_->lines, code->line_table.data(), code->line_table.size(), code->first_line, offset);
        known->offset = offset;
      }
      out.frames.push_back({code, known->line, frame});
      if (!out.epoch) out.epoch_frame = out.frames.size() - 1;
      if (out.main && !out.epoch && code->epoch_slot >= 0)
        out.epoch = integer_at(memory_.pointer(frame + static_cast<uint64_t>(layout_->frame_locals) +
                                               8 * static_cast<uint64_t>(code->epoch_slot)));
      if (out.main && code->batch_slot >= 0)
        out.batch = integer_at(memory_.pointer(frame + static_cast<uint64_t>(layout_->frame_locals) +
                                               8 * static_cast<uint64_t>(code->batch_slot)));
      if (out.main && code->user && !torch_profiler_)
        seek_torch_profiler(field<uint64_t>(block, layout_->frame_globals));
      if (out.main && !out.epoch && code->module && code->user)
        out.epoch = global_epoch(field<uint64_t>(block, layout_->frame_globals));
    }
    frame = previous;
  }
  out.profiled = out.profiled || (out.main && torch_profiler_is_on());
  return !out.frames.empty();
}

PythonProcess::CachedCode* PythonProcess::code_at(uint64_t address) {
  if (address == 0 || address % 8) return nullptr;
  const auto known = codes_.find(address);
  // Bodies of modules are given up after their import, and others take their place.
  if (known != codes_.end() && !known->second.code->module && looks_ - known->second.checked < kCheckEvery)
    return &known->second;
  uint8_t block[208];
  if (!memory_.read(address, block, sizeof block)) return nullptr;
  if (field<uint64_t>(block, 8) != code_type_) return nullptr;
  const uint64_t file = field<uint64_t>(block, layout_->code_file), name = field<uint64_t>(block, layout_->code_name),
                 lines = field<uint64_t>(block, layout_->code_lines);
  if (known != codes_.end() && known->second.file == file && known->second.name == name &&
      known->second.lines == lines) {
    known->second.checked = looks_;
    return &known->second;
  }
  auto code = std::make_shared<PythonCode>();
  code->file = string_at(file);
  code->function = string_at(name);
  code->first_line = field<int32_t>(block, layout_->code_first_line);
  code->module = code->function == "<module>";
  code->user = is_user_file(code->file);
  constexpr uint32_t kGenerator = 0x20;  // inspect.CO_GENERATOR
  code->generator = field<uint32_t>(block, layout_->code_flags) & kGenerator;
  const uint64_t size = memory_.pointer(lines + 16);
  if (size < kMaxLineTable) {
    code->line_table.resize(size);
    if (size && !memory_.read(lines + 32, code->line_table.data(), size)) code->line_table.clear();
  }
  find_epoch_slot(field<uint64_t>(block, layout_->code_local_names), *code);
  if (codes_.size() > kMaxCachedCodes) codes_.clear();
  return &(codes_[address] = {file, name, lines, looks_, code});
}

std::vector<uint64_t> PythonProcess::local_names(uint64_t names) {
  const uint64_t count = std::min<uint64_t>(memory_.pointer(names + 16), 256);
  std::vector<uint64_t> addresses(count);
  if (count == 0 || !memory_.read(names + 24, addresses.data(), count * 8)) return {};
  return addresses;
}

void PythonProcess::find_epoch_slot(uint64_t names, PythonCode& code) {
  const std::vector<uint64_t> addresses = local_names(names);
  // Versions of packages have an epoch, too, and are compared while libraries are loaded.
  if (code.file.find("packaging/") != std::string::npos) return;
  const bool lightning = code.file.ends_with("loops/training_epoch_loop.py") && code.function.ends_with("advance");
  for (size_t i = 0; i < addresses.size(); ++i) {
    const std::string name = string_at(addresses[i]);
    if (lightning && name == "batch_idx") code.batch_slot = static_cast<int>(i);
    if (names_an_epoch(name)) {
      code.epoch_slot = static_cast<int>(i);
      return;
    }
  }
}

std::string PythonProcess::string_at(uint64_t address) {
  uint8_t header[40];
  if (address == 0 || !memory_.read(address, header, sizeof header)) return {};
  const uint64_t length = std::min(field<uint64_t>(header, 16), kMaxText);
  const uint32_t state = field<uint32_t>(header, 32);
  const uint32_t kind = state >> 2 & 7;  // bytes per character
  const bool ascii = state >> 6 & 1;
  std::string text(length * (ascii ? 1 : std::max(kind, 1u)), '\0');
  const uint64_t data = address + static_cast<uint64_t>(ascii ? layout_->ascii_data : layout_->unicode_data);
  if (text.empty() || !memory_.read(data, text.data(), text.size())) return {};
  if (ascii) return text;
  std::string out;  // file names beyond ASCII are rare: keep what can be shown
  for (uint64_t i = 0; i < length; ++i) {
    const auto low = static_cast<unsigned char>(text[i * kind]);
    const bool high = kind > 1 && text[i * kind + 1] != 0;
    out += low < 128 && !high ? static_cast<char>(low) : '?';
  }
  return out;
}

std::optional<int64_t> PythonProcess::integer_at(uint64_t address) {
  uint8_t block[32];
  if (address == 0 || !memory_.read(address, block, sizeof block)) return std::nullopt;
  // Only small non-negative numbers count epochs; anything else is another type or another use.
  const uint64_t size = field<uint64_t>(block, 16);
  const uint64_t digits = layout_->minor >= 12 ? size >> 3 : size;
  const bool zero = layout_->minor >= 12 ? (size & 3) == 1 : size == 0;
  if (zero) return 0;
  if (digits != 1 || (layout_->minor >= 12 && (size & 3) != 0)) return std::nullopt;
  const uint32_t value = field<uint32_t>(block, 24);
  if (value >= 1u << 30) return std::nullopt;
  return value;
}

std::optional<PythonProcess::GlobalTable> PythonProcess::global_table(uint64_t globals) {
  GlobalTable table{.keys = memory_.pointer(globals + 32)};
  uint8_t header[40];
  if (table.keys == 0 || !memory_.read(table.keys, header, sizeof header)) return std::nullopt;
  const bool compact = layout_->minor >= 11;
  table.entries = static_cast<int64_t>(field<uint64_t>(header, compact ? 24 : 32));
  if (table.entries <= 0 || table.entries > 4096) return std::nullopt;
  if (compact) {
    table.first = table.keys + 32 + (uint64_t{1} << (field<uint8_t>(header, 9) & 31));
    if (field<uint8_t>(header, 10) != 0)
      table.entry_size = 16, table.key_at = 0;  // all keys are strings: no hashes kept
  } else {
    const uint64_t slots = field<uint64_t>(header, 8);
    table.first = table.keys + 40 + slots * (slots <= 0xff ? 1 : slots <= 0xffff ? 2 : 4);
  }
  return table;
}

uint64_t PythonProcess::find_global(const GlobalTable& table, const std::function<bool(std::string_view)>& fits) {
  std::vector<uint8_t> entries(static_cast<size_t>(table.entries) * table.entry_size);
  if (!memory_.read(table.first, entries.data(), entries.size())) return 0;
  for (uint64_t at = entries.size(); at > 0;) {
    at -= table.entry_size;
    uint64_t key;
    std::memcpy(&key, entries.data() + at + table.key_at, sizeof key);
    if (fits(string_at(key))) return table.first + at + table.key_at + 8;
  }
  return 0;
}

std::optional<int64_t> PythonProcess::global_epoch(uint64_t globals) {
  const auto table = global_table(globals);
  if (!table) return std::nullopt;
  CachedGlobal& cached = globals_[globals];
  if (cached.keys != table->keys || cached.entries != table->entries)
    cached = {table->keys, table->entries, find_global(*table, names_an_epoch)};
  return cached.value_address ? integer_at(memory_.pointer(cached.value_address)) : std::nullopt;
}

uint64_t PythonProcess::global_value(uint64_t globals, std::string_view name) {
  const auto table = global_table(globals);
  const uint64_t at = table ? find_global(*table, [&](std::string_view other) { return other == name; }) : 0;
  return at ? memory_.pointer(at) : 0;
}

void PythonProcess::seek_torch_profiler(uint64_t globals) {
  constexpr uint64_t kModuleDict = 16;  // of a module object
  const auto table = global_table(globals);
  if (!table || std::exchange(sought_torch_[globals], table->entries) == table->entries) return;
  uint64_t variables = globals;
  for (const std::string_view name : {"torch", "autograd", "profiler"}) {
    const uint64_t module = global_value(variables, name);
    variables = module ? memory_.pointer(module + kModuleDict) : 0;
    if (!variables) return;
  }
  torch_profiler_ = variables;
}

bool PythonProcess::torch_profiler_is_on() {
  const auto table = torch_profiler_ ? global_table(torch_profiler_) : std::nullopt;
  if (!table) return false;
  if (profiler_flag_.keys != table->keys || profiler_flag_.entries != table->entries)
    profiler_flag_ = {table->keys, table->entries,
                      find_global(*table, [](std::string_view name) { return name == "_is_profiler_enabled"; })};
  return profiler_flag_.value_address && integer_at(memory_.pointer(profiler_flag_.value_address)) == 1;
}

PythonProcess::Variable PythonProcess::variable(const PythonFrame& frame, std::string_view name) {
  if (frame.code->module) {
    const auto table = global_table(memory_.pointer(frame.address + static_cast<uint64_t>(layout_->frame_globals)));
    const uint64_t at = table ? find_global(*table, [&](std::string_view other) { return other == name; }) : 0;
    return at ? Variable{memory_.pointer(at - 8), memory_.pointer(at)} : Variable{};
  }
  const LocalVariable* local = local_variable(frame, name);
  if (!local || local->slot < 0) return {};
  const uint64_t values = frame.address + static_cast<uint64_t>(layout_->frame_locals);
  return {local->name_at, memory_.pointer(values + 8 * static_cast<uint64_t>(local->slot))};
}

// The names of all of a function's variables are read when one is asked for the first time.
const LocalVariable* PythonProcess::local_variable(const PythonFrame& frame, std::string_view name) {
  std::vector<LocalVariable>& known = frame.code->asked_for;
  const auto found = std::find_if(known.begin(), known.end(), [&](const auto& local) { return local.name == name; });
  if (found != known.end()) return &*found;
  const uint64_t code = memory_.pointer(frame.address + static_cast<uint64_t>(layout_->frame_code));
  const auto names = local_names(memory_.pointer(code + static_cast<uint64_t>(layout_->code_local_names)));
  if (names.empty()) return nullptr;
  LocalVariable local{.name = std::string(name)};
  for (size_t i = 0; i < names.size(); ++i)
    if (string_at(names[i]) == name) local.slot = static_cast<int>(i), local.name_at = names[i];
  return &known.emplace_back(std::move(local));
}

std::optional<std::string> PythonProcess::text_variable(const PythonFrame& frame, std::string_view name) {
  const Variable found = variable(frame, name);
  // A text is of the type that names have.
  if (found.value == 0 || memory_.pointer(found.value + 8) != memory_.pointer(found.name + 8)) return std::nullopt;
  return string_at(found.value);
}

std::optional<int64_t> PythonProcess::integer_variable(const PythonFrame& frame, std::string_view name) {
  return integer_at(variable(frame, name).value);
}

}  // namespace isochron::observe
