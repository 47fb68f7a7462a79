"""As much of Keras as tells its callbacks where batches end."""

from keras.src.callbacks.callback_list import CallbackList


class Callback:
    def on_train_batch_end(self, batch, logs=None):
        pass

    def on_epoch_end(self, epoch, logs=None):
        pass


def fit(
    step,
    steps,
    epochs,
    evaluate,
    steps_per_execution=1,
    lists=CallbackList,
    callbacks=(),
):
    callbacks = lists(callbacks)
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
