import os
import time

import keras
import numpy as np
import tensorflow as tf

DILATIONS = [1, 2, 4, 8, 16, 32, 64, 128, 256, 512] * 2
CHANNELS, SKIP, QUANTIZATION = 32, 64, 64
RECEPTIVE_FIELD = sum(DILATIONS) + 2


class WaveNet(keras.Model):
    def __init__(self):
        super().__init__()
        conv = keras.layers.Conv1D
        self.causal = conv(CHANNELS, 2)
        self.filters = [conv(CHANNELS, 2, dilation_rate=d, activation="tanh") for d in DILATIONS]
        self.gates = [conv(CHANNELS, 2, dilation_rate=d, activation="sigmoid") for d in DILATIONS]
        self.residuals = [conv(CHANNELS, 1) for _ in DILATIONS]
        self.skips = [conv(SKIP, 1) for _ in DILATIONS]
        self.post1 = conv(SKIP, 1, activation="relu")
        self.post2 = conv(QUANTIZATION, 1, kernel_initializer=keras.initializers.RandomNormal(stddev=0.5))

    def call(self, waveform):
        x = self.causal(tf.one_hot(waveform, QUANTIZATION))
        length = x.shape[1] - sum(DILATIONS)
        total = 0.0
        for filt, gate, residual, skip in zip(self.filters, self.gates, self.residuals, self.skips):
            h = filt(x) * gate(x)
            total += skip(h)[:, -length:]
            x = x[:, -h.shape[1] :] + residual(h)
        return self.post2(self.post1(tf.nn.relu(total)))


def generate(net, samples):
    rng = np.random.default_rng(0)
    next_sample = tf.function(lambda window: tf.nn.softmax(net(window)[0, -1]))
    waveform = [QUANTIZATION // 2] * (RECEPTIVE_FIELD - 1) + [int(rng.integers(QUANTIZATION))]
    start = time.time()
    for step in range(1, samples + 1):
        window = np.array(waveform[-RECEPTIVE_FIELD:], "int32")[None]
        prediction = next_sample(tf.constant(window)).numpy().astype("float64")
        sample = rng.choice(QUANTIZATION, p=prediction / prediction.sum())
        waveform.append(int(sample))
        if step % 100 == 0:
            level = np.std(np.array(waveform[-100:]) / QUANTIZATION)
            print(f"sample {step}/{samples}, {time.time() - start:.1f} s, level {level:.4f}", flush=True)
    return np.array(waveform[RECEPTIVE_FIELD:]) * 2 / QUANTIZATION - 1


keras.utils.set_random_seed(0)
audio = generate(WaveNet(), int(os.environ.get("STEPS", 800)))
print(f"{len(audio)} samples, mean {audio.mean():.4f}")
