#include "isochron/exec/kernel_trial.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cstdlib>
#include <filesystem>

#include "isochron/base/files.h"
#include "isochron/base/threads.h"
#include "isochron/exec/evaluate.h"
#include "isochron/exec/function.h"
#include "isochron/exec/kernel_choices.h"
#include "isochron/ops/create.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/random.h"

namespace isochron {
namespace {

using ::testing::HasSubstr;

// What this program learns is nobody else's.
const bool nothing_kept = setenv("ISOCHRON_CACHE_DIR", "", 1) == 0;

// A plan of one call on one thread, whose variants take these times.
int chosen_of(std::vector<int64_t> ns, int* timed_runs = nullptr, int* first_timed = nullptr) {
  KernelTrial trial({{0, static_cast<int>(ns.size()), "key"}});
  const KernelTrial::Candidate& candidate = trial.candidates()[0];
  for (int run = 0; run < 200 && !trial.done(); ++run) {
    if (!trial.timed()) continue;
    if (timed_runs && (*timed_runs)++ == 0) *first_timed = run;
    // Another process disturbs every fourth run.
    const int64_t took = ns[static_cast<size_t>(trial.variant(candidate))] + (run % 4 == 0 ? 100'000 : 0);
    const int64_t stamps[2] = {1000, 1000 + took};
    trial.ran({stamps, 1, 1, 0, 0});
  }
  EXPECT_TRUE(trial.done());
  return trial.best(candidate);
}

TEST(KernelTrial, TakesTheQuickestVariant) {
  EXPECT_EQ(chosen_of({50'000, 40'000, 45'000}), 1);
  EXPECT_EQ(chosen_of({50'000, 60'000, 30'000}), 2);
}

TEST(KernelTrial, KeepsWhatTheModelSaysUnlessTheGainIsReal) {
  EXPECT_EQ(chosen_of({50'000, 49'000, 51'000}), 0) << "2 % may be noise";
  EXPECT_EQ(chosen_of({3'000, 2'700, 3'300}), 0) << "0.3 us are not worth a choice";
}

TEST(KernelTrial, APlanThatRunsAFewTimesNeverTries) {
  int timed = 0, first = 0;
  chosen_of({50'000, 40'000, 45'000}, &timed, &first);
  EXPECT_EQ(first, 32);
  EXPECT_EQ(timed, 15);
}

TEST(KernelTrial, TheSlowestThreadCounts) {
  KernelTrial trial({{1, 2, "key"}});
  while (!trial.done()) {
    if (!trial.timed()) continue;
    const int64_t second = trial.variant(trial.candidates()[0]) == 0 ? 90'000 : 70'000;
    // By thread, then by call. The first thread is always quick, and took no part in call 0.
    const int64_t stamps[8] = {0, 0, 100, 5'100, 100, 200, 200, 200 + second};
    trial.ran({stamps, 2, 2, 0, 0});
  }
  EXPECT_EQ(trial.best(trial.candidates()[0]), 1);
}

TEST(KernelChoices, AreThereForTheNextProcess) {
  const TempFolder folder;
  const std::string path = folder.file("deeper/choices");
  KernelChoices first(path);
  EXPECT_EQ(first.find("matmul a"), std::nullopt);
  first.expect("matmul a");
  first.expect("matmul b");
  EXPECT_THAT(first.report(),
              HasSubstr("0 known from earlier processes, 0 learnt in this one, 2 not tried yet (no file"));
  first.learn("matmul a", 2);
  EXPECT_EQ(first.find("matmul a"), 2);
  first.save();

  KernelChoices second(path);
  EXPECT_EQ(second.find("matmul a"), 2);
  EXPECT_EQ(second.find("matmul b"), std::nullopt) << "only expected";
  second.expect("matmul c");
  EXPECT_THAT(second.report(),
              HasSubstr("1 known from earlier processes, 0 learnt in this one, 1 not tried yet (the file "
                        "has no such kernels)"));
}

TEST(KernelChoices, OfTwoProcessesAtATimeBothCount) {
  const TempFolder folder;
  const std::string path = folder.file("choices");
  KernelChoices one(path), other(path);
  one.expect("a");
  one.learn("a", 1);
  other.expect("b");
  other.learn("b", 0);
  one.save();
  other.save();
  KernelChoices later(path);
  EXPECT_EQ(later.find("a"), 1);
  EXPECT_EQ(later.find("b"), 0);
}

TEST(KernelChoices, AFileThatIsNoneOfOursCountsAsNone) {
  const TempFolder folder;
  const std::string path = folder.file("choices");
  for (const std::string& text :
       {std::string("isochron kernel choices, version 0\n1 a\n"), std::string("\0\1\2", 3), std::string(),
        std::string(3 << 20, 'x'),
        std::string("isochron kernel choices, version 1\n-3 a\nnonsense\n99999999999999999999 b\n")}) {
    write_file(path, text);
    KernelChoices choices(path);
    EXPECT_EQ(choices.find("a"), std::nullopt) << text.substr(0, 60);
    choices.expect("a");
    choices.learn("a", 1);
    choices.save();
    EXPECT_EQ(KernelChoices(path).find("a"), 1) << text.substr(0, 60);
  }
}

TEST(KernelChoices, AreBounded) {
  const TempFolder folder;
  KernelChoices choices(folder.file("choices"));
  for (int i = 0; i < 5000; ++i) {
    choices.expect(fmt::format("key {}", i));
    choices.learn(fmt::format("key {}", i), 1);
  }
  choices.save();
  EXPECT_LT(std::filesystem::file_size(folder.file("choices")), 40'000u);
}

TEST(KernelChoices, AFolderThatCannotBeWrittenIsNoError) {
  const TempFolder folder;
  write_file(folder.file("file"), "");
  KernelChoices choices(folder.file("file/below"));
  choices.expect("a");
  choices.learn("a", 1);
  choices.save();
  EXPECT_EQ(choices.find("a"), 1);
}

// The same numbers in every run: before the trial, during it and after.
TEST(KernelTrial, NoRunOfAPlanDiffersFromAnother) {
  const int threads = get_num_threads();
  set_num_threads(1);  // a busy machine takes threads away, and puts the trial off
  const Tensor x = random_normal({64, 300}), w = random_normal({300, 200});
  auto product = function([](Tensor a, Tensor b) { return relu(matmul(a, b)); });
  const auto values = [&] { return product(x, w).to_vector<float>(); };
  const std::vector<float> first = values();
  EXPECT_THAT(to_string(cache_report()), HasSubstr("kernel variants: "));
  for (int run = 0; run < 80; ++run) ASSERT_EQ(values(), first) << "run " << run;
  const std::string report = cache_report().kernel_choices;
  EXPECT_THAT(report, testing::Not(HasSubstr(" 0 learnt")));
  EXPECT_THAT(report, HasSubstr("nothing is kept"));
  set_num_threads(threads);
}

}  // namespace
}  // namespace isochron
