//! The header's comments that stand alone: bindgen knows those alone that stand before a declaration.

use crate::markdown;

const RULES_BEGIN: &str = "RULES THAT HOLD FOR EVERY CALL";
const TILES_BEGIN: &str = "TILES:";

/// What the header's opening comment says of every call, as a section of the crate's page.
pub fn rules_of_every_call(header: &str) -> String {
    let comment = comment_with(header, RULES_BEGIN);
    let rules = after_paragraph(&comment, RULES_BEGIN);
    let lines = markdown::from_plain_text(rules);
    let unindented: Vec<_> = lines
        .lines()
        .map(|line| line.strip_prefix(' ').unwrap_or(line))
        .collect();
    format!(
        "## Rules that hold for every call\n\n{}\n",
        unindented.join("\n")
    )
}

/// The bindings with what the header says of all tiles at each of their functions.
pub fn with_rules_of_tiles(bindings: &str, header: &str) -> String {
    let comment = comment_with(header, TILES_BEGIN);
    let rules = markdown::from_plain_text(after_paragraph(&comment, TILES_BEGIN));
    let section = format!("\n # Of all tiles\n\n{rules}");
    let mut text = String::with_capacity(bindings.len() + 4 * section.len());
    for line in bindings.lines() {
        if let Some(indent) = line.find("pub fn wr_tile_") {
            section
                .lines()
                .for_each(|below| push_line(&mut text, &line[..indent], &format!("///{below}")));
        }
        push_line(&mut text, "", line);
    }
    text
}

fn push_line(text: &mut String, indent: &str, line: &str) {
    text.push_str(indent);
    text.push_str(line);
    text.push('\n');
}

/// The text of the comment that has this in it.
fn comment_with(header: &str, begin: &str) -> String {
    let comment = comments(header).find(|comment| comment.contains(begin));
    comment.unwrap_or_else(|| panic!("no comment of the header has \"{begin}\" in it"))
}

/// What follows the paragraph that begins so.
fn after_paragraph<'a>(comment: &'a str, begin: &str) -> &'a str {
    let paragraph = comment.split_once(begin).map_or("", |(_, after)| after);
    paragraph.split_once("\n\n").map_or("", |(_, after)| after)
}

/// The texts of all comments, as bindgen gives them: each line behind its star.
fn comments(header: &str) -> impl Iterator<Item = String> + '_ {
    header
        .split("/*")
        .skip(1)
        .filter_map(|rest| rest.split_once("*/"))
        .map(|(comment, _)| text_of(comment))
}

fn text_of(comment: &str) -> String {
    let lines: Vec<_> = comment
        .lines()
        .map(|line| line.trim().trim_start_matches('*'))
        .collect();
    lines.join("\n")
}

#[cfg(test)]
mod tests {
    use super::{rules_of_every_call, with_rules_of_tiles};

    const HEADER: &str = "/*\n * a.h - of.\n *\n * RULES THAT HOLD FOR EVERY CALL\n *\n * One. That\n *   goes on.\n */\n\
        int a;\n/*\n * TILES: what\n *   they do.\n *\n * Two.\n */\n/* last */\nint b;\n";

    #[test]
    fn the_opening_comment_is_a_section() {
        assert_eq!(
            rules_of_every_call(HEADER),
            "## Rules that hold for every call\n\nOne. That\ngoes on.\n"
        );
    }

    #[test]
    fn what_holds_for_all_tiles_stands_at_each_of_their_functions() {
        let bindings = "    /// Any.\n    pub fn wr_tile_vote();\n    pub fn wr_dot();\n";
        assert_eq!(
            with_rules_of_tiles(bindings, HEADER),
            "    /// Any.\n    ///\n    /// # Of all tiles\n    ///\n    /// Two.\n    pub fn wr_tile_vote();\n    \
             pub fn wr_dot();\n"
        );
    }
}
