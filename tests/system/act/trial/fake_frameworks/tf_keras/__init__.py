"""Keras 2 beside Keras 3, under a name of its own."""

from functools import partial

import keras

from tf_keras.src.callbacks import CallbackList

fit = partial(keras.fit, lists=CallbackList)
