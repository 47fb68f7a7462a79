import os

import keras
import numpy as np
import tensorflow as tf

EMBED, UNITS, LENGTH, TEMPERATURE = 32, 64, 40, 0.9
CITIES = ["Oslo", "Lima", "Rome", "Quito", "Cairo", "Perth"]


def make_record(rng):
    city, age = CITIES[rng.integers(len(CITIES))], rng.integers(18, 90)
    return f"{city},{age},{rng.integers(2)},{age * 13 % 100:02d}.{rng.integers(10)}"


class Tokenizer:
    def __init__(self, text):
        self.chars = sorted(set(text))

    def encode(self, text):
        return [self.chars.index(char) for char in text]

    def decode(self, ids):
        return "".join(self.chars[i] for i in ids)


def build_model(vocab_size, batch_size, stateful):
    inputs = keras.layers.Input(batch_shape=(batch_size, None))
    x = keras.layers.Embedding(vocab_size, EMBED)(inputs)
    for _ in range(2):
        x = keras.layers.LSTM(UNITS, return_sequences=True, stateful=stateful)(x)
    return keras.Model(inputs, keras.layers.Dense(vocab_size)(x))


def train(tokenizer, text):
    ids = np.array(tokenizer.encode(text))
    windows = np.lib.stride_tricks.sliding_window_view(ids, LENGTH + 1)[::16]
    model = build_model(len(tokenizer.chars), None, stateful=False)
    model.compile(keras.optimizers.RMSprop(5e-3), keras.losses.SparseCategoricalCrossentropy(from_logits=True))
    model.fit(windows[:, :-1], windows[:, 1:], batch_size=64, epochs=1, verbose=2)
    return model


class Generator:
    def __init__(self, tokenizer, trained, start_string="\n"):
        self.tokenizer, self.start_string = tokenizer, start_string
        self.model = build_model(len(tokenizer.chars), 1, stateful=True)
        self.model.set_weights(trained.get_weights())

    def predict_chars(self):
        input_eval = tf.expand_dims(self.tokenizer.encode(self.start_string), 0)
        for layer in self.model.layers[2:4]:
            layer.reset_states()
        sentence_ids = []
        while True:
            predictions = tf.squeeze(self.model(input_eval), 0) / TEMPERATURE
            predicted_id = tf.random.categorical(predictions, num_samples=1)[-1, 0].numpy()
            input_eval = tf.expand_dims([predicted_id], 0)
            sentence_ids.append(int(predicted_id))
            decoded = self.tokenizer.decode(sentence_ids)
            if "\n" in decoded or len(decoded) >= LENGTH:
                return decoded.rstrip("\n")


def generate_text(num_lines):
    keras.utils.set_random_seed(0)
    rng = np.random.default_rng(0)
    text = "\n".join(make_record(rng) for _ in range(1500))
    tokenizer = Tokenizer(text)
    generator, valid = Generator(tokenizer, train(tokenizer, text)), 0
    for i in range(num_lines):
        line = generator.predict_chars()
        valid += line.count(",") == 3 and line.split(",")[0] in CITIES
        if i % 10 == 0:
            print(i, line, flush=True)
    print("valid", valid, "of", num_lines)


generate_text(int(os.environ.get("STEPS", 30)))
