"""The tab "Advisor" in TensorBoard. Only this room knows TensorBoard, and only `loader` and `plugin` import it."""
