"""The tab "Advisor" of TensorBoard."""
