class CallbackList:
    def __init__(self, callbacks=None, add_history=False, add_progbar=False):
        self.callbacks = list(callbacks or [])

    def on_epoch_begin(self, epoch, logs=None):
        pass

    def on_epoch_end(self, epoch, logs=None):
        for callback in self.callbacks:
            callback.on_epoch_end(epoch, logs)

    def on_train_batch_begin(self, batch, logs=None):
        pass

    def on_train_batch_end(self, batch, logs=None):
        for callback in self.callbacks:
            callback.on_train_batch_end(batch, logs)

    def on_test_begin(self, logs=None):
        pass
