// The text of a PTX module, cut into functions, statements and variables; what they mean is not known here.
#pragma once

#include <cstdint>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace emulator {

// What a declaration says of a parameter, a local or a shared variable.
struct Variable {
    std::string_view name;
    std::size_t alignment = 1, element_bytes = 0;
    std::size_t bytes = 0; // 0: what the launch adds to the shared memory
};

struct Statement {
    enum class Kind { instruction, label, declaration, open_scope, close_scope };
    Kind kind;
    int line;
    bool guarded = false, guard_negated = false;
    std::string_view guard;
    std::string_view text; // of an instruction its opcode
    std::vector<std::string_view> operands;
};

struct Function {
    std::string_view name, body;
    int line = 0;
    bool is_kernel = false;
    unsigned most_threads = 0; // of a block, where the kernel says so
    std::vector<Variable> parameters, results;
};

class Module {
  public:
    explicit Module(std::string text);

    const std::map<std::string_view, Function> &functions() const { return functions_; }
    // Of the module itself: their first bytes are where kernels find them.
    unsigned char *find_global(std::string_view name) const;
    const std::vector<Variable> &shared() const { return shared_; }

  private:
    void read_function(std::string_view head, std::string_view body, int line);
    void read_variable(std::string_view declaration);
    void read_global(std::string_view declaration);

    std::string text_;
    std::map<std::string_view, Function> functions_;
    std::map<std::string_view, std::unique_ptr<unsigned char[]>> globals_;
    std::vector<Variable> shared_;
};

std::vector<Statement> statements_of(const Function &function);
Variable variable_of(std::string_view declaration);
std::string_view trimmed(std::string_view text);
// At separators that stand in no brackets.
std::vector<std::string_view> split(std::string_view text, char separator);

[[noreturn]] void give_up(const std::string &reason);

} // namespace emulator
