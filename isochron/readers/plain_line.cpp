#include "isochron/readers/plain_line.h"

#include <algorithm>
#include <array>

#include "isochron/readers/line_quantities.h"

namespace isochron {
namespace {

constexpr size_t npos = std::string_view::npos;

constexpr auto kNotBefore = std::to_array<std::string_view>(
    {"best", "at", "from", "for", "every", "last", "since", "until", "per", "of", "in", "next", "previous", "each"});

// "/10", " of 10", " / 10"
std::optional<int64_t> total_after(Scanner& scan) {
  const size_t before = scan.position();
  scan.skip_spaces();
  if (scan.any_of("/") || scan.literal("of ") || scan.literal("out of ")) {
    scan.skip_spaces();
    if (const auto total = scan.count()) return total;
  }
  scan.move_to(before);
  return std::nullopt;
}

void skip_separators(Scanner& scan, std::string_view separators, int most) {
  for (int i = 0; i < most && scan.any_of(separators); ++i) {
  }
}

struct Mention {
  size_t begin = 0;
  size_t end = 0;
};

// "=== end of epoch 3 ===", "finished epoch 3 of 5"
bool names_the_end(std::string_view lower_text) {
  const std::string_view text = trimmed(lower_text);
  for (const std::string_view word : {"end of", "finished", "completed", "ended", "done with"})
    if (text.ends_with(word)) return true;
  return false;
}

// "start of epoch 3", "end of epoch 3": about the epoch itself.
bool names_a_bound(std::string_view lower_text) {
  const std::string_view text = trimmed(lower_text);
  return text.ends_with("start of") || text.ends_with("beginning of") || text.ends_with("end of");
}

// The first "epoch 3", "Epoch: [3/10]", "epoch=3" that gives an epoch its number.
std::optional<Mention> find_epoch(std::string_view line, std::string_view lower_line, LogEvent& event) {
  for (size_t at = lower_line.find("epoch"); at != npos; at = lower_line.find("epoch", at + 1)) {
    if (at > 0 && is_letter(line[at - 1])) continue;
    if (lower_line.substr(0, at).ends_with("time/")) continue;  // a unit, or the name of a clock
    std::string_view before = word_before(lower_line, at);
    if (before.ends_with('_')) {  // "batch_in_epoch: 7"
      before.remove_suffix(1);
      before.remove_prefix(before.rfind('_') + 1);
    }
    // "best epoch 4", "for 1 epoch 41.0 sec": no epoch's number follows.
    // But "train.py:88 epoch 4" does.
    const size_t start = before.empty() ? 0 : static_cast<size_t>(before.data() - lower_line.data());
    const bool after_place = start > 0 && line[start - 1] == ':';
    if (!before.empty() && is_digit(before.back()) && !after_place) continue;
    if (std::find(kNotBefore.begin(), kNotBefore.end(), before) != kNotBefore.end() &&
        !names_a_bound(lower_line.substr(0, at)))
      continue;
    Scanner scan(line, at + 5);
    if (scan.rest().starts_with(" ==") || scan.rest().starts_with("==")) continue;  // source code in a traceback
    if (scan.any_of("e") && is_letter(scan.peek())) continue;                       // "Epoche 3", but no other word
    skip_separators(scan, " \t:=#[(-|", 6);
    if (scan.literal("number") || scan.literal("num") || scan.literal("no.")) skip_separators(scan, " :=#", 3);
    Scanner as_time = scan;
    if (as_time.duration()) continue;
    Scanner as_number = scan;
    const auto number = as_number.number();
    const auto count = scan.count();
    if (!count) continue;
    if (number && as_number.position() > scan.position()) {  // 4.42, but "Epoch 3." ends a sentence
      if (is_digit(line[as_number.position() - 1])) {
        event.epoch_position = number->value;
        return Mention{at, as_number.position()};
      }
    }
    event.epoch = count;
    skip_separators(scan, "]", 1);
    event.epochs = total_after(scan);
    skip_separators(scan, "])", 1);
    return Mention{at, scan.position()};
  }
  return std::nullopt;
}

// What else people call an epoch. These words count other things too, so only a line that also tells a time is one.
std::optional<Mention> find_other_word(std::string_view line, std::string_view lower_line, LogEvent& event) {
  struct Word {
    std::string_view text;
    bool needs_total;
    bool leads = false;  // and must stand right before its number
  };
  for (const Word word :
       {Word{"ep", false}, Word{"e", false, true}, Word{"epoch_", false}, Word{"round", true}, Word{"pass", true},
        Word{"cycle", true}, Word{"\u7b2c", false}, Word{"\u00e9poca", false}, Word{"\u00c9poca", false},
        Word{"epoca", false}, Word{"epoka", false}, Word{"\u00e9poque", false}, Word{"\u00c9poque", false},
        Word{"\u044d\u043f\u043e\u0445\u0430", false}, Word{"\u042d\u043f\u043e\u0445\u0430", false},
        Word{"\u30a8\u30dd\u30c3\u30af", false}, Word{"\uc5d0\ud3ed", false}, Word{"\uc5d0\ud3ec\ud06c", false}}) {
    const size_t at = lower_line.find(word.text);
    if (at == npos || (at > 0 && is_word(line[at - 1]))) continue;
    Scanner scan(line, at + word.text.size());
    if (word.leads && !trimmed(line.substr(0, at)).empty()) continue;
    if (!word.leads) skip_separators(scan, " .:=#[(", 4);
    event.epoch = scan.count();
    if (!event.epoch || scan.peek() == '.' || is_word(scan.peek())) continue;
    event.epochs = total_after(scan);
    if (event.epochs || !word.needs_total) return Mention{at, scan.position()};
  }
  event.epoch.reset();
  event.epochs.reset();
  return std::nullopt;
}

// "3. epoch", "3rd epoch": the number before the word.
std::optional<Mention> find_ordinal(std::string_view line, std::string_view lower_line, LogEvent& event) {
  for (size_t at = lower_line.find("epoch"); at != npos; at = lower_line.find("epoch", at + 1)) {
    size_t end = at;
    while (end > 0 && is_space(line[end - 1])) --end;
    const std::string_view front = lower_line.substr(0, end);
    const bool dot = front.ends_with('.');
    const bool suffix =
        front.ends_with("st") || front.ends_with("nd") || front.ends_with("rd") || front.ends_with("th");
    if (!dot && !suffix) continue;
    end -= dot ? 1 : 2;
    size_t begin = end;
    while (begin > 0 && is_digit(line[begin - 1])) --begin;
    if (begin == end || (begin > 0 && (is_word(line[begin - 1]) || line[begin - 1] == '.'))) continue;
    event.epoch = Scanner(line, begin).count();
    if (event.epoch) return Mention{begin, at + 5};
  }
  return std::nullopt;
}

// "Train: [0/300][20/1251] lr 0.1", "[0/25][50/1583] Loss_D: 0.3", "[2,  4000] loss: 1.7": two counters side by side
// are epoch and step, though no word says so.
std::optional<Mention> find_pair(std::string_view line, std::string_view lower_line, LogEvent& event) {
  for (size_t at = line.find('['); at != npos; at = line.find('[', at + 1)) {
    Scanner scan(line, at + 1);
    scan.skip_spaces();
    const auto epoch = scan.count();
    const auto epochs = epoch ? total_after(scan) : std::nullopt;
    if (!epoch || *epoch < 0) continue;
    const size_t end = scan.position();
    const bool two_brackets = epochs && *epoch <= *epochs && scan.any_of("]");
    const bool leads = !epochs && trimmed(line.substr(0, at)).empty() && scan.any_of(",");
    if (!two_brackets && !leads) continue;
    scan.skip_spaces();
    if (two_brackets && !scan.any_of("[")) continue;
    scan.skip_spaces();
    const auto step = scan.count();
    const auto steps = step ? total_after(scan) : std::nullopt;
    if (!step || !scan.any_of("]") || (two_brackets && (!steps || *step > *steps))) continue;
    if (leads && lower_line.find("loss", scan.position()) == npos) continue;
    event.epoch = epoch;
    event.epochs = epochs;
    event.step = step;
    event.steps = steps;
    return Mention{at, two_brackets ? end + 1 : scan.position()};
  }
  return std::nullopt;
}

// "[1/6] loss=2.3": a bracket that begins the line and counts something.
std::optional<Mention> find_leading_bracket(std::string_view line, LogEvent& event) {
  Scanner scan(line);
  scan.skip_spaces();
  const size_t begin = scan.position();
  if (!scan.any_of("[(")) return std::nullopt;
  scan.skip_spaces();
  event.epoch = scan.count();
  event.epochs = event.epoch ? total_after(scan) : std::nullopt;
  if (!event.epochs || *event.epoch > *event.epochs || !scan.any_of("])")) {
    event.epoch.reset();
    event.epochs.reset();
    return std::nullopt;
  }
  return Mention{begin, scan.position()};
}

// "[3] loss=2.3 4.1s", "  3: 2.31 4.1s": a number that begins the line. Whether it counts, the lines around it tell.
std::optional<Mention> find_leading_number(std::string_view line, LogEvent& event) {
  constexpr int64_t kLargest = 100000;
  Scanner scan(line);
  scan.skip_spaces();
  const size_t begin = scan.position();
  const bool bracket = scan.any_of("[(#");
  scan.skip_spaces();
  const auto number = scan.count();
  if (!number || *number < 0 || *number > kLargest) return std::nullopt;
  const bool closed = bracket && scan.any_of("])");
  if (!closed) skip_separators(scan, ":|)", 1);
  if (closed ? is_word(scan.peek()) : !is_space(scan.peek())) return std::nullopt;
  event.epoch = number;
  return Mention{begin, scan.position()};
}

// "step 40/120", "batch=25/100", "iter: 7", "[ 10/2500]" right behind the epoch.
void find_step(std::string_view line, std::string_view lower_line, size_t after_epoch, LogEvent& event) {
  Scanner next(line, after_epoch);
  skip_separators(next, " ,:|-[(\t", 6);
  if (const auto step = next.count()) {
    if (next.peek() == '/' || next.peek() == ' ')
      if (const auto steps = total_after(next)) {
        event.step = step;
        event.steps = steps;
        return;
      }
  }
  for (const std::string_view word : {"step", "batch", "iteration", "iters", "iter", "minibatch", "it", "sample"}) {
    for (size_t at = lower_line.find(word); at != npos; at = lower_line.find(word, at + 1)) {
      if (at > 0 && (is_word(line[at - 1]) || line[at - 1] == '/')) continue;
      Scanner scan(line, at + word.size());
      skip_separators(scan, " :=#[(", 4);
      const auto step = scan.count();
      if (!step || scan.peek() == '.' || is_letter(scan.peek())) continue;
      const auto total = total_after(scan);
      if (word == "sample" && !total) continue;  // "sample 7" may be any
      event.step = step;
      event.steps = total;
      return;
    }
  }
}

bool is_notice(std::string_view lower_line) {
  return has_any(lower_line, {"did not improve", "improved from", "saving model", "finished saving", "early stopping",
                              "earlystopping", "stopping early", "reducelronplateau", "reducing learning rate",
                              "adjusting learning rate", "restoring model"});
}

// Whether a line speaks of training alone, or of validation alone.
void note_part(std::string_view lower_text, LogEvent& event) {
  const std::string_view about = lower_text.substr(std::min(lower_text.find_first_not_of(" :|-,]"), lower_text.size()));
  event.train_part = about.starts_with("train");
  event.valid_part = about.starts_with("val") || about.starts_with("eval") || about.starts_with("test");
}

// "step 400/10000 loss 3.1 lr 1e-4": of a run that counts no epochs.
std::optional<LogEvent> step_event(std::string_view line, std::string_view lower_line) {
  LogEvent event;
  if (!has_any(lower_line, {"loss", "ppl", "perplexity"})) return std::nullopt;
  find_step(line, lower_line, line.size(), event);
  if (!event.step) return std::nullopt;
  if (const auto time = find_quantities(line, lower_line, 0, event).time; time && !event.step_time)
    event.step_time = time;
  event.kind = LogEvent::Kind::step;
  event.loose = true;
  return event;
}

// Below an epoch's header: "  train: loss 0.3 (1.9 s)", "  valid: loss 0.2 (0.4 s)".
std::optional<LogEvent> part_event(std::string_view line, std::string_view lower_line) {
  LogEvent event;
  note_part(lower_line, event);
  if (!event.train_part && !event.valid_part) return std::nullopt;
  find_step(line, lower_line, 0, event);
  const Quantities quantities = find_quantities(line, lower_line, 0, event);
  event.epoch_time = event.valid_part && event.validation_time ? event.validation_time : quantities.time;
  event.within = true;
  const bool tells =
      quantities.numbers > 0 || has_any(lower_line, {" done", " took", " finished", " completed", "time"});
  return event.epoch_time && !event.step && tells ? std::optional<LogEvent>(event) : std::nullopt;
}

}  // namespace

std::optional<LogEvent> plain_event(std::string_view line, std::string_view lower_line) {
  LogEvent event;
  auto epoch = find_epoch(line, lower_line, event);
  if (!epoch) epoch = find_pair(line, lower_line, event);
  auto vague = epoch ? std::nullopt : find_leading_bracket(line, event);
  if (!epoch && !vague) vague = find_ordinal(line, lower_line, event);
  if (!epoch && !vague) vague = find_other_word(line, lower_line, event);
  if (!epoch && !vague) {
    vague = find_leading_number(line, event);
    event.bare = vague.has_value();
  }
  if (is_notice(lower_line)) return std::nullopt;
  if (!epoch && !vague) {
    auto part = part_event(line, lower_line);
    return part ? part : step_event(line, lower_line);
  }
  const Mention mention = epoch ? *epoch : *vague;
  find_step(line, lower_line, mention.end, event);
  Quantities quantities = find_quantities(line, lower_line, mention.end, event);
  // "loss 0.4, time 12.1s (epoch 3)": all there is to say may stand before.
  if (!quantities.time && line.find_first_not_of(" )].,", mention.end) == npos) {
    const std::string_view front = line.substr(0, mention.begin);
    LogEvent told = event;
    const Quantities before = find_quantities(front, lower_line.substr(0, mention.begin), 0, told);
    if (before.time) {
      quantities = before;
      event = std::move(told);
    }
  }
  if (vague && !quantities.time && !event.clock) return std::nullopt;
  if (event.bare && (event.left || event.step)) return std::nullopt;  // rounds and steps, not epochs
  const std::string_view after = lower_line.substr(mention.end);
  event.vague = vague.has_value() && (event.bare || line[mention.begin] == '[');
  note_part(after, event);
  if (event.step && !quantities.time) {
    event.kind = LogEvent::Kind::step;
  } else if (event.step && event.steps && *event.step < *event.steps) {
    event.kind = LogEvent::Kind::step;
    event.beside_step = quantities.time;
  } else if (quantities.time) {
    event.epoch_time = quantities.time;
  } else if (event.clock || event.validation_time || has_any(after, {"done", "finish", "complet", "ended", " end"}) ||
             names_the_end(lower_line.substr(0, mention.begin))) {
    event.kind = LogEvent::Kind::epoch_end;
  } else if (has_any(lower_line, {"start", "begin"}) || quantities.numbers == 0 ||
             (quantities.numbers == 1 && has_any(after, {"lr", "learning rate"}))) {
    event.kind = LogEvent::Kind::epoch_begin;
  } else if (has_any(after, {"saved", "saving", "checkpoint"}) && !has_any(after, {"loss", "acc"})) {
    return std::nullopt;
  }
  return event;
}

void read_label(std::string_view label, LogEvent& event) {
  const std::string text = lowered(label);
  find_epoch(label, text, event);
  if (has_any(text, {"sanity", "download", "loading", "tokeniz", "generating", "extract", "fetching", "scanning",
                     "caching", "predict", "processing", "writing", "saving", "upload", "shards"}) ||
      text.starts_with("map")) {
    event.role = LogEvent::Role::other;
    event.labelled = true;
    return;
  }
  if (has_any(text, {"val", "eval", "test", "class "})) {
    event.role = LogEvent::Role::validation;
    event.labelled = true;
    return;
  }
  event.labelled = event.epoch.has_value() || has_any(text, {"train", "epoch"});
  // "Epoch 3/10:  20%|██   | 2/10": a bar of epochs that says which is under way.
  if (event.epoch && event.epochs && event.epochs == event.steps && event.step &&
      (*event.step == *event.epoch || *event.step + 1 == *event.epoch)) {
    event.epoch.reset();
    event.epochs.reset();
    event.role = LogEvent::Role::epochs;
  }
  if (event.epoch || event.role == LogEvent::Role::epochs) return;
  // "Epochs 1/3. Running loss: 0.3:  10%|█    | 25/250"
  if (const size_t at = text.find("epochs "); at != npos) {
    Scanner scan(text, at + 7);
    const auto number = scan.count();
    if (const auto total = number ? total_after(scan) : std::nullopt; total && total != event.steps) {
      event.epoch = number;
      event.epochs = total;
      return;
    }
  }
  // "train 1/6", "1/4 * Epoch (train)", and ultralytics' "1/20  5.66G  1.23 …"
  for (size_t at = 0; at < text.size() && text.find("epochs") == npos; ++at) {
    if (!is_digit(text[at]) || (at > 0 && (is_word(text[at - 1]) || text[at - 1] == '.'))) continue;
    Scanner scan(text, at);
    const auto number = scan.count();
    const auto total = number ? total_after(scan) : std::nullopt;
    if (!total || *number > *total) continue;
    scan.skip_spaces();
    Scanner memory = scan;
    const bool yolo = memory.number() && memory.literal("g");
    if (event.labelled || yolo) {
      event.epoch = number;
      event.epochs = total;
      event.labelled = true;
      event.inclusive = yolo;
    }
    return;
  }
  if (text.find("epoch") != npos) event.role = LogEvent::Role::epochs;
}

}  // namespace isochron
