# symptom: slow-first
# cause: startup.init
# also: startup.graph
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "3"
import numpy as np, keras, tensorflow as tf
class Reservoir(keras.layers.Layer):
    def build(self, shape):
        self.w = self.add_weight(shape=(shape[-1], 4200), initializer="glorot_uniform")
        self.r = self.add_weight(shape=(4200, 4200), initializer=keras.initializers.Orthogonal(), trainable=False)
    def call(self, x): return tf.tanh(tf.matmul(x, self.w))[:, :64]
class Net(keras.Model):
    def __init__(self): super().__init__(); self.a = Reservoir(); self.b = keras.layers.Dense(1)
    def call(self, x): return self.b(self.a(x))
x = np.random.rand(6000, 20).astype("float32"); y = x.sum(1)
m = Net(); m.compile("adam", "mse")
for e in range(1, 7):
    import time; t0 = time.time()
    h = m.fit(x, y, batch_size=64, epochs=1, verbose=0)
    print(f"Epoch {e}/6 - {time.time()-t0:.2f}s - mse {h.history['loss'][0]:.4f}", flush=True)
