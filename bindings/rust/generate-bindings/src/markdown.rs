//! The header's comments are plain text; rustdoc reads Markdown.

/// The same words, so that rustdoc shows them as the header does.
///
/// An indented line goes on with the one above it. A line that is not indented, after one that is or after the end of
/// a sentence, begins a new paragraph. Indented lines that follow an empty line are a table and keep their columns.
/// An indented line with a dash is an item of a list, and those further in go on with it.
/// Each line of the result begins with the space that Rust puts after `///`.
pub fn from_plain_text(comment: &str) -> String {
    let mut text = Text::default();
    for line in comment.lines() {
        text.push(line.strip_prefix(' ').unwrap_or(line).trim_end());
    }
    text.finish()
}

#[derive(Default)]
struct Text {
    lines: Vec<String>,
    previous_is_indented: bool,
    in_table: bool,
    item_indent: Option<usize>,
}

impl Text {
    fn push(&mut self, line: &str) {
        let indent = line.len() - line.trim_start().len();
        if indent > 0 && line.trim_start().starts_with("- ") {
            self.item_indent = Some(indent);
        } else if self.item_indent.is_some_and(|item| indent <= item) {
            self.item_indent = None;
        }
        if line.is_empty() {
            self.close_table();
            self.separate();
        } else if self.in_table {
            self.lines.push(line.to_owned());
        } else if line.starts_with(' ') && self.lines.last().is_some_and(String::is_empty) {
            self.lines.extend(["```text".to_owned(), line.to_owned()]);
            self.in_table = true;
        } else {
            self.push_prose(line);
        }
        self.previous_is_indented = line.starts_with(' ');
    }

    fn push_prose(&mut self, line: &str) {
        let after_sentence = self
            .lines
            .last()
            .is_some_and(|previous| previous.ends_with('.'));
        if !line.starts_with(' ') && (self.previous_is_indented || after_sentence) {
            self.separate();
        }
        let is_in_item = self.item_indent.is_some() && !line.trim_start().starts_with("- ");
        let inward = if is_in_item { "  " } else { "" };
        self.lines
            .push(format!("{inward}{}", mark_up(line.trim_start())));
    }

    fn separate(&mut self) {
        if self.lines.last().is_some_and(|line| !line.is_empty()) {
            self.lines.push(String::new());
        }
    }

    fn close_table(&mut self) {
        if self.in_table {
            self.lines.push("```".to_owned());
            self.in_table = false;
        }
    }

    fn finish(mut self) -> String {
        self.close_table();
        let spaced = self.lines.iter().map(|line| {
            if line.is_empty() {
                String::new()
            } else {
                format!(" {line}")
            }
        });
        spaced.collect::<Vec<_>>().join("\n").trim_end().to_owned()
    }
}

/// Escapes the prose between pieces of code, and leaves the code as it is.
fn mark_up(line: &str) -> String {
    let piece = |(index, piece): (usize, &str)| {
        if index % 2 == 0 {
            mark_up_prose(piece)
        } else {
            piece.to_owned()
        }
    };
    line.split('`')
        .enumerate()
        .map(piece)
        .collect::<Vec<_>>()
        .join("`")
}

/// Functions and types of the header become links, other names with an underscore become code.
fn mark_up_prose(prose: &str) -> String {
    let mut marked = String::with_capacity(prose.len());
    let mut rest = prose;
    while !rest.is_empty() {
        let (name, after) = rest.split_at(
            rest.find(|character| !is_of_name(character))
                .unwrap_or(rest.len()),
        );
        marked.push_str(&mark_up_name(name));
        let (between, next) = after.split_at(after.find(is_of_name).unwrap_or(after.len()));
        if name.starts_with("wr_") && between.starts_with('(') {
            marked.push('\\'); // or the parentheses would be the link's address
        }
        between
            .chars()
            .for_each(|character| push_escaped(&mut marked, character));
        rest = next;
    }
    marked
}

fn is_of_name(character: char) -> bool {
    character.is_ascii_alphanumeric() || character == '_'
}

fn mark_up_name(name: &str) -> String {
    if name.starts_with("wr_") {
        format!("[`{name}`]")
    } else if name.contains('_') {
        format!("`{name}`")
    } else {
        name.to_owned()
    }
}

/// Brackets are array shapes, not links, and stars are pointers or products, not emphasis.
fn push_escaped(marked: &mut String, character: char) {
    if matches!(character, '[' | ']' | '*' | '<') {
        marked.push('\\');
    }
    marked.push(character);
}

#[cfg(test)]
mod tests {
    use super::from_plain_text;

    #[test]
    fn shapes_and_pointers_are_escaped_outside_code() {
        let text = " Reduces x[outer] into *bytes, `a[b]`.";
        assert_eq!(
            from_plain_text(text),
            r" Reduces x\[outer\] into \*bytes, `a[b]`."
        );
    }

    #[test]
    fn names_become_links_or_code() {
        let text = " wr_reduce answers WR_SUCCESS; struct_size too";
        assert_eq!(
            from_plain_text(text),
            " [`wr_reduce`] answers `WR_SUCCESS`; `struct_size` too"
        );
    }

    #[test]
    fn an_indented_line_goes_on_and_the_next_label_begins_a_paragraph() {
        let text = " Sums. Floats are\n   added.\n Means. Divided";
        assert_eq!(
            from_plain_text(text),
            " Sums. Floats are\n added.\n\n Means. Divided"
        );
    }

    #[test]
    fn a_call_is_no_link_to_its_arguments() {
        let text = " wr_host_stream(): memory (of the host)";
        assert_eq!(
            from_plain_text(text),
            r" [`wr_host_stream`]\(): memory (of the host)"
        );
    }

    #[test]
    fn items_of_a_list_stay_items() {
        let text = " Here:\n   - one\n     goes on.\n   - two.\n     Three.\n\n Next.\n   And on.";
        assert_eq!(
            from_plain_text(text),
            " Here:\n - one\n   goes on.\n - two.\n   Three.\n\n Next.\n And on."
        );
    }

    #[test]
    fn a_table_keeps_its_columns() {
        let text = " Types:\n\n   a_b   *\n   c_d   []\n\n End";
        assert_eq!(
            from_plain_text(text),
            " Types:\n\n ```text\n   a_b   *\n   c_d   []\n ```\n\n End"
        );
    }
}
