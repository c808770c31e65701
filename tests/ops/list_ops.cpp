// Writes the name of every op and composite of the library, one a line.
#include <cstdio>

#include "isochron/ops/op.h"

int main() {
  for (const isochron::Op* op : isochron::all_ops()) std::puts(op->name);
  for (const isochron::Composite* composite : isochron::all_composites()) std::puts(composite->name);
}
