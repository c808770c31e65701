// Whole sessions on small real programs.
#include "isochron/observe/watch_session.h"

#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <fstream>
#include <iterator>
#include <thread>

#include "isochron/base/error.h"

namespace isochron::observe {
namespace {

using testing::HasSubstr;

// Runs a Python program under watch with its output thrown away. What the program writes into the file it is given as
// argument are the seconds its epochs took by its own clock: a machine with other work to do makes them longer.
struct Watched {
  RunRecord run;
  int status = -1;
  std::string stall;
  std::vector<double> own_times;

  explicit Watched(const std::string& program, WatchOptions options = {}) {
    const std::string path = testing::TempDir() + "watched_" + std::to_string(getpid()) + ".py";
    std::ofstream(path) << program;
    const int out = dup(STDOUT_FILENO), err = dup(STDERR_FILENO), null = open("/dev/null", O_WRONLY);
    fflush(stdout);
    dup2(null, STDOUT_FILENO);
    dup2(null, STDERR_FILENO);
    const std::string times = path + ".times";
    options.command = {"python3", "-u", path, times};
    {
      WatchSession session(options);
      session.on_stall = [&] { stall = session.stall()->summary; };
      status = session.run();
      run = session.records().front();
    }
    fflush(stdout);
    dup2(out, STDOUT_FILENO);
    dup2(err, STDERR_FILENO);
    for (const int fd : {out, err, null}) close(fd);
    unlink(path.c_str());
    std::ifstream told(times);
    own_times.assign(std::istream_iterator<double>(told), {});
    unlink(times.c_str());
  }

  std::string fact(const std::string& key) const {
    const Fact* found = run.find_fact(key);
    return found ? found->value : "";
  }
};

TEST(WatchSession, AFirstEpochThatIsOnlyToldAtItsEndBeginsWithItsVariable) {
  const Watched watched(R"py(
import time
time.sleep(1)
for epoch in range(1, 4):
    t = time.time()
    while time.time() - t < (1.5 if epoch == 1 else 0.5): pass
    print(f"epoch {epoch} done, loss 0.5", flush=True)
)py");
  ASSERT_EQ(watched.run.epochs.size(), 3u);
  EXPECT_EQ(watched.run.epochs[0].index, 1);
  EXPECT_GT(watched.run.epochs[0].start, 0.8);
  EXPECT_GT(watched.run.epochs[0].seconds, 2 * watched.run.epochs[1].seconds);
}

TEST(WatchSession, EpochsPhasesAndExitOfAProgramThatFails) {
  const Watched watched(R"py(
import time
def load_batch(): time.sleep(0.25)
def train():
    t = time.time()
    while time.time() - t < 0.25: pass
for epoch in range(3):
    load_batch()
    train()
    print(f"Epoch {epoch + 1}/3 done, time=0.5", flush=True)
raise SystemExit(4)
)py");
  EXPECT_EQ(watched.status, 4);
  EXPECT_EQ(watched.fact("exit"), "4");
  EXPECT_EQ(watched.run.source, "watch");
  ASSERT_EQ(watched.run.epochs.size(), 3u);
  double input = 0, other = 0;
  for (const Epoch& epoch : watched.run.epochs) {
    input += epoch.phases[static_cast<size_t>(Phase::input)];
    other += epoch.phases[static_cast<size_t>(Phase::other)];
  }
  EXPECT_GT(input, 0.3);
  EXPECT_GT(other, 0.3);
  EXPECT_GE(watched.run.samples.size(), 5u);
}

TEST(WatchSession, EpochsOfASilentProgramComeFromItsLoop) {
  const Watched watched(R"py(
import sys, time
times = open(sys.argv[1], "w")
for epoch in range(4):
    start = time.time()
    time.sleep(0.4)
    print(time.time() - start, file=times)
time.sleep(1)
)py");
  ASSERT_EQ(watched.run.epochs.size(), 4u);
  EXPECT_EQ(watched.run.epochs[0].index, 1);
  EXPECT_EQ(watched.run.epochs[3].index, 4);
  ASSERT_EQ(watched.own_times.size(), 4u);
  EXPECT_NEAR(watched.run.epochs[3].seconds, watched.own_times[3], 0.2);
  EXPECT_EQ(watched.fact("epochs.from"), "a variable of the training loop");
}

// By what the loop goes through, what it calls, and around a library that has a variable of its own.
TEST(WatchSession, LoopsThatTrainForAnEpochInEachTurnCountThemWhateverTheirVariable) {
  const char* const programs[] = {R"py(
import time
n_epochs = 4
for k in range(n_epochs):
    time.sleep(0.4)
)py",
                                  R"py(
import time
def run_epoch(number):
    for step in range(4): time.sleep(0.1)
for i in range(1, 5): run_epoch(i)
)py",
                                  R"py(
import os, sys, tempfile
folder = tempfile.mkdtemp() + "/site-packages/library"
os.makedirs(folder)
open(folder + "/trainer.py", "w").write("""
import time
class Trainer:
    def fit(self, epochs):
        for epoch in range(epochs):
            time.sleep(0.4)
""")
sys.path.insert(0, folder)
from trainer import Trainer
for turn in range(4):
    Trainer().fit(epochs=1)
)py"};
  for (const char* program : programs) {
    const Watched watched(program);
    EXPECT_EQ(watched.run.epochs.size(), 4u) << program;
  }
}

