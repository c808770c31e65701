// Elements kept by number: in memory as far as they fit, or in a file.
//
// The file is written aside (`path.partial`) record by record, each with its checksum, and gets its name only when it
// is complete. An interrupted one goes on where it stopped. One written from other data, stages or tag is stale: it is
// said so and written anew. One store at a time writes a file, of all processes; other caches keep nothing meanwhile.
// A cache that can't be written, such as on a full disk, is said so once, gives its room back and keeps nothing more.
#pragma once

#include <memory>
#include <string>

#include "isochron/data/element.h"

namespace isochron::data {

class ElementStore {
 public:
  virtual ~ElementStore() = default;
  // From any thread. false: not there.
  virtual bool load(int64_t i, Element& out) = 0;
  // false: it is not kept, for want of room.
  virtual bool store(int64_t i, const Element& element) = 0;
  // What is kept is of no use, since some is not: it goes, and nothing more is kept.
  virtual void give_up() = 0;
  // Elements 0 … total - 1 are all there are; if all of them are stored, the store is complete.
  virtual void finish(int64_t total) = 0;
  virtual bool complete() const = 0;
  virtual int64_t count() const = 0;
  virtual int64_t total() const = 0;  // of a complete one
  virtual std::string note() const = 0;
};

// max_bytes < 0: half of what this process may still take when the first element is stored.
std::shared_ptr<ElementStore> memory_store(int64_t max_bytes);
// A cache.
std::shared_ptr<ElementStore> file_store(const std::string& path, const std::string& fingerprint);
// A file that is there: takes it as it is, and only reads.
std::shared_ptr<ElementStore> saved_store(const std::string& path);
// A file to be written from its first element; one of that name is replaced in the end. FileError at once where another
// store writes it. What is not finished leaves nothing behind.
std::shared_ptr<ElementStore> saving_store(const std::string& path);

}  // namespace isochron::data
