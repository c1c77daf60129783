# /// script
# requires-python = ">=3.11"
# dependencies = ["numpy==2.4.6", "scikit-learn==1.9.1", "statsmodels==0.15.0"]
# ///
"""Makes the .npy files of this folder from the data sets that scikit-learn and statsmodels ship.

Run it with `pipx run make_data.py`, `uv run make_data.py`, or any Python that has the packages above. The logits
come from a fit, so another version of scikit-learn may change their last bits; everything else is a copy.
"""

from pathlib import Path

import numpy as np
import statsmodels.api as sm
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression

FOLDER = Path(__file__).parent
TRAINING_PICTURES = 899


def main() -> None:
    sunspots = sm.datasets.sunspots.load_pandas().data["SUNACTIVITY"]
    np.save(FOLDER / "sunspots.npy", sunspots.to_numpy(dtype="<f4"))

    carbon_dioxide = sm.datasets.co2.load_pandas().data["co2"].dropna()
    np.save(FOLDER / "mauna_loa_co2.npy", carbon_dioxide.to_numpy(dtype="<f8"))

    elnino = sm.datasets.elnino.load_pandas().data.drop(columns="YEAR")
    np.save(FOLDER / "elnino.npy", np.ascontiguousarray(elnino.to_numpy(), dtype="<f4"))

    digits = load_digits()
    np.save(FOLDER / "digits.npy", digits.data.astype("<i4"))
    np.save(FOLDER / "digit_labels.npy", digits.target.astype("<i4"))

    model = LogisticRegression(C=0.05, max_iter=5000, tol=1e-8)
    model.fit(digits.data[:TRAINING_PICTURES], digits.target[:TRAINING_PICTURES])
    np.save(FOLDER / "digit_logits.npy", model.decision_function(digits.data).astype("<f4"))


if __name__ == "__main__":
    main()
