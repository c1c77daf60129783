#include "ptx_text.h"

#include <algorithm>
#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <cstring>

namespace emulator {

namespace {

constexpr std::string_view blanks = " \t\r\n";

bool starts_with_word(std::string_view text, std::string_view word) {
    return text.starts_with(word) && (text.size() == word.size() || blanks.find(text[word.size()]) != blanks.npos);
}

bool contains_word(std::string_view text, std::string_view word) {
    for (std::size_t at = text.find(word); at != text.npos; at = text.find(word, at + 1)) {
        if (starts_with_word(text.substr(at), word)) {
            return true;
        }
    }
    return false;
}

std::size_t number_in(std::string_view text) {
    std::size_t number = 0;
    std::from_chars(text.data(), text.data() + text.size(), number);
    return number;
}

std::size_t bytes_of_type(std::string_view type) { return type == ".pred" ? 1 : number_in(type.substr(2)) / 8; }

// Comments become blanks, so that lines keep their numbers.
void blank_comments(std::string &text) {
    for (std::size_t at = text.find('/'); at != text.npos; at = text.find('/', at + 1)) {
        const bool whole_line = text.compare(at, 2, "//") == 0;
        if (!whole_line && text.compare(at, 2, "/*") != 0) {
            continue;
        }
        const std::size_t close = whole_line ? text.find('\n', at) : text.find("*/", at);
        const std::size_t end = close == text.npos ? text.size() : close + (whole_line ? 0 : 2);
        std::replace_if(
            text.begin() + static_cast<std::ptrdiff_t>(at), text.begin() + static_cast<std::ptrdiff_t>(end),
            [](char c) { return c != '\n'; }, ' ');
    }
}

// Where the bracket at `open` is closed.
std::size_t closing(std::string_view text, std::size_t open) {
    int depth = 0;
    for (std::size_t at = open; at < text.size(); ++at) {
        depth += text[at] == '{' || text[at] == '(' ? 1 : text[at] == '}' || text[at] == ')' ? -1 : 0;
        if (depth == 0) {
            return at;
        }
    }
    give_up("a bracket is not closed");
}

std::vector<Variable> variables_in(std::string_view list) {
    std::vector<Variable> variables;
    for (const std::string_view declaration : split(list, ',')) {
        if (!trimmed(declaration).empty()) {
            variables.push_back(variable_of(declaration));
        }
    }
    return variables;
}

std::string_view opcode_of(std::string_view text) { return text.substr(0, text.find_first_of(blanks)); }

void read_guard(std::string_view &text, Statement &statement) {
    if (!text.starts_with('@')) {
        return;
    }
    statement.guarded = true;
    statement.guard_negated = text[1] == '!';
    const std::string_view guard = opcode_of(text.substr(statement.guard_negated ? 2 : 1));
    statement.guard = guard;
    text = trimmed(text.substr(static_cast<std::size_t>(guard.data() + guard.size() - text.data())));
}

Statement statement_of(std::string_view text, int line) {
    Statement statement{Statement::Kind::instruction, line, false, false, {}, {}, {}};
    read_guard(text, statement);
    if (text.starts_with('.')) {
        statement.kind = Statement::Kind::declaration;
        statement.text = text;
        return statement;
    }
    statement.text = opcode_of(text);
    for (const std::string_view operand : split(trimmed(text.substr(statement.text.size())), ',')) {
        if (!operand.empty()) {
            statement.operands.push_back(trimmed(operand));
        }
    }
    return statement;
}

} // namespace

void give_up(const std::string &reason) {
    std::fprintf(stderr, "the emulator cannot go on: %s\n", reason.c_str());
    std::abort();
}

std::string_view trimmed(std::string_view text) {
    const std::size_t first = text.find_first_not_of(blanks);
    return first == text.npos ? std::string_view{} : text.substr(first, text.find_last_not_of(blanks) - first + 1);
}

std::vector<std::string_view> split(std::string_view text, char separator) {
    std::vector<std::string_view> parts;
    int depth = 0;
    std::size_t begin = 0;
    for (std::size_t at = 0; at <= text.size(); ++at) {
        if (at == text.size() || (depth == 0 && text[at] == separator)) {
            parts.push_back(text.substr(begin, at - begin));
            begin = at + 1;
        } else {
            depth += std::strchr("{([", text[at]) != nullptr ? 1 : std::strchr("})]", text[at]) != nullptr ? -1 : 0;
        }
    }
    return parts;
}

// ".param .align 8 .b8 name[16]", ".shared .b32 name", with or without what follows an '='.
Variable variable_of(std::string_view declaration) {
    Variable variable;
    const std::string_view text = trimmed(declaration.substr(0, declaration.find('=')));
    bool alignment_follows = false;
    for (std::string_view word : split(text, ' ')) {
        word = trimmed(word);
        if (alignment_follows) {
            variable.alignment = number_in(word);
        } else if (word.size() > 2 && word[0] == '.' && word[2] >= '0' && word[2] <= '9') {
            variable.element_bytes = bytes_of_type(word);
        } else if (!word.empty() && word[0] != '.') {
            variable.name = word.substr(0, word.find('['));
            const std::size_t open = word.find('[');
            variable.bytes = variable.element_bytes * (open == word.npos ? 1 : number_in(word.substr(open + 1)));
        }
        alignment_follows = word == ".align";
    }
    variable.alignment = std::max(variable.alignment, variable.element_bytes);
    return variable;
}

std::vector<Statement> statements_of(const Function &function) {
    std::vector<Statement> statements;
    const std::string_view body = function.body;
    int line = function.line;
    for (std::size_t at = 0; at < body.size();) {
        const char c = body[at];
        if (blanks.find(c) != blanks.npos) {
            line += c == '\n' ? 1 : 0;
            ++at;
            continue;
        }
        if (c == '{' || c == '}') {
            const auto kind = c == '{' ? Statement::Kind::open_scope : Statement::Kind::close_scope;
            statements.push_back({kind, line, false, false, {}, {}, {}});
            ++at;
            continue;
        }
        const std::size_t end = body.find_first_of(";:", at);
        // "mbarrier::..." is a part of an opcode, not a label.
        const bool is_label = body[end] == ':' && body[end + 1] != ':' &&
                              body.substr(at, end - at).find_first_of(blanks) == std::string_view::npos;
        if (is_label) {
            statements.push_back({Statement::Kind::label, line, false, false, {}, body.substr(at, end - at), {}});
            at = end + 1;
            continue;
        }
        const std::size_t stop = body.find(';', at);
        const std::string_view text = body.substr(at, stop - at);
        statements.push_back(statement_of(trimmed(text), line));
        line += static_cast<int>(std::count(text.begin(), text.end(), '\n'));
        at = stop + 1;
    }
    return statements;
}

void Module::read_function(std::string_view head, std::string_view body, int line) {
    Function function;
    function.is_kernel = contains_word(head, ".entry");
    const std::string_view keyword = function.is_kernel ? ".entry" : ".func";
    std::string_view rest = trimmed(head.substr(head.find(keyword) + keyword.size()));
    if (rest.starts_with('(')) {
        const std::size_t close = closing(rest, 0);
        function.results = variables_in(rest.substr(1, close - 1));
        rest = trimmed(rest.substr(close + 1));
    }
    const std::size_t open = rest.find('(');
    function.name = trimmed(rest.substr(0, open));
    if (open != rest.npos) {
        function.parameters = variables_in(rest.substr(open + 1, closing(rest, open) - open - 1));
    }
    constexpr std::string_view bound = ".maxntid ";
    if (const std::size_t bounded = rest.find(bound); bounded != rest.npos) {
        function.most_threads = 1;
        for (const std::string_view along : split(rest.substr(bounded + bound.size()), ',')) {
            function.most_threads *= static_cast<unsigned>(std::strtoul(std::string(along).c_str(), nullptr, 10));
        }
    }
    function.body = body;
    function.line = line;
    functions_[function.name] = function;
}

void Module::read_global(std::string_view declaration) {
    const Variable variable = variable_of(declaration);
    auto memory = std::make_unique<unsigned char[]>(variable.bytes + 16);
    const std::size_t begin = declaration.find('=');
    std::string_view values = begin == declaration.npos ? "" : trimmed(declaration.substr(begin + 1));
    values = values.starts_with('{') ? values.substr(1, values.size() - 2) : values;
    std::size_t at = 0;
    for (const std::string_view value : split(values, ',')) {
        if (value.empty() || at + variable.element_bytes > variable.bytes) {
            break;
        }
        const std::int64_t number = std::strtoll(std::string(trimmed(value)).c_str(), nullptr, 0);
        std::memcpy(&memory[at], &number, variable.element_bytes);
        at += variable.element_bytes;
    }
    globals_[variable.name] = std::move(memory);
}

Module::Module(std::string text) : text_(std::move(text)) {
    blank_comments(text_);
    const std::string_view all = text_;
    std::size_t counted = 0;
    int line = 1;
    for (std::size_t at = all.find_first_not_of(blanks); at < all.size(); at = all.find_first_not_of(blanks, at)) {
        const std::string_view here = all.substr(at);
        if (starts_with_word(here, ".version") || starts_with_word(here, ".target") ||
            starts_with_word(here, ".address_size")) {
            at = all.find('\n', at);
            continue;
        }
        const std::size_t stop = all.find_first_of(";{=", at);
        const std::string_view head = all.substr(at, stop - at);
        if (!contains_word(head, ".func") && !contains_word(head, ".entry")) {
            const std::size_t end = all.find(';', at);
            read_variable(all.substr(at, end - at));
            at = end + 1;
        } else if (all[stop] == ';') {
            at = stop + 1; // the body follows later
        } else {
            const std::size_t close = closing(all, stop);
            line += static_cast<int>(std::ranges::count(all.substr(counted, stop - counted), '\n'));
            counted = stop;
            read_function(head, all.substr(stop + 1, close - stop - 1), line);
            at = close + 1;
        }
    }
}

void Module::read_variable(std::string_view declaration) {
    if (contains_word(declaration, ".shared")) {
        shared_.push_back(variable_of(declaration));
    } else {
        read_global(declaration);
    }
}

unsigned char *Module::find_global(std::string_view name) const {
    const auto found = globals_.find(name);
    return found == globals_.end() ? nullptr : found->second.get();
}

} // namespace emulator
