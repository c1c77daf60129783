//! The matrix, and what its column sums must be, in field arithmetic.

use crate::field::{self, Extension, PRIME};

/// Row-major KoalaBear words, as a prover keeps a trace.
pub struct Trace {
    pub rows: usize,
    pub columns: usize,
    pub words: Vec<u32>,
}

impl Trace {
    /// Column c counts in the field: the powers of c + 2.
    pub fn of_powers(rows: usize, columns: usize) -> Trace {
        let mut powers = vec![1u64; columns];
        let mut words = Vec::with_capacity(rows * columns);
        for _ in 0..rows {
            words.extend(powers.iter().copied().map(field::word));
            for (column, power) in powers.iter_mut().enumerate() {
                *power = *power * (column as u64 + 2) % PRIME;
            }
        }
        Trace {
            rows,
            columns,
            words,
        }
    }

    fn column(&self, column: usize) -> impl DoubleEndedIterator<Item = u64> + '_ {
        (0..self.rows).map(move |row| field::element(self.words[row * self.columns + column]))
    }

    pub fn column_sum(&self, column: usize) -> u64 {
        self.column(column).sum::<u64>() % PRIME
    }

    /// The sum of challenge^row times the row's element: the column as a polynomial at the challenge, by Horner's rule.
    pub fn column_at(&self, column: usize, challenge: Extension) -> Extension {
        self.column(column).rev().fold([0; 4], |value, element| {
            let mut next = field::times(value, challenge);
            next[0] = (next[0] + element) % PRIME;
            next
        })
    }
}

/// The words of 1, challenge, challenge^2 and so on: a weight for each row.
pub fn powers_of(challenge: Extension, rows: usize) -> Vec<[u32; 4]> {
    let next = |power: &Extension| Some(field::times(*power, challenge));
    std::iter::successors(Some([1, 0, 0, 0]), next)
        .take(rows)
        .map(|power| power.map(field::word))
        .collect()
}
