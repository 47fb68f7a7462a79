"""How surprising numbers are: tests, intervals and predictions from few runs. It knows no gate and no trial."""
