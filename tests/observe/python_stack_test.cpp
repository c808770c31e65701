#include "isochron/observe/python_stack.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <signal.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cstdlib>
#include <fstream>

namespace isochron::observe {
namespace {

// A Python program that prints a line when it has come to rest.
class Python {
 public:
  // ISOCHRON_PYTHON=python3.13 runs these tests on another interpreter.
  explicit Python(const std::string& text) {
    const char* chosen = std::getenv("ISOCHRON_PYTHON");
    const std::string interpreter = chosen ? chosen : "python3";
    path_ = testing::TempDir() + "observed_" + std::to_string(getpid()) + ".py";
    std::ofstream(path_) << text;
    int ready[2];
    EXPECT_EQ(pipe(ready), 0);
    pid_ = fork();
    if (pid_ == 0) {
      dup2(ready[1], STDOUT_FILENO);
      execlp(interpreter.c_str(), interpreter.c_str(), path_.c_str(), nullptr);
      _exit(127);
    }
    close(ready[1]);
    char byte = 0;
    EXPECT_EQ(read(ready[0], &byte, 1), 1) << "the program did not come up";
    close(ready[0]);
  }
  ~Python() {
    kill(pid_, SIGKILL);
    waitpid(pid_, nullptr, 0);
    unlink(path_.c_str());
  }
  int pid() const { return pid_; }
  const std::string& path() const { return path_; }

