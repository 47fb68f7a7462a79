import os

import keras
import numpy as np
import tensorflow as tf

VOCABULARY, PAIRS, SEQ_LEN, DIM, MAX_MASKED = 40_000, 32, 64, 24, 16
TOKEN_PAD, TOKEN_UNK, TOKEN_CLS, TOKEN_SEP, TOKEN_MASK = "", "[UNK]", "[CLS]", "[SEP]", "[MASK]"


def get_base_dict():
    return {token: i for i, token in enumerate([TOKEN_PAD, TOKEN_UNK, TOKEN_CLS, TOKEN_SEP, TOKEN_MASK])}


def gen_batch_inputs(sentence_pairs, token_dict, token_list, mask_rate=0.15, mask_mask_rate=0.8, random_rate=0.1):
    base_dict = get_base_dict()
    unknown_index = token_dict[TOKEN_UNK]
    token_inputs, segment_inputs, masked_positions, masked_outputs = [], [], [], []
    for first, second in sentence_pairs:
        segments = ([0] * (len(first) + 2) + [1] * (len(second) + 1))[:SEQ_LEN]
        tokens = ([TOKEN_CLS] + first + [TOKEN_SEP] + second + [TOKEN_SEP])[:SEQ_LEN]
        token_input, positions, outputs = [], [], []
        for position, token in enumerate(tokens):
            if token not in base_dict and len(positions) < MAX_MASKED and np.random.random() < mask_rate:
                positions.append(position)
                outputs.append(token_dict.get(token, unknown_index))
                r = np.random.random()
                if r < mask_mask_rate:
                    token = TOKEN_MASK
                elif r < mask_mask_rate + random_rate:
                    token = np.random.choice(token_list)
                    while token in base_dict:
                        token = np.random.choice(token_list)
            token_input.append(token_dict.get(token, unknown_index))
        padding = [0] * (SEQ_LEN - len(tokens))
        token_inputs.append(token_input + padding)
        segment_inputs.append(segments + padding)
        masked_positions.append(positions + [0] * (MAX_MASKED - len(positions)))
        masked_outputs.append(outputs + [0] * (MAX_MASKED - len(outputs)))
    inputs = [np.asarray(x, "int32") for x in [token_inputs, segment_inputs, masked_positions]]
    return inputs, np.asarray(masked_outputs, "int32")


def get_model(token_num):
    tokens, segments = keras.Input((SEQ_LEN,), dtype="int32"), keras.Input((SEQ_LEN,), dtype="int32")
    masked = keras.Input((MAX_MASKED,), dtype="int32")
    x = keras.layers.Embedding(token_num, DIM)(tokens) + keras.layers.Embedding(2, DIM)(segments)
    attended = keras.layers.MultiHeadAttention(2, DIM // 2)(x, x)
    x = keras.layers.LayerNormalization()(x + attended)
    x = keras.layers.LayerNormalization()(x + keras.layers.Dense(DIM)(keras.layers.Dense(64, "gelu")(x)))
    x = keras.layers.Lambda(lambda pair: tf.gather(*pair, batch_dims=1), (MAX_MASKED, DIM))([x, masked])
    return keras.Model([tokens, segments, masked], x)


@tf.function
def train_on_batch(inputs, labels):
    with tf.GradientTape() as tape:
        features, labels = tf.reshape(model(inputs, training=True), (-1, DIM)), tf.reshape(labels, (-1, 1))
        losses = tf.nn.sampled_softmax_loss(head.value, tf.zeros(VOCABULARY), labels, features, 256, VOCABULARY)
        weights = tf.cast(labels[:, 0] > 0, tf.float32)
        loss = tf.reduce_sum(losses * weights) / tf.reduce_sum(weights)
    variables = model.trainable_variables + [head]
    optimizer.apply(tape.gradient(loss, variables), variables)
    return loss


np.random.seed(0)
keras.utils.set_random_seed(0)
token_dict = get_base_dict() | {f"token{i}": i for i in range(5, VOCABULARY)}
token_list, words = list(token_dict), np.array(list(token_dict), object)
sentence = lambda: list(words[np.minimum(np.random.zipf(1.3, np.random.randint(15, 40)), VOCABULARY - 6) + 5])
sentence_pairs = [(sentence(), sentence()) for _ in range(2000)]
model, optimizer = get_model(VOCABULARY), keras.optimizers.SGD(0.5)
head = keras.Variable(np.random.normal(0, 0.1, (VOCABULARY, DIM)), dtype="float32")
for step in range(int(os.environ.get("STEPS", 150))):
    chosen = [sentence_pairs[i] for i in np.random.randint(0, len(sentence_pairs), PAIRS)]
    loss = train_on_batch(*gen_batch_inputs(chosen, token_dict, token_list))
    if step % 5 == 0:
        print(f"step {step} loss {float(loss):.3f}", flush=True)
