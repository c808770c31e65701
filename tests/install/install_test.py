"""Installs the build tree into an empty prefix and builds and runs an outside project against it, found once by
CMake's find_package and once by pkg-config. usage: install_test.py BUILD_FOLDER COMPILER LIBDIR VERSION"""
import os
import pathlib
import subprocess
import sys
import tempfile

EXPECTED = "2 threads, epoch 1 took 0.5 s\n"
OUTSIDE = pathlib.Path(__file__).resolve().parent / "outside"


def run(*command, cwd=None, **environment):
    print("$", *command, flush=True)
    done = subprocess.run(command, cwd=cwd, env={**os.environ, **environment}, stdout=subprocess.PIPE, text=True)
    if done.returncode != 0:
        sys.exit(f"failed with {done.returncode}: {done.stdout}")
    return done.stdout


def expect(what, got, wanted):
    if got != wanted:
        sys.exit(f"{what}: expected {wanted!r}, got {got!r}")


def main(build, compiler, libdir, version):
    with tempfile.TemporaryDirectory() as folder:
        first = pathlib.Path(folder) / "first"
        run("cmake", "--install", build, "--prefix", first)
        prefix = first.rename(pathlib.Path(folder) / "moved")  # nothing may remember where it was installed
        # Libraries of the folder one happens to stand in are none of ours.
        strange = pathlib.Path(folder) / "strange"
        strange.mkdir()
        for name in ("libisochron.so.0", "libfmt.so.9", "libc.so.6"):
            (strange / name).write_text("no library")
        for command in (prefix / "bin" / "isochron", pathlib.Path(build) / "bin" / "isochron"):
            expect("the command", run(command, "--version", cwd=strange), f"isochron {version}\n")

        outside = pathlib.Path(folder) / "outside"
        run("cmake", "-S", OUTSIDE, "-B", outside, "-G", "Ninja", f"-DCMAKE_PREFIX_PATH={prefix}",
            f"-DCMAKE_CXX_COMPILER={compiler}")
        run("cmake", "--build", outside)
        expect("find_package", run(outside / "outside"), EXPECTED)

        found = {"PKG_CONFIG_PATH": str(prefix / libdir / "pkgconfig")}
        expect("version", run("pkg-config", "--modversion", "isochron", **found), f"{version}\n")
        flags = run("pkg-config", "--cflags", "--libs", "isochron", **found).split()
        program = pathlib.Path(folder) / "by_pkg_config"
        run(compiler, "-std=c++20", OUTSIDE / "main.cpp", "-o", program, *flags)
        expect("pkg-config", run(program, LD_LIBRARY_PATH=str(prefix / libdir)), EXPECTED)


if __name__ == "__main__":
    main(*sys.argv[1:])
