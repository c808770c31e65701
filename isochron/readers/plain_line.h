// Lines a user's own print() wrote: no fixed form, but an epoch's number and a time among other words.
//
//   plain_event("====> Epoch: 1 Average loss: 348.8147 (0.44s)");      // epoch 1 took 0.44 s
//   plain_event("epoch=1 batch=25/100 loss=0.45437");                  // step 25 of 100
//   plain_event("Epoch 00008: saving model to out/8.keras");           // nothing: not an epoch's end
#pragma once

#include <optional>
#include <string_view>

#include "isochron/readers/log_event.h"

namespace isochron {

std::optional<LogEvent> plain_event(std::string_view line, std::string_view line_lower);

// The epoch and role a progress bar's label names: "Epoch 3/10", "train 1/6", "Validation DataLoader 0".
void read_label(std::string_view label, LogEvent& event);

}  // namespace isochron