// On a pipe Lightning draws its bar once, when it ends: of the epoch it was in.
TEST(WatchSession, ALightningRunThatWasEndedHasTheEpochsItWentThrough) {
  const Watched watched(R"py(
import os, sys, tempfile
folder = tempfile.mkdtemp() + "/site-packages"
loops = folder + "/lightning/pytorch/loops"
os.makedirs(loops)
for package in ("", "/pytorch", "/pytorch/loops"): open(folder + "/lightning" + package + "/__init__.py", "w")
open(loops + "/training_epoch_loop.py", "w").write("""
import time
def advance(batch_idx):
    time.sleep(0.15)
""")
open(loops + "/fit_loop.py", "w").write("""
from lightning.pytorch.loops.training_epoch_loop import advance
def run(epochs):
    for batches in epochs:
        for number in range(batches): advance(number)
""")
sys.path.insert(0, folder)
from lightning.pytorch.loops import fit_loop
fit_loop.run([8, 8, 5])
print("Epoch 2/11 \u2501\u2501\u2501\u2578 5/8 0:00:01 \u2022 0:00:01 6.05it/s", flush=True)
)py");
  EXPECT_EQ(watched.run.framework, "lightning");
  EXPECT_EQ(watched.run.epochs.size(), 2u);
}

TEST(WatchSession, AnImportInTheFirstStepBelongsToTheFirstEpoch) {
  const Watched watched(R"py(
import os, sys, tempfile, time
folder = tempfile.mkdtemp() + "/site-packages"
os.makedirs(folder)
open(folder + "/heavy.py", "w").write("import time; time.sleep(1.5)")
sys.path.insert(0, folder)
for ep in range(1, 4):
    import heavy
    time.sleep(0.4)
    print(f"epoch {ep} done, loss 0.5", flush=True)
)py");
  ASSERT_EQ(watched.run.epochs.size(), 3u);
  EXPECT_GT(watched.run.epochs[0].phases[static_cast<size_t>(Phase::start)], 1);
}

TEST(WatchSession, AProfilerAfterTrainingWasOnInNoEpoch) {
  const Watched watched(R"py(
import cProfile, time
for epoch in range(1, 4):
    time.sleep(0.3)
    print(f"Epoch {epoch}/3 done, time=0.3", flush=True)
time.sleep(0.3)
cProfile.Profile().enable()
time.sleep(0.5)
)py");
  ASSERT_EQ(watched.run.epochs.size(), 3u);
  const Fact* start = watched.run.find_fact("profiler.start");
  ASSERT_NE(start, nullptr);
  EXPECT_GT(start->epoch, 3);
}