 private:
  std::string path_;
  int pid_;
};

std::vector<std::string> functions(const PythonThread& thread) {
  std::vector<std::string> names;
  for (const PythonFrame& frame : thread.frames) names.push_back(frame.code->function);
  return names;
}

constexpr char kProgram[] = R"(import time

def wait_for_batch():
    time.sleep(
        1000)

def train():
    for epoch in range(7):
        if epoch == 5:
            print("x", flush=True)
            wait_for_batch()

train()
)";

TEST(PythonStack, ShowsFunctionsLinesAndTheEpochOfASleepingProgram) {
  Python program(kProgram);
  std::string why_not;
  auto python = PythonProcess::attach(program.pid(), &why_not);
  ASSERT_TRUE(python) << why_not;
  std::optional<PythonThread> main;
  for (int i = 0; i < 100 && (!main || main->frames.size() < 3); ++i) main = python->main_thread(), usleep(10000);
  ASSERT_TRUE(main);
  EXPECT_THAT(functions(*main), testing::ElementsAre("wait_for_batch", "train", "<module>"));
  EXPECT_EQ(main->frames[0].code->file, program.path());
  EXPECT_EQ(main->frames[0].line, 4);
  EXPECT_EQ(main->frames[1].line, 11);
  EXPECT_EQ(main->frames[2].line, 13);
  EXPECT_EQ(main->tid, program.pid());
  EXPECT_EQ(main->epoch, 5);
}

TEST(PythonStack, TorchsProfilerIsKnownByItsFlag) {
  const std::string program_text =
      "import time, types\n"
      "torch = types.ModuleType('torch')\n"
      "torch.autograd = types.ModuleType('autograd')\n"
      "torch.autograd.profiler = types.ModuleType('profiler')\n"
      "torch.autograd.profiler._is_profiler_enabled = ";
  for (const bool on : {true, false}) {
    Python program(program_text + (on ? "True" : "False") + "\nprint(1, flush=True)\ntime.sleep(1000)\n");
    auto python = PythonProcess::attach(program.pid(), nullptr);
    ASSERT_TRUE(python);
    std::optional<PythonThread> main;
    for (int i = 0; i < 100 && !main; ++i) main = python->main_thread(), usleep(10000);
    ASSERT_TRUE(main);
    EXPECT_EQ(main->profiled, on);
  }
}

TEST(PythonStack, TextsOfVariablesAreReadByTheirNames) {
  Python program(
      "import time\nsplit, count = 'val', 7\ndef run(model, phase):\n  print(1, flush=True)\n  time.sleep(1000)\n"
      "run(None, 'test')\n");
  auto python = PythonProcess::attach(program.pid(), nullptr);
  ASSERT_TRUE(python);
  std::optional<PythonThread> main;
  for (int i = 0; i < 100 && (!main || main->frames.size() < 2); ++i) main = python->main_thread(), usleep(10000);
  ASSERT_TRUE(main && main->frames.size() == 2);
  EXPECT_EQ(python->text_variable(main->frames[0], "phase"), "test");
  EXPECT_EQ(python->text_variable(main->frames[0], "phase"), "test") << "where it is kept is known now";
  EXPECT_EQ(python->text_variable(main->frames[0], "model"), std::nullopt);
  EXPECT_EQ(python->text_variable(main->frames[0], "split"), std::nullopt);
  EXPECT_EQ(python->text_variable(main->frames[1], "split"), "val");
  EXPECT_EQ(python->text_variable(main->frames[1], "count"), std::nullopt);
}

TEST(PythonStack, TheEpochOfAVersionCountsNoEpochs) {
  Python program(
      "import time\nsource = 'def key(epoch):\\n  print(1, flush=True)\\n  time.sleep(1000)'\n"
      "exec(compile(source, '/usr/lib/python3/dist-packages/packaging/version.py', 'exec'))\nkey(0)\n");
  auto python = PythonProcess::attach(program.pid(), nullptr);
  ASSERT_TRUE(python);
  const auto main = python->main_thread();
  ASSERT_TRUE(main);
  EXPECT_EQ(main->frames[0].code->function, "key");
  EXPECT_FALSE(main->epoch);
}

TEST(PythonStack, TellsGeneratorsFromFunctions) {
  Python program(
      "import time\ndef batches():\n  print(1, flush=True)\n  time.sleep(1000)\n  yield 1\ndef train():\n  for b in "
      "batches(): pass\ntrain()\n");
  auto python = PythonProcess::attach(program.pid(), nullptr);
  ASSERT_TRUE(python);
  const auto main = python->main_thread();
  ASSERT_TRUE(main);
  ASSERT_THAT(functions(*main), testing::ElementsAre("batches", "train", "<module>"));
  EXPECT_TRUE(main->frames[0].code->generator);
  EXPECT_FALSE(main->frames[1].code->generator);
}

TEST(PythonStack, FindsTheEpochAmongTheVariablesOfAModule) {
  Python program(
      "import time\nname = 'x'\nfor epoch in range(1, 9):\n  if epoch == 3:\n    print(1, flush=True)\n    "
      "time.sleep(1000)\n");
  auto python = PythonProcess::attach(program.pid(), nullptr);
  ASSERT_TRUE(python);
  const auto main = python->main_thread();
  ASSERT_TRUE(main);
  EXPECT_EQ(main->epoch, 3);
}

TEST(PythonStack, ShowsEveryThread) {
  Python program(R"(import threading, time
lock = threading.Lock()
lock.acquire()
def writer():
    print("x", flush=True)
    with lock:
        pass
threading.Thread(target=writer, daemon=True).start()
time.sleep(1000)
)");
  usleep(50000);
  auto python = PythonProcess::attach(program.pid(), nullptr);
  ASSERT_TRUE(python);
  const auto threads = python->threads();
  ASSERT_EQ(threads.size(), 2u);
  EXPECT_TRUE(threads[0].main);
  EXPECT_FALSE(threads[1].main);
  EXPECT_EQ(threads[1].frames[0].code->function, "writer");
  EXPECT_EQ(threads[1].frames[0].line, 6);
}

TEST(PythonStack, ARunningProgramNeverGivesWrongFrames) {
  Python program(R"(def leaf(n):
    return sum(range(n % 7))
def middle(n):
    return leaf(n) + leaf(n + 1)
def top():
    n = 0
    while True:
        n += middle(n) + 1
print("x", flush=True)
top()
)");
  auto python = PythonProcess::attach(program.pid(), nullptr);
  ASSERT_TRUE(python);
  int seen = 0;
  for (int i = 0; i < 3000; ++i) {
    const auto main = python->main_thread();
    if (!main) continue;
    ++seen;
    for (const std::string& name : functions(*main))
      EXPECT_THAT(name, testing::AnyOf("leaf", "middle", "top", "<module>"));
  }
  EXPECT_GT(seen, 1500) << "most stacks must be whole";
}

TEST(PythonStack, SaysWhyThereIsNone) {
  const int pid = fork();
  if (pid == 0) {
    execlp("sleep", "sleep", "1000", nullptr);
    _exit(127);
  }
  usleep(50000);
  std::string why_not;
  EXPECT_FALSE(PythonProcess::attach(pid, &why_not));
  EXPECT_EQ(why_not, "no Python interpreter in this process");
  kill(pid, SIGKILL);
  waitpid(pid, nullptr, 0);
}

TEST(PythonStack, LineTablesOfAllVersions) {
  // `def f():` at line 10 with statements in lines 11 and 13, as co_lnotab / co_linetable hold them.
  const uint8_t lnotab[] = {0, 1, 8, 2};
  EXPECT_EQ(line_of(LineTable::lnotab, lnotab, sizeof lnotab, 10, 0), 11);
  EXPECT_EQ(line_of(LineTable::lnotab, lnotab, sizeof lnotab, 10, 7), 11);
  EXPECT_EQ(line_of(LineTable::lnotab, lnotab, sizeof lnotab, 10, 8), 13);
  const uint8_t pairs[] = {8, 1, 4, 2};
  EXPECT_EQ(line_of(LineTable::pairs, pairs, sizeof pairs, 10, 6), 11);
  EXPECT_EQ(line_of(LineTable::pairs, pairs, sizeof pairs, 10, 8), 13);
  const uint8_t cut_off[] = {0xf0};
  EXPECT_EQ(line_of(LineTable::locations, cut_off, sizeof cut_off, 10, 400), 10);
  // Read while the process changed it.
  EXPECT_EQ(line_of(LineTable::pairs, pairs, sizeof pairs, INT32_MAX, 8), INT32_MIN + 2);
}

}  // namespace
}  // namespace isochron::observe
