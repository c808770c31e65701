// All ops.
#pragma once

#include "isochron/ops/attention.h"
#include "isochron/ops/check.h"
#include "isochron/ops/conv.h"
#include "isochron/ops/create.h"
#include "isochron/ops/ctc.h"
#include "isochron/ops/elementwise.h"
#include "isochron/ops/indexing.h"
#include "isochron/ops/matmul.h"
#include "isochron/ops/normalize.h"
#include "isochron/ops/pool.h"
#include "isochron/ops/random.h"
#include "isochron/ops/recurrent.h"
#include "isochron/ops/reduce.h"
#include "isochron/ops/shape_ops.h"
#include "isochron/ops/softmax.h"
#include "isochron/ops/sorting.h"
