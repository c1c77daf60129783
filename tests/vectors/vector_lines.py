"""A line of vectors.txt for each kind of call, with the bits of its results by the contracts beside it."""

import math
from dataclasses import dataclass

from exact_contract import exact_word
from exact_softmax import exact_row
from generated_inputs import generate
from gradient_contract import gradient_row, weights_of_logits, weights_of_outputs
from number_formats import FIELDS, coordinates, decode, encode, word_digits
from reduction_contract import reduce_axis
from softmax_contract import scaled_logits, selected_row, softmax_row


def value_words(dtype, values):
    return hexadecimal([encode(v, dtype) for v in values], dtype)


def hexadecimal(words, name):
    """The four words of an element of an extension stand one after another."""
    if name in FIELDS:
        field = FIELDS[name]
        words = [part for word in words for part in coordinates(word, field)]
        return " ".join(f"{word:0{field.word_bits // 4}x}" for word in words)
    return " ".join(f"{word:0{word_digits(name)}x}" for word in words)


def input_words(text, dtype, count):
    """The words of an input as the file gives it: `word` or `word*times` again and again, or a generator."""
    if text.startswith("@"):
        return generate(text, dtype, count)
    words = []
    for item in text.split():
        word, _, times = item.partition("*")
        words += [int(word, 16)] * int(times or 1)
    if dtype in FIELDS:
        degree = FIELDS[dtype].degree
        words = [encode(words[i : i + degree], dtype) for i in range(0, len(words), degree)]
    if len(words) != count:
        raise ValueError(f"{len(words)} words for {count} elements: {text}")
    return words


def slices(values, outer, axis, inner):
    """The positions of each axis, in the order of the outputs."""
    for o in range(outer):
        for i in range(inner):
            yield [o * axis * inner + a * inner + i for a in range(axis)]


def reduce_line(op, dtype, accumulate, output, shape, text, ignore=False):
    values = [decode(word, dtype) for word in input_words(text, dtype, math.prod(shape))]
    words = [
        reduce_axis(op, [values[p] for p in positions], dtype, accumulate, output, ignore)
        for positions in slices(values, *shape)
    ]
    head = f"{'ignore' if ignore else 'reduce'} {op} {dtype} {accumulate} {output} {' '.join(map(str, shape))}"
    return f"{head} : {text} : {hexadecimal(words, output)}".rstrip()


def dot_line(dtype, right, accumulate, output, count, left_text, right_text):
    left = [decode(word, dtype) for word in input_words(left_text, dtype, count)]
    weights = [decode(word, right) for word in input_words(right_text, right, count)]
    word = reduce_axis("sum", left, dtype, accumulate, output, weights=weights)
    head = f"dot {dtype} {right} {accumulate} {output} {count}"
    return f"{head} : {left_text} ; {right_text} : {hexadecimal([word], output)}"


def exact_dot_line(dtype, output, count, left_text, right_text):
    left, right = ([decode(w, dtype) for w in input_words(text, dtype, count)] for text in (left_text, right_text))
    head = f"dot_exact {dtype} {output} {count}"
    return f"{head} : {left_text} ; {right_text} : {hexadecimal([exact_word(left, output, weights=right)], output)}"


def segments_line(op, dtype, output, offsets, text):
    values = [decode(word, dtype) for word in input_words(text, dtype, offsets[-1])]
    words = [reduce_axis(op, values[start:end], dtype, "-", output) for start, end in zip(offsets[:-1], offsets[1:])]
    head = f"segments {op} {dtype} {output} {len(offsets) - 1} {offsets[-1]}"
    return f"{head} : {' '.join(map(str, offsets))} ; {text} : {hexadecimal(words, output)}"


def rows_of(dtype, scale, shape, text):
    values = [decode(word, dtype) for word in input_words(text, dtype, math.prod(shape))]
    for positions in slices(values, *shape):
        yield positions, scaled_logits([values[p] for p in positions], dtype, scale)


def softmax_line(dtype, output, shape, text, scale=0.0, empty_row="nan", step=1):
    words = [0] * math.prod(shape)
    for positions, logits in rows_of(dtype, scale, shape, text):
        for position, word in zip(positions, softmax_row(logits, dtype, output, empty_row)):
            words[position] = word
    head = f"softmax {dtype} {output} {empty_row} {encode(scale, 'f64'):016x} {' '.join(map(str, shape))} {step}"
    return f"{head} : {text} : {hexadecimal(words[::step], output)}"


