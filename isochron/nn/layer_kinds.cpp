// The layers that files know. Sequential and functional models are in model_config.cpp.
#include "isochron/nn/builtin_kinds.h"
#include "isochron/nn/layers.h"
#include "isochron/nn/model.h"
#include "isochron/nn/model_config.h"
#include "isochron/nn/symbolic_ops.h"

namespace isochron {

template <>
void add_builtin_kinds<Layer>() {
#define ISO_KIND(Class) add_builtin_kind(kind_of<Layer, Class>(#Class));
  ISO_FOR_EACH(ISO_KIND, Dense, Activation, Flatten, Reshape, Dropout, Rescaling, Normalization, Embedding, Masking,
               TimeDistributed, Bidirectional, Recompute, SimpleRNN, LSTM, GRU, MultiHeadAttention,
               TransformerEncoderLayer, TransformerDecoderLayer, PositionEmbedding, SinusoidalPositions, Operation)
  ISO_FOR_EACH(ISO_KIND, Conv1D, Conv2D, Conv3D, Conv1DTranspose, Conv2DTranspose, Conv3DTranspose, DepthwiseConv1D,
               DepthwiseConv2D, SeparableConv1D, SeparableConv2D, MaxPooling1D, MaxPooling2D, MaxPooling3D,
               AveragePooling1D, AveragePooling2D, AveragePooling3D)
  ISO_FOR_EACH(ISO_KIND, GlobalMaxPooling1D, GlobalMaxPooling2D, GlobalMaxPooling3D, GlobalAveragePooling1D,
               GlobalAveragePooling2D, GlobalAveragePooling3D, UpSampling1D, UpSampling2D, UpSampling3D, ZeroPadding1D,
               ZeroPadding2D, ZeroPadding3D, Cropping1D, Cropping2D, Cropping3D)
  ISO_FOR_EACH(ISO_KIND, Add, Subtract, Multiply, Average, Maximum, Minimum, Concatenate, Dot, BatchNormalization,
               LayerNormalization, GroupNormalization, RMSNormalization, UnitNormalization, SpatialDropout1D,
               SpatialDropout2D, SpatialDropout3D, GaussianNoise, GaussianDropout, AlphaDropout)
  ISO_FOR_EACH(ISO_KIND, ReLU, LeakyReLU, ELU, PReLU, Softmax, Permute, RepeatVector, Identity, Attention,
               AdditiveAttention, GroupQueryAttention, SpectralNormalization, ConvLSTM1D, ConvLSTM2D, ConvLSTM3D,
               ActivityRegularization, EinsumDense)
  ISO_FOR_EACH(ISO_KIND, Resizing, CenterCrop, RandomCrop, RandomFlip, RandomRotation, RandomZoom, RandomTranslation,
               RandomContrast, RandomBrightness, Discretization, CategoryEncoding)
#undef ISO_KIND
  add_builtin_kind(kind_of<Layer, Input>("InputLayer"));
  add_builtin_kind(sequential_kind());
  add_builtin_kind(functional_kind());
}

}  // namespace isochron
