#include "isochron/observe/terminal.h"

#include <gtest/gtest.h>

namespace isochron::observe {

TEST(LineKeeper, NoteGoesAboveAnUnfinishedBarWhichIsDrawnAgain) {
  LineKeeper keeper;
  keeper.feed("Epoch 1/2\n 10% [#    ]\r 20% [##   ]");
  EXPECT_EQ(keeper.with_note("stuck\n", true), "\r\x1b[Kstuck\r\n 20% [##   ]");
}

TEST(LineKeeper, ABarThatReturnedIsLeftWithTheCursorAtItsStart) {
  LineKeeper keeper;
  keeper.feed(" 20% [##   ]\r");
  EXPECT_EQ(keeper.with_note("stuck\n", true), "\r\x1b[Kstuck\r\n 20% [##   ]\r");
}

TEST(LineKeeper, AFileGetsTheNoteOnLinesOfItsOwn) {
  LineKeeper keeper;
  keeper.feed("half a line");
  EXPECT_EQ(keeper.with_note("stuck\n", false), "\nstuck\n");
  keeper.feed(" and its end\r\n");
  EXPECT_EQ(keeper.with_note("stuck\n", false), "stuck\n");
}

}  // namespace isochron::observe
