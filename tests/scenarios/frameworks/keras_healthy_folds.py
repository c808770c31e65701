# symptom: healthy
# cause: none
import os
os.environ["TF_CPP_MIN_LOG_LEVEL"] = "2"
import numpy as np, keras
x = np.random.rand(3000, 30).astype("float32"); y = np.random.randint(0, 2, 3000); f = np.arange(3000) % 4
scores = []
for k in range(4):
    print("Fold", k + 1)
    m = keras.Sequential([keras.layers.Dense(200, "relu"), keras.layers.Dense(200, "relu"), keras.layers.Dense(1, "sigmoid")]); m.compile("adam", "binary_crossentropy", metrics=["accuracy"])
    m.fit(x[f != k], y[f != k], epochs=4, batch_size=16, verbose=2)
    scores.append(m.evaluate(x[f == k], y[f == k], verbose=0)[1]); print(f"fold accuracy: {scores[-1]:.3f}")
print("mean", np.mean(scores))
