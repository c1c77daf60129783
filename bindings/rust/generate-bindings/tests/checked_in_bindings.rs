//! The bindings in the tree are what the header gives, byte for byte.

#[test]
fn checked_in_bindings_are_what_the_header_gives() {
    let place = generate_bindings::checked_in();
    let kept = std::fs::read_to_string(&place).expect("the checked-in bindings can be read");
    let fresh = generate_bindings::generate();
    let first_difference = kept
        .lines()
        .zip(fresh.lines())
        .position(|(kept, fresh)| kept != fresh);
    assert!(
        kept == fresh,
        "{} differs from what the header gives (first differing line: {:?}); run `cargo run -p generate-bindings`",
        place.display(),
        first_difference.map(|line| line + 1)
    );
}
