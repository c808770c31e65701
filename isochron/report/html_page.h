// What our pages share: the look, verdicts as cards, curves of the machine, tables of operations.
#pragma once

#include <string>
#include <vector>

#include "isochron/diagnose/verdict.h"
#include "isochron/timeline/run_record.h"

namespace isochron {

// A page that stands alone, light or dark as the reader likes it. `body` is HTML, the others are text.
std::string html_page(const std::string& title, const std::string& body, const std::string& footer);

// "the first …" -> "The first …"
std::string html_sentence(std::string text);
// What to do about it, if it says so.
std::string fix_html(const Verdict& verdict);
// One card a verdict: numbers, evidence, what to do.
std::string verdict_cards(const std::vector<Verdict>& verdicts);
// CPU, memory and I/O over time with a heading; empty where there are no samples to speak of.
std::string resource_curves(const RunRecord& run);
// The costliest operations of each profile.
std::string operation_tables(const RunRecord& run);

}  // namespace isochron
