"""Makes vectors.txt: inputs and the bits that every device must give for them. README.md describes the file.

python make_vectors.py            writes vectors.txt beside this program
python make_vectors.py --check    says whether vectors.txt is what this program makes (exit status 1: it is not)
"""

import argparse
import random
import sys
from pathlib import Path

from exact_vectors import exact_dots, exact_sums, hard_exact_sums, known_hard_f64
from known_hard_sums import known_hard_sums
from reduction_vectors import (
    dots,
    every_operator,
    ignored_nans,
    integers_into_floats,
    norms_of_any_exponent,
    output_types,
    ragged,
    sizes_and_layouts,
    special_fields,
    special_integers,
    special_reductions,
    words_beyond_the_prime,
)
from softmax_vectors import (
    approximate,
    f8_softmax,
    gradients,
    gradients_from_logits,
    large_logits,
    logsumexps,
    long_rows,
    long_selected_rows,
    rows_with_nothing_left,
    selected_gradients,
    selected_rows,
    short_rows,
    special_softmax,
)


def make():
    rng = random.Random(20)
    lines = ["# Made by make_vectors.py; README.md describes the lines."]
    lines += sizes_and_layouts()
    lines += output_types()
    lines += special_reductions()
    lines += special_fields()
    lines += special_integers()
    lines += short_rows(rng)
    lines += long_rows()
    lines += special_softmax()
    lines += approximate(rng)
    lines += every_operator(rng)
    lines += ignored_nans(rng)
    lines += dots()
    lines += ragged()
    lines += f8_softmax(rng)
    lines += gradients(rng)
    lines += selected_rows(rng)
    lines += rows_with_nothing_left()
    lines += long_selected_rows()
    lines += logsumexps(rng)
    lines += selected_gradients(rng)
    lines += gradients_from_logits()
    lines += large_logits(rng)
    lines += words_beyond_the_prime(random.Random(21))
    lines += integers_into_floats(random.Random(22))
    lines += norms_of_any_exponent(random.Random(23))
    lines += exact_sums()
    lines += hard_exact_sums(random.Random(24))
    lines += known_hard_f64()
    lines += known_hard_sums()
    lines += exact_dots(random.Random(25))
    return "\n".join(lines) + "\n"


def main():
    parser = argparse.ArgumentParser(description="Makes vectors.txt.")
    parser.add_argument("--check", action="store_true", help="compare instead of writing")
    check = parser.parse_args().check
    path = Path(__file__).with_name("vectors.txt")
    text = make()
    if not check:
        path.write_text(text, encoding="ascii", newline="\n")
        return 0
    if path.is_file() and path.read_bytes() == text.encode("ascii"):
        return 0
    print("vectors.txt is not what make_vectors.py makes", file=sys.stderr)
    return 1


if __name__ == "__main__":
    sys.exit(main())
