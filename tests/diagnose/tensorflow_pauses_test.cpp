// tf.data's autotune thread ends epochs at 1.27, 2.55, 5.11 s, whatever they did.
#include <gmock/gmock.h>

#include "tests/diagnose/made_up_run.h"

namespace isochron {
namespace {

TEST(TensorflowPauses, AreTheCauseWhereTheyTakeMuchOfTheTime) {
  expect(run_of({1.1, 1.0, 1.1, 2.55, 1.0, 5.11, 2.55, 1.1}, "keras"), Symptom::uneven, Cause::wait_lock);
}

TEST(TensorflowPauses, AreALineInAHealthyRunWhereTheyTakeLittle) {
  const RunRecord run = run_of({1.23, 1.29, 0.9, 0.89, 0.75, 0.74, 1.28, 1.28}, "tensorflow");
  expect(run, Symptom::healthy, Cause::none);
  EXPECT_THAT(diagnose(run)[0].evidence, testing::Contains(testing::HasSubstr("autotune")));
}

TEST(TensorflowPauses, AreOfTensorflowAlone) {
  expect(run_of({1.23, 1.29, 0.9, 0.89, 0.75, 0.74, 1.28, 1.28}, "torch"), Symptom::uneven, Cause::unknown);
}

TEST(TensorflowPauses, HideNothingElse) {
  // Two epochs end with a pause, three others take three times as long for another reason.
  const RunRecord run = run_of({1.0, 1.0, 1.0, 1.27, 1.27, 1.0, 3.1, 3.0, 3.2}, "keras");
  EXPECT_NE(diagnose(run)[0].symptom, Symptom::healthy);
}

TEST(TensorflowPauses, AreNotSeenInWholeSeconds) {
  RunRecord run = run_of({2, 2, 2, 5, 2, 2, 5, 2, 2, 2, 2, 2, 2, 2}, "keras");
  for (Epoch& epoch : run.epochs) epoch.resolution = 0.5;
  expect(run, Symptom::uneven, Cause::unknown);
}

}  // namespace
}  // namespace isochron
