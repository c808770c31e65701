// The Python stacks of a running interpreter, read from its memory while it runs (CPython 3.9 to
// 3.13): no debugger, no signal, no pause, nothing loaded into the process. One stack of 30 frames
// costs about 0.03 ms.
//
//   std::string why_not;
//   if (auto python = PythonProcess::attach(pid, &why_not))
//     for (const PythonThread& thread : python->threads())
//       for (const PythonFrame& frame : thread.frames)   // innermost first
//         fmt::print("{}:{} {}\n", frame.code->file, frame.line, frame.code->function);
//
// The program goes on while it is read, so a stack can be torn; one that shows signs of it is dropped,
// and a reader must live with a missing one. Not thread-safe.
#pragma once

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

#include "isochron/observe/process_memory.h"
#include "isochron/observe/python_layout.h"

namespace isochron::observe {

struct CodeRoles;

// Where a function keeps a variable that was asked for by its name.
struct LocalVariable {
  std::string name;
  int slot = -1;         // -1: it has none of that name
  uint64_t name_at = 0;  // in its process
};

struct PythonCode {
  std::string file;
  std::string function;  // qualified where the interpreter knows it (3.11 on)
  int first_line = 0;
  std::vector<uint8_t> line_table;
  int epoch_slot = -1;  // local variable that counts epochs, by its name
  int batch_slot = -1;  // the one that counts batches, in Lightning's training loop only
  bool module = false;  // the body of a module: its variables are globals
  bool user = false;    // in a file the user wrote
  bool generator = false;
  // What it says about a program's activity, found out once (activity.cpp).
  mutable std::shared_ptr<const CodeRoles> roles;
  mutable std::vector<LocalVariable> asked_for;
};

// Not part of Python, a framework or a package: something the user wrote.
bool is_user_file(const std::string& path);

struct PythonFrame {
  std::shared_ptr<const PythonCode> code;
  int line = 0;
  uint64_t address = 0;  // in its process
};

struct PythonThread {
  int tid = 0;  // of the kernel; 0: not known
  bool main = false;
  std::vector<PythonFrame> frames;  // innermost first
  std::optional<int64_t> epoch;     // value of a variable called epoch in the innermost frame that has one
  size_t epoch_frame = 0;           // that one, where there is one
  bool profiled = false;         // calls a profiler or tracer at every function (cProfile), or torch's profiler is on
  std::optional<int64_t> batch;  // Lightning's number of the batch within its epoch
};

class PythonProcess {
 public:
  // Empty when the process runs no CPython we can read; `why_not` then says so.
  static std::optional<PythonProcess> attach(int pid, std::string* why_not);

  // "3.11"
  std::string version() const;
  // The main thread's stack; empty when it has none or it changed while it was read.
  std::optional<PythonThread> main_thread();
  // All threads, the main one first. The main thread's epoch is looked for, others' are not.
  std::vector<PythonThread> threads();
  // The text that a variable of a frame just seen holds; nullopt where there is none of that name, or no text in it.
  std::optional<std::string> text_variable(const PythonFrame& frame, std::string_view name);
  // The same of a number that may count something.
  std::optional<int64_t> integer_variable(const PythonFrame& frame, std::string_view name);

 private:
  PythonProcess(int pid, const PythonLayout* layout, uint64_t runtime, uint64_t code_type);

  struct CachedCode {
    uint64_t file = 0, name = 0, lines = 0;  // addresses that must not have changed
    uint64_t checked = 0;                    // in which look
    std::shared_ptr<const PythonCode> code;
    int64_t offset = -1;  // where it was seen last,
    int line = 0;         // and the line that is
  };

  uint64_t newest_thread();
  uint64_t find_main_thread();
  bool walk(uint64_t thread, PythonThread& out);
  CachedCode* code_at(uint64_t address);
  std::string string_at(uint64_t address);
  std::optional<int64_t> integer_at(uint64_t address);
  std::optional<int64_t> global_epoch(uint64_t globals);
  // Looks for torch.autograd.profiler among the variables of a module, from its own `torch` on.
  void seek_torch_profiler(uint64_t globals);
  bool torch_profiler_is_on();
  // The value of a module's variable of this name; 0 where there is none.
  uint64_t global_value(uint64_t globals, std::string_view name);
  // A variable of a frame: where its name and its value lie; 0 where there is none.
  struct Variable {
    uint64_t name = 0, value = 0;
  };
  Variable variable(const PythonFrame& frame, std::string_view name);
  // nullptr when the names can't be read.
  const LocalVariable* local_variable(const PythonFrame& frame, std::string_view name);
  // Addresses of the names of a function's variables, in the order of their slots.
  std::vector<uint64_t> local_names(uint64_t names);

  // The entries of a module's dictionary.
  struct GlobalTable {
    uint64_t keys = 0;
    int64_t entries = -1;
    uint64_t first = 0, entry_size = 24, key_at = 8;
  };
  std::optional<GlobalTable> global_table(uint64_t globals);
  // Where the value of the last variable lies whose name fits; 0 where there is none.
  uint64_t find_global(const GlobalTable& table, const std::function<bool(std::string_view)>& fits);
  void find_epoch_slot(uint64_t names, PythonCode& code);

  struct CachedGlobal {
    uint64_t keys = 0;
    int64_t entries = -1;
    uint64_t value_address = 0;  // 0: no such name
  };

  int pid_;
  PagedMemory memory_;
  const PythonLayout* layout_;
  uint64_t runtime_;
  uint64_t code_type_;
  int interpreters_at_;
  int threads_at_;
  uint64_t main_at_ = 0;
  uint64_t looks_ = 0;
  std::string outermost_;  // function at the bottom of the main thread's stack
  std::unordered_map<uint64_t, CachedCode> codes_;
  std::unordered_map<uint64_t, CachedGlobal> globals_;
  uint64_t torch_profiler_ = 0;                         // the dictionary of that module
  CachedGlobal profiler_flag_;                          // its variable that says whether one is on
  std::unordered_map<uint64_t, int64_t> sought_torch_;  // modules and how many variables they had then
};

}  // namespace isochron::observe