def gradient_line(form, dtype, gradient_dtype, shape, saved_text, gradient_text, scale=0.0, step=1):
    count = math.prod(shape)
    saved = [decode(word, dtype) for word in input_words(saved_text, dtype, count)]
    gradients = [decode(word, gradient_dtype) for word in input_words(gradient_text, gradient_dtype, count)]
    words = [0] * count
    for positions in slices(saved, *shape):
        weights = weights_of_outputs(form, [saved[p] for p in positions], dtype)
        all_of_them = [True] * len(positions)
        row = gradient_row(form, weights, [gradients[p] for p in positions], all_of_them, dtype, scale, gradient_dtype)
        for position, word in zip(positions, row):
            words[position] = word
    head = f"gradient {form} {dtype} {gradient_dtype} {encode(scale, 'f64'):016x} {' '.join(map(str, shape))} {step}"
    return f"{head} : {saved_text} ; {gradient_text} : {hexadecimal(words[::step], gradient_dtype)}"


@dataclass(frozen=True)
class Selection:
    """Which elements take part: mask and lengths as the file writes them, empty for all; causal is (first, rows)."""

    mask: str = ""
    lengths: tuple = ()
    causal: tuple = ()

    def of_rows(self, shape):
        """Of each row, in the order of `slices`, whether its elements take part."""
        outer, axis, inner = shape
        bytes_of_mask = input_words(self.mask, "u8", math.prod(shape)) if self.mask else [1] * math.prod(shape)
        for row, positions in enumerate(slices(None, *shape)):
            limit = min(axis, self.lengths[row]) if self.lengths else axis
            if self.causal:
                first, rows = self.causal
                limit = min(limit, row // inner % (rows or axis) + first)
            yield [bytes_of_mask[p] != 0 and i < limit for i, p in enumerate(positions)]

    @property
    def head(self):
        return "/".join(map(str, self.causal)) or "-"

    @property
    def parts(self):
        return f"{self.mask} ; {' '.join(map(str, self.lengths))}"


def selected_line(function, dtype, output, shape, text, selection, scale=0.0, empty_row="nan", step=1):
    outputs = shape[0] * shape[2] if function == "logsumexp" else math.prod(shape)
    words = [0] * outputs
    rows = zip(rows_of(dtype, scale, shape, text), selection.of_rows(shape))
    for row, ((positions, logits), takes_part) in enumerate(rows):
        places = [row] if function == "logsumexp" else positions
        for place, word in zip(places, selected_row(function, logits, takes_part, dtype, output, empty_row)):
            words[place] = word
    head = f"selected {function} {dtype} {output} {empty_row} {encode(scale, 'f64'):016x}"
    head += f" {' '.join(map(str, shape))} {step} {selection.head}"
    return f"{head} : {text} ; {selection.parts} : {hexadecimal(words[::step], output)}"


def state_dtype(dtype):
    return "f64" if dtype == "f64" else "f32"


def backward_line(form, dtype, gradient_dtype, shape, saved_text, gradient_text, selection, **options):
    """logsumexp: numbers, one a row, with which the saved elements are logits; None: they are outputs."""
    scale, empty_row = options.get("scale", 0.0), options.get("empty_row", "nan")
    step, logsumexp = options.get("step", 1), options.get("logsumexp")
    count = math.prod(shape)
    saved = [decode(word, dtype) for word in input_words(saved_text, dtype, count)]
    gradients = [decode(word, gradient_dtype) for word in input_words(gradient_text, gradient_dtype, count)]
    words = [0] * count
    for row, (positions, takes_part) in enumerate(zip(slices(saved, *shape), selection.of_rows(shape))):
        values = [saved[p] for p in positions]
        if logsumexp is None:
            weights = weights_of_outputs(form, values, dtype)
        else:
            weights = weights_of_logits(values, scale, logsumexp[row], dtype, empty_row)
        results = gradient_row(
            form, weights, [gradients[p] for p in positions], takes_part, dtype, scale, gradient_dtype
        )
        for position, word in zip(positions, results):
            words[position] = word
    head = f"backward {form} {dtype} {gradient_dtype} {empty_row} {encode(scale, 'f64'):016x}"
    head += f" {' '.join(map(str, shape))} {step} {selection.head}"
    sums = "" if logsumexp is None else value_words(state_dtype(dtype), logsumexp)
    inputs = f"{saved_text} ; {gradient_text} ; {sums} ; {selection.parts}"
    return f"{head} : {inputs} : {hexadecimal(words[::step], gradient_dtype)}"


# ulps of the output type; the half beyond 12 is that of the exact value's own rounding to f64
TOLERANCE = {"f32": "4", "f64": "12.5", "f16": "0.51", "bf16": "0.51"}


def approximate_line(function, dtype, output, shape, text, scale=0.0, step=1):
    outputs = shape[0] * shape[2] if function == "logsumexp" else math.prod(shape)
    results = [0.0] * outputs
    for row, (positions, logits) in enumerate(rows_of(dtype, scale, shape, text)):
        places = [row] if function == "logsumexp" else positions
        for place, value in zip(places, exact_row(function, logits)):
            results[place] = value
    head = f"approx {function} {dtype} {output} {encode(scale, 'f64'):016x} {' '.join(map(str, shape))} {step}"
    words = hexadecimal([encode(value, "f64") for value in results[::step]], "f64")
    return f"{head} {TOLERANCE[output]} : {text} : {words}"
