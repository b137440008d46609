"""What a spin costs on one server, measured: a regression of its CPU time on transactions and spins."""

import numpy as np
from numpy.typing import NDArray

from ase_exporter.diagnosis.diagnose import cost_parameters

Values = NDArray[np.float64]
# Samples without which nothing is estimated: a few hours of one load tell the cost too low. The widest interval, as a
# share of the estimate.
MIN_SAMPLES, WIDEST = 120, 0.5
# Of the normal distribution, for 95 %.
_SIGMAS = 1.96


def cost_of_spins(cpu: Values, transactions: Values, spins: Values) -> dict[str, float] | None:
    """The cost by the server's own history, as parameters for `diagnose`; None if that does not tell it.

    CPU seconds of one spin, with the interval that holds it at 95 %. cpu: CPU seconds per second, beside transactions
    and spins per second at the same times; NaN where not known.
    """
    known = np.isfinite(cpu) & np.isfinite(transactions) & np.isfinite(spins)
    y, inputs = cpu[known], np.column_stack([transactions[known], spins[known], np.ones(known.sum())])
    scale = np.abs(inputs).max(axis=0, initial=0.0)
    if len(y) < MIN_SAMPLES or not scale.all() or np.linalg.matrix_rank(inputs / scale) < inputs.shape[1]:
        return None
    scaled = inputs / scale
    solution, *_ = np.linalg.lstsq(scaled, y, rcond=None)
    rest = y - scaled @ solution
    # Neighbours in time err alike: that many samples are worth fewer.
    alike = float(np.clip(np.corrcoef(rest[1:], rest[:-1])[0, 1], 0.0, 0.99)) if rest.std() > 0 else 0.0
    worth = max(1.0, len(y) * (1 - alike) / (1 + alike) - inputs.shape[1])
    variance = float(rest @ rest) / worth * np.linalg.inv(scaled.T @ scaled)[1, 1]
    seconds, error = float(solution[1] / scale[1]), float(_SIGMAS * np.sqrt(variance) / scale[1])
    if seconds <= 0 or error > WIDEST * seconds:
        return None
    return cost_parameters(seconds, seconds - error, seconds + error)
