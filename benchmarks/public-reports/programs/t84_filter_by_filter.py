import os

import keras
import numpy as np
import tensorflow as tf

SIZE, CLASSES, LAYER = 32, 4, "block3"


class GradCAM:
    def explain(self, validation_data, model, layer_name, class_index):
        images, _ = validation_data
        outputs, guided_grads = GradCAM.get_gradients_and_filters(model, images, layer_name, class_index)
        cams = GradCAM.generate_ponderated_output(outputs, guided_grads)
        heatmaps = [GradCAM.heatmap(cam) for cam in cams]
        return np.stack(heatmaps)

    @staticmethod
    def get_gradients_and_filters(model, images, layer_name, class_index):
        grad_model = keras.Model(model.inputs, [model.get_layer(layer_name).output, model.output])
        with tf.GradientTape() as tape:
            conv_outputs, predictions = grad_model(np.array(images).astype("float32"))
            loss = predictions[:, class_index]
        grads = tape.gradient(loss, conv_outputs)
        guided_grads = tf.cast(conv_outputs > 0, "float32") * tf.cast(grads > 0, "float32") * grads
        return conv_outputs, guided_grads

    @staticmethod
    def generate_ponderated_output(outputs, grads):
        maps = []
        for output, grad in zip(outputs, grads):
            weights = tf.reduce_mean(grad, axis=(0, 1))
            cam = np.ones(output.shape[0:2], dtype=np.float32)
            for i, w in enumerate(weights):
                cam += w * output[:, :, i]
            maps.append(cam.numpy())
        return maps

    @staticmethod
    def heatmap(cam):
        cam = np.kron(cam, np.ones((SIZE // len(cam),) * 2))
        return (cam - cam.min()) / (cam.max() - cam.min() + 1e-7)


class GradCAMCallback(keras.callbacks.Callback):
    def __init__(self, validation_data, layer_name, class_index):
        super().__init__()
        self.validation_data, self.layer_name, self.class_index = validation_data, layer_name, class_index
        self.explainer = GradCAM()

    def on_epoch_end(self, epoch, logs=None):
        grid = self.explainer.explain(self.validation_data, self.model, self.layer_name, self.class_index)
        print("epoch", epoch, "loss", logs["loss"], "heat", grid.mean(axis=(1, 2))[:3], flush=True)


def build_model():
    x = inputs = keras.layers.Input((SIZE, SIZE, 3))
    for block, filters in enumerate((16, 32, 128), 1):
        x = keras.layers.Conv2D(filters, 3, padding="same", activation="relu", name=f"block{block}")(x)
        x = keras.layers.MaxPooling2D(2)(x)
    x = keras.layers.GlobalAveragePooling2D()(x)
    return keras.Model(inputs, keras.layers.Dense(CLASSES, activation="softmax")(x))


def make_images(rng, count):
    labels = rng.integers(CLASSES, size=count)
    images = rng.normal(size=(count, SIZE, SIZE, 3)).astype("float32") * 0.5
    for image, label in zip(images, labels):
        row, column = divmod(label, 2)
        image[row * 16 + 4 : row * 16 + 12, column * 16 + 4 : column * 16 + 12] += 1.0
    return images, labels


keras.utils.set_random_seed(0)
rng = np.random.default_rng(0)
x_train, y_train = make_images(rng, 512)
model = build_model()
model.compile("adam", "sparse_categorical_crossentropy", metrics=["accuracy"])
callback = GradCAMCallback(make_images(rng, 8), LAYER, class_index=0)
model.fit(x_train, y_train, batch_size=64, epochs=int(os.environ.get("STEPS", 10)), verbose=0, callbacks=[callback])
