import os

import keras
import numpy as np
import tensorflow as tf

TIME, WIDTH = 40, 16


class StepByStep(keras.Model):
    """Calls the recurrent layer once for each time step."""

    def __init__(self):
        super().__init__()
        self.lstm = keras.layers.LSTM(WIDTH, return_sequences=True, return_state=True)
        self.head = keras.layers.Dense(1)

    def call(self, x):
        state = [tf.zeros((tf.shape(x)[0], WIDTH)), tf.zeros((tf.shape(x)[0], WIDTH))]
        outputs = []
        for time in range(TIME):
            y, *state = self.lstm(x[:, time : time + 1], initial_state=state)
            outputs.append(self.head(y[:, 0]))
        return tf.stack(outputs, axis=1)


def main():
    rng = np.random.default_rng(0)
    x = rng.normal(size=(3200, TIME, 4)).astype("float32")
    y = x.cumsum(1)[:, :, :1]
    model = StepByStep()
    model.compile("adam", "mse")
    epochs = int(os.environ.get("STEPS", 1500)) // 100
    model.fit(x, y, batch_size=32, epochs=epochs, verbose=2)


main()