// As Python does that writes into a pipe: all at the end.
TEST(WatchSession, EpochsToldAtTheEndHaveTheTimesOfTheLoop) {
  const auto expect_own_times = [](const Watched& watched, size_t epochs) {
    ASSERT_EQ(watched.run.epochs.size(), epochs);
    ASSERT_EQ(watched.own_times.size(), epochs);
    for (size_t i = 0; i < epochs; ++i)
      EXPECT_NEAR(watched.run.epochs[i].seconds, watched.own_times[i], 0.25) << "epoch " << i + 1;
  };
  expect_own_times(Watched(R"py(
import sys, time
lines, times = [], open(sys.argv[1], "w")
for epoch in range(4):
    start = time.time()
    time.sleep(1.2 if epoch == 2 else 0.4)
    lines.append(f"epoch {epoch}: loss {1 / (epoch + 1):.3f}")
    print(time.time() - start, file=times)
print("\n".join(lines))
)py"),
                   4);
  // Lines about steps, of which all but the last epoch's say nothing of its length.
  expect_own_times(Watched(R"py(
import sys, time
lines, times = [], open(sys.argv[1], "w")
for epoch in range(3):
    start = time.time()
    for batch in range(4):
        time.sleep(0.3)
        lines.append(f"epoch {epoch} batch {batch}/4 loss 0.5")
    print(time.time() - start, file=times)
print("\n".join(lines))
)py"),
                   3);
}

TEST(WatchSession, ADeadlockOfTwoThreadsIsToldAndEnded) {
  const Watched watched(R"py(
import threading, time
first, second = threading.Lock(), threading.Lock()
def writer():
    with second:
        time.sleep(0.2)
        with first: pass
with first:
    threading.Thread(target=writer, daemon=True).start()
    time.sleep(0.1)
    print("Epoch 1/3", flush=True)
    with second: pass
)py",
                        {.stall_seconds = 2, .end_when_stuck = true});
  EXPECT_EQ(watched.status, 128 + 15);
  EXPECT_THAT(watched.fact("stall.summary"), HasSubstr("with second: pass"));
  EXPECT_EQ(watched.fact("stall.cause"), "wait.lock");
}

TEST(WatchSession, GoesOnWhenAReportCanNotBeWritten) {
  WatchSession session({.command = {"sleep", "1"}, .stall_seconds = 0.2});
  int reports = 0;
  session.on_stall = [&] {
    ++reports;
    fail<FileError>("write", "run.json: no space left on device");
  };
  EXPECT_EQ(session.run(), 0);
  EXPECT_GE(reports, 1);
}

TEST(WatchSession, RecordsMayBeAskedForAtAnyTime) {
  WatchSession session({.command = {"sleep", "0.3"}});
  std::atomic<bool> over{false};
  std::thread asking([&] {
    while (!over) {
      EXPECT_EQ(session.record().source, "watch");
      session.now_doing();
    }
  });
  EXPECT_EQ(session.run(), 0);
  over = true;
  asking.join();
}

TEST(WatchSession, LastWordsOfAStuckProgramDoNotMeanThatItGoesOn) {
  const Watched watched(R"py(
import signal, sys, threading, time
def end(*_):
    print("interrupted", flush=True)
    time.sleep(0.5)
    sys.exit(1)
signal.signal(signal.SIGTERM, end)
print("Epoch 1/3", flush=True)
lock = threading.Lock()
lock.acquire()
lock.acquire()
)py",
                        {.stall_seconds = 2, .end_when_stuck = true});
  EXPECT_EQ(watched.status, 1);
  EXPECT_EQ(watched.fact("stall.state"), "stuck");
  EXPECT_EQ(watched.fact("stall.passed"), "");
}

