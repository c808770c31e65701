// Where CPython keeps its frames in memory, by minor version. The numbers are offsets in bytes as the
// interpreter's own headers give them; tools/python_layout.py prints them from an installed Python.
#pragma once

#include <cstdint>

namespace isochron::observe {

// How code objects store line numbers.
enum class LineTable { lnotab, pairs, locations };

struct PythonLayout {
  int minor;
  LineTable lines;
  int runtime_interpreters;  // _PyRuntime: the newest interpreter; -1: stands in the debug offsets
  int interpreter_threads;   // PyInterpreterState: its newest thread; -1: likewise
  int runtime_main_thread;   // _PyRuntime: pthread id of the main thread
  int thread_next;
  int thread_id;         // pthread id
  int thread_native_id;  // thread id of the kernel; -1: not kept
  int thread_frame;      // the running frame, or the C frame that points to it
  int cframe_frame;      // -1: no C frame in between
  int thread_profiler;   // hook of a profiler; that of a tracer follows
  int frame_previous;
  int frame_code;
  int frame_instruction;  // index (before 3.11) or address of the instruction
  int frame_owner;        // -1: not kept
  int frame_locals;
  int frame_globals;
  int code_file;
  int code_name;
  int code_flags;
  int code_first_line;
  int code_lines;
  int code_instructions;  // -1: the frame has an index
  int code_local_names;
  int ascii_data;    // where the characters of an ASCII string begin
  int unicode_data;  // the same for other compact strings
};

// nullptr for a version we do not know.
const PythonLayout* python_layout(int minor);

// Line of the instruction at `offset` bytes, from the bytes of a line table.
int line_of(LineTable kind, const uint8_t* table, uint64_t size, int first_line, int64_t offset);

}  // namespace isochron::observe
