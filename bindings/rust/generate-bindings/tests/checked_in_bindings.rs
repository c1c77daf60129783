//! What is in the tree is what the header gives, byte for byte, and all that the header says is in it.

use std::fs::read_to_string;

#[test]
fn checked_in_bindings_are_what_the_header_gives() {
    for file in generate_bindings::generate() {
        let kept = read_to_string(&file.place).unwrap_or_default();
        let first_difference = kept
            .lines()
            .zip(file.text.lines())
            .position(|(kept, fresh)| kept != fresh);
        assert!(
            kept == file.text,
            "{} differs from what the header gives (first differing line: {:?}); run `cargo run -p generate-bindings`",
            file.place.display(),
            first_difference.map(|line| line + 1)
        );
    }
}

#[test]
fn every_comment_of_the_header_is_in_the_documentation() {
    let header = generate_bindings::header_text();
    // What comes before is about C, and what comes after is the guard against a second inclusion.
    let (_, of_all_languages) = header
        .split_once("RULES THAT HOLD FOR EVERY CALL")
        .expect("the header begins with general rules");
    let (text, _) = of_all_languages
        .rsplit_once("#ifdef __cplusplus")
        .expect("the header closes its extern block");
    let documentation: String = generate_bindings::generate()
        .iter()
        .map(|file| letters(&file.text))
        .collect();
    for line in comment_lines(text) {
        let is_heading = line.contains("TILES: ");
        assert!(
            is_heading || documentation.contains(&letters(line)),
            "missing: {line}"
        );
    }
}

/// The lines inside comments; `text` begins inside one.
fn comment_lines(text: &str) -> impl Iterator<Item = &str> {
    text.split("/*")
        .filter_map(|rest| rest.split_once("*/"))
        .flat_map(|(comment, _)| comment.lines())
}

/// Without what Markdown adds, and without line breaks.
fn letters(text: &str) -> String {
    text.chars().filter(char::is_ascii_alphanumeric).collect()
}
