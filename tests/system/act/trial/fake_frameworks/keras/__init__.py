"""As much of Keras as tells its callbacks where batches end."""

from keras.src.callbacks.callback_list import CallbackList


def fit(step, steps, epochs, evaluate, steps_per_execution=1, lists=CallbackList):
    callbacks = lists()
    for epoch in range(epochs):
        callbacks.on_epoch_begin(epoch)
        for first in range(0, steps, steps_per_execution):
            callbacks.on_train_batch_begin(first)
            loss = step(steps_per_execution)
            callbacks.on_train_batch_end(
                first + steps_per_execution - 1, {"loss": loss}
            )
        callbacks.on_test_begin()
        evaluate()
        callbacks.on_epoch_end(epoch)
