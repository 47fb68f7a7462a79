import os

import keras
import numpy as np

PARTNERS, MINIBATCHES, FEATURES = 3, 20, 64


def generate_model():
    model = keras.Sequential(
        [
            keras.layers.Input((FEATURES,)),
            keras.layers.Dense(128, activation="relu"),
            keras.layers.Dense(10, activation="softmax"),
        ]
    )
    model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
    return model


class FederatedAverageLearning:
    def __init__(self, partners, val_data):
        self.partners = partners
        self.val_data = val_data
        self.model = generate_model()
        self.history = []

    def fit_minibatch(self, minibatch):
        start, updated = self.model.get_weights(), []
        for partner in self.partners:
            self.model.set_weights(start)
            x, y = partner
            history = self.model.fit(x[minibatch], y[minibatch], batch_size=64, verbose=0, validation_data=self.val_data)
            updated.append(self.model.get_weights())
            self.history.append(history.history["val_accuracy"][-1])
        self.model.set_weights([np.mean(arrays, axis=0) for arrays in zip(*updated)])

    def fit(self, rounds):
        for number in range(rounds):
            self.fit_minibatch(number % MINIBATCHES)
            if number % 10 == 0:
                print(number, self.history[-PARTNERS:])


def main():
    rng = np.random.default_rng(0)
    weights = rng.normal(size=(FEATURES, 10))

    def examples(*shape):
        x = rng.normal(size=(*shape, FEATURES)).astype("float32")
        return x, (x @ weights).argmax(-1)

    partners = [examples(MINIBATCHES, 256) for _ in range(PARTNERS)]
    FederatedAverageLearning(partners, examples(6000)).fit(int(os.environ.get("STEPS", 35)))


main()
