#!/usr/bin/env python3
"""Prints the offsets of isochron/observe/python_layout.cpp for installed Pythons.

    tools/python_layout.py python3.11 python3.12 …

Each interpreter needs its headers (python3-dev). A C program asks the compiler for every offset.
"""
import subprocess
import sys
import tempfile
from pathlib import Path

FIELDS = {  # name: {lowest minor version: "struct, member"}
    "runtime_interpreters": {9: "_PyRuntimeState, interpreters.head"},
    "interpreter_threads": {9: "PyInterpreterState, tstate_head", 11: "PyInterpreterState, threads.head"},
    "runtime_main_thread": {9: "_PyRuntimeState, main_thread"},
    "thread_next": {9: "PyThreadState, next"},
    "thread_id": {9: "PyThreadState, thread_id"},
    "thread_native_id": {9: None, 11: "PyThreadState, native_thread_id"},
    "thread_frame": {9: "PyThreadState, frame", 11: "PyThreadState, cframe", 13: "PyThreadState, current_frame"},
    "cframe_frame": {9: None, 11: "_PyCFrame, current_frame", 13: None},
    "thread_profiler": {9: "PyThreadState, c_profilefunc"},
    "frame_previous": {9: "PyFrameObject, f_back", 11: "_PyInterpreterFrame, previous"},
    "frame_code": {9: "PyFrameObject, f_code", 11: "_PyInterpreterFrame, f_code", 13: "_PyInterpreterFrame, f_executable"},
    "frame_instruction": {
        9: "PyFrameObject, f_lasti",
        11: "_PyInterpreterFrame, prev_instr",
        13: "_PyInterpreterFrame, instr_ptr",
    },
    "frame_owner": {9: None, 11: "_PyInterpreterFrame, owner"},
    "frame_locals": {9: "PyFrameObject, f_localsplus", 11: "_PyInterpreterFrame, localsplus"},
    "frame_globals": {9: "PyFrameObject, f_globals", 11: "_PyInterpreterFrame, f_globals"},
    "code_file": {9: "PyCodeObject, co_filename"},
    "code_name": {9: "PyCodeObject, co_name", 11: "PyCodeObject, co_qualname"},
    "code_flags": {9: "PyCodeObject, co_flags"},
    "code_first_line": {9: "PyCodeObject, co_firstlineno"},
    "code_lines": {9: "PyCodeObject, co_lnotab", 10: "PyCodeObject, co_linetable"},
    "code_instructions": {9: None, 11: "PyCodeObject, co_code_adaptive"},
    "code_local_names": {9: "PyCodeObject, co_varnames", 11: "PyCodeObject, co_localsplusnames"},
}
HEADERS = ["pycore_runtime.h", "pycore_interp.h", "pycore_frame.h", "pycore_code.h"]


def program(minor, include):
    lines = ["#define Py_BUILD_CORE 1", "#include <Python.h>", "#include <frameobject.h>", "#include <stddef.h>", "#include <stdio.h>"]
    lines += [f"#include <internal/{h}>" for h in HEADERS if (include / "internal" / h).exists()]
    lines += ["int main(void) {"]
    for name, by_version in FIELDS.items():
        what = by_version[max(v for v in by_version if v <= minor)]
        value = f"(int)offsetof({what})" if what else "-1"
        lines.append(f'  printf(".{name} = %d, ", {value});')
    lines.append('  printf(".ascii_data = %d, ", (int)sizeof(PyASCIIObject));')
    lines.append('  printf(".unicode_data = %d\\n", (int)sizeof(PyCompactUnicodeObject));')
    return "\n".join(lines + ["}"])


for python in sys.argv[1:]:
    ask = "import sys, sysconfig; print(sys.version_info.minor, sysconfig.get_path('include'))"
    minor, include = subprocess.check_output([python, "-c", ask], text=True).split()
    with tempfile.TemporaryDirectory() as folder:
        source = Path(folder, "offsets.c")
        source.write_text(program(int(minor), Path(include)))
        flags = ["-w", f"-I{include}", f"-I{include}/internal", "-o", f"{folder}/offsets"]
        subprocess.check_call(["cc", str(source), *flags])
        print(f"{{.minor = {minor}, " + subprocess.check_output([f"{folder}/offsets"], text=True).strip() + "}")
