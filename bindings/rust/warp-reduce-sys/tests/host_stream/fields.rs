use crate::calls::{dot, reduce, reduce_args, reduce_as, reduce_to, start, start_mut};
use crate::field_arithmetic::*;
use crate::random::Random;
use warp_reduce_sys::*;

const LENGTHS: [usize; 8] = [1, 2, 31, 33, 1000, 1025, 4097, 70_001];

fn elements(seed: u64, count: usize) -> Vec<u64> {
    let mut random = Random(seed);
    (0..count)
        .map(|_| random.next() % KOALABEAR_PRIME)
        .collect()
}

fn extension_elements(seed: u64, count: usize) -> Vec<Extension> {
    let coefficients = elements(seed, 4 * count);
    let element = |four: &[u64]| [four[0], four[1], four[2], four[3]];
    coefficients.chunks_exact(4).map(element).collect()
}

fn words(elements: &[u64]) -> Vec<u32> {
    elements.iter().copied().map(word).collect()
}

fn words_of_extensions(elements: &[Extension]) -> Vec<[u32; 4]> {
    elements.iter().copied().map(extension_words).collect()
}

#[test]
fn a_product_of_words_is_the_word_of_the_product() {
    let (left, right) = (word(0x3416_7c58), word(0x61f3_207b));
    assert_eq!(
        dot(wr_dtype::WR_KOALABEAR, &[left], &[right]),
        word(0x54b4_6b81)
    );
    for length in LENGTHS {
        let factors: Vec<u64> = elements(7, length)
            .into_iter()
            .map(|factor| factor.max(1))
            .collect();
        let product = reduce(
            wr_op::WR_PRODUCT,
            wr_dtype::WR_KOALABEAR,
            &words(&factors),
            [1, length, 1],
        );
        let expected = factors.into_iter().fold(1, times);
        assert_eq!(product, [word(expected)], "{length} factors");
    }
}

#[test]
fn a_product_of_extension_elements_is_that_of_polynomials() {
    for length in LENGTHS {
        let factors = extension_elements(8, length);
        let product = reduce(
            wr_op::WR_PRODUCT,
            wr_dtype::WR_KOALABEAR_X4,
            &words_of_extensions(&factors),
            [1, length, 1],
        );
        let expected = factors.into_iter().fold([1, 0, 0, 0], extension_times);
        assert_eq!(product, [extension_words(expected)], "{length} factors");
    }
}

#[test]
fn sums_of_extension_elements_go_coefficient_by_coefficient() {
    let (rows, columns) = (1025, 7);
    let table = extension_elements(9, rows * columns);
    let input = words_of_extensions(&table);
    let sums = reduce(
        wr_op::WR_SUM,
        wr_dtype::WR_KOALABEAR_X4,
        &input,
        [1, rows, columns],
    );
    for (column, sum) in sums.into_iter().enumerate() {
        let along = table.iter().skip(column).step_by(columns).copied();
        let expected = along.fold([0; 4], extension_plus);
        assert_eq!(sum, extension_words(expected), "column {column}");
    }
}

#[test]
fn dots_of_both_kinds_of_elements_add_up_products() {
    for length in LENGTHS {
        let (left, right) = (elements(10, length), elements(11, length));
        let products = left.iter().zip(&right).map(|(&l, &r)| times(l, r));
        assert_eq!(
            dot(wr_dtype::WR_KOALABEAR, &words(&left), &words(&right)),
            word(products.fold(0, plus)),
            "{length} elements of the base field"
        );
        let (left, right) = (
            extension_elements(12, length),
            extension_elements(13, length),
        );
        let products = left
            .iter()
            .zip(&right)
            .map(|(&l, &r)| extension_times(l, r));
        assert_eq!(
            dot(
                wr_dtype::WR_KOALABEAR_X4,
                &words_of_extensions(&left),
                &words_of_extensions(&right)
            ),
            extension_words(products.fold([0; 4], extension_plus)),
            "{length} elements of the extension"
        );
    }
}

#[test]
fn weights_of_the_extension_lift_sums_of_base_words_into_it() {
    for [outer, axis, inner] in [[1, 1025, 20], [20, 1025, 1], [3, 33, 5]] {
        let (table, weights) = (
            elements(14, outer * axis * inner),
            extension_elements(15, axis),
        );
        let (input, weight_words) = (words(&table), words_of_extensions(&weights));
        let mut output = vec![[0u32; 4]; outer * inner];
        reduce_as(&wr_reduce_args {
            weights_dtype: wr_dtype::WR_KOALABEAR_X4,
            input: start(&input),
            weights: start(&weight_words),
            output: start_mut(&mut output),
            ..reduce_args(wr_op::WR_SUM, wr_dtype::WR_KOALABEAR, [outer, axis, inner])
        });
        for (place, sum) in output.into_iter().enumerate() {
            let first = place / inner * axis * inner + place % inner;
            let products = (0..axis).map(|step| {
                let element = table[first + step * inner];
                weights[step].map(|coefficient| times(coefficient, element))
            });
            let expected = extension_words(products.fold([0; 4], extension_plus));
            assert_eq!(sum, expected, "[{outer}][{axis}][{inner}], output {place}");
        }
    }
}

#[test]
fn other_fields_sum_and_multiply_modulo_their_primes() {
    let mut random = Random(16);
    let prime = (1u64 << 31) - 1;
    let small: Vec<u32> = (0..5000).map(|_| (random.next() % prime) as u32).collect();
    let sum = reduce(wr_op::WR_SUM, wr_dtype::WR_MERSENNE31, &small, [1, 5000, 1]);
    let expected = small.iter().map(|&word| u64::from(word)).sum::<u64>() % prime;
    assert_eq!(u64::from(sum[0]), expected);

    let prime = u128::from(u64::MAX - u64::from(u32::MAX) + 1);
    let large: Vec<u64> = (0..5000)
        .map(|_| (u128::from(random.next()) % prime) as u64)
        .collect();
    let wide = || large.iter().map(|&word| u128::from(word));
    let sum = reduce(wr_op::WR_SUM, wr_dtype::WR_GOLDILOCKS, &large, [1, 5000, 1]);
    assert_eq!(u128::from(sum[0]), wide().sum::<u128>() % prime);
    let product = reduce(
        wr_op::WR_PRODUCT,
        wr_dtype::WR_GOLDILOCKS,
        &large,
        [1, 5000, 1],
    );
    assert_eq!(
        u128::from(product[0]),
        wide().fold(1, |product, word| product * word % prime)
    );
}

#[test]
fn an_extension_element_is_zero_where_all_four_words_are() {
    let input = [[0u32; 4], [0, 0, 0, 1], [0; 4], [5, 0, 0, 0]];
    let count: Vec<i64> = reduce_to(
        wr_op::WR_COUNT_NONZERO,
        wr_dtype::WR_KOALABEAR_X4,
        &input,
        [1, 4, 1],
    );
    assert_eq!(count, [2]);
}