TEST(WatchSession, AChildThatWritesNothingIsAWaitForAWorker) {
  const Watched watched(R"py(
import multiprocessing, time
def work(queue): time.sleep(30)
if __name__ == "__main__":
    queue = multiprocessing.get_context("fork").Queue()
    worker = multiprocessing.get_context("fork").Process(target=work, args=(queue,), daemon=True)
    worker.start()
    print("waiting", flush=True)
    queue.get()
)py",
                        {.stall_seconds = 2, .end_when_stuck = true});
  EXPECT_THAT(watched.fact("stall.summary"), HasSubstr("queue.get()"));
  EXPECT_EQ(watched.fact("stall.cause"), "wait.worker");
}

TEST(WatchSession, ASilentSocketIsAWaitForIo) {
  const Watched watched(R"py(
import socket, threading, time
server = socket.create_server(("127.0.0.1", 0))
def sender():
    peer, _ = server.accept()
    time.sleep(30)
threading.Thread(target=sender, daemon=True).start()
client = socket.create_connection(server.getsockname())
client.recv(10)
)py",
                        {.stall_seconds = 2, .end_when_stuck = true});
  EXPECT_THAT(watched.fact("stall.summary"), HasSubstr("tcp 127.0.0.1"));
  EXPECT_EQ(watched.fact("stall.cause"), "wait.io");
}

TEST(WatchSession, LocksOfProcessesFilesAndDatabasesAreLocks) {
  const char* const programs[] = {R"py(
import multiprocessing, os, time
lock = multiprocessing.Lock()
if os.fork() == 0:
    lock.acquire()
    time.sleep(30)
time.sleep(0.5)
with lock: pass
)py",
                                  R"py(
import os, sqlite3, tempfile, time
path = tempfile.mkdtemp() + "/runs.db"
db = sqlite3.connect(path, timeout=60)
db.execute("create table t(x)")
other = sqlite3.connect(path)
other.execute("begin exclusive")
db.execute("insert into t values(1)")
)py"};
  for (const char* program : programs) {
    const Watched watched(program, {.stall_seconds = 2, .end_when_stuck = true});
    EXPECT_EQ(watched.fact("stall.cause"), "wait.lock") << program << watched.fact("stall.summary");
  }
}

TEST(WatchSession, ANamedPipeWithoutWriterAndASelectAreWaitsForIo) {
  const char* const programs[] = {R"py(
import os, tempfile
path = tempfile.mkdtemp() + "/feed"
os.mkfifo(path)
open(path, "rb")
)py",
                                  R"py(
import os, tempfile
path = tempfile.mkdtemp() + "/feed"
os.mkfifo(path)
os.read(os.open(path, os.O_RDWR), 1)
)py",
                                  R"py(
import select, socket
server = socket.create_server(("127.0.0.1", 0))
select.select([server], [], [])
)py"};
  for (const char* program : programs) {
    const Watched watched(program, {.stall_seconds = 2, .end_when_stuck = true});
    EXPECT_EQ(watched.fact("stall.cause"), "wait.io") << program << watched.fact("stall.summary");
    EXPECT_THAT(watched.fact("stall.summary"), testing::Not(HasSubstr("a file"))) << program;
  }
}

TEST(WatchSession, ABusySilenceIsSlowAndNotStuck) {
  const Watched watched("import time\nt = time.time()\nwhile time.time() - t < 2.5: pass\n",
                        {.stall_seconds = 1, .end_when_stuck = true});
  EXPECT_EQ(watched.status, 0);
  EXPECT_THAT(watched.stall, HasSubstr("slow, not stuck"));
}

TEST(WatchSession, LooksAreRarerWhereTheyCostTooMuch) {
  EXPECT_EQ(pace_for_cost(0.4, 2), 1);  // finding symbols, on a crowded machine
  EXPECT_GT(pace_for_cost(0.4, 20), 1.4);
  EXPECT_GT(pace_for_cost(1, 2), 1.9);
  EXPECT_EQ(pace_for_cost(5, 1000), 1);
  EXPECT_GT(pace_for_cost(10, 1000), 1.5);
  EXPECT_EQ(pace_for_cost(60, 100), 3);
}

}  // namespace
}  // namespace isochron::observe
