// The elementwise part of a recurrent step, for a block of units of all examples, for the instruction set in use.
#pragma once

#include <cstdint>

namespace isochron::kernels {

enum class CellKind : uint8_t { lstm, gru, rnn_tanh, rnn_relu };

// Pointers at the first unit of the block. Matrices of states are (rows, units); those of gates (rows, gates * units),
// a gate's block `units` behind the one before.
template <class T>
struct CellBlock {
  int64_t rows, width, units;
  const bool* mask;  // (rows) or null: rows where it is false keep their state
  // Forward: h_prev u for this block, (rows, gates * width), a gate's block `width` behind the one before.
  const T* sums;
  const T* z;
  const T *h_prev, *c_prev;
  const T* bias;     // gru: (gates * units)
  T *h, *c, *gates;  // c: lstm; gates: lstm and gru, after their activations
  T* recurrent;      // gru: the candidate's recurrent sum, bias included
  // Backward.
  const T *dh_out, *dc_out;  // from outside; dc_out: lstm
  T *dh, *dc;          // (rows, units), from the step after; left as what goes to the step before without the product
  T *dz, *drecurrent;  // like gates; drecurrent: gru
};

template <class T>
struct RecurrentCells {
  int64_t panel;                                  // units of one block, and columns of a packed panel
  void (*forward[4])(const CellBlock<T>& block);  // by CellKind
  void (*backward[4])(const CellBlock<T>& block);
};

template <class T>
const RecurrentCells<T>& recurrent_cells();

}  // namespace isochron::kernels
