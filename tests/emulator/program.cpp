#include "program.h"

#include "machine.h"
#include "operations.h"

#include <algorithm>
#include <charconv>
#include <cstring>
#include <map>
#include <optional>

namespace emulator {

namespace {

const std::map<std::string_view, Special> &special_names() {
    static const std::map<std::string_view, Special> names{
        {"%tid.x", Special::tid_x},
        {"%tid.y", Special::tid_y},
        {"%tid.z", Special::tid_z},
        {"%ntid.x", Special::ntid_x},
        {"%ntid.y", Special::ntid_y},
        {"%ntid.z", Special::ntid_z},
        {"%ctaid.x", Special::ctaid_x},
        {"%ctaid.y", Special::ctaid_y},
        {"%ctaid.z", Special::ctaid_z},
        {"%nctaid.x", Special::nctaid_x},
        {"%nctaid.y", Special::nctaid_y},
        {"%nctaid.z", Special::nctaid_z},
        {"%laneid", Special::laneid},
        {"%cluster_ctarank", Special::cluster_ctarank},
        {"%cluster_nctarank", Special::cluster_nctarank},
        {"%clusterid.x", Special::clusterid_x},
        {"%envreg1", Special::grid_barrier_high}, // as cooperative groups have it from the driver
        {"%envreg2", Special::grid_barrier_low},
    };
    return names;
}

std::size_t rounded_up(std::size_t bytes, std::size_t alignment) {
    return (bytes + alignment - 1) / alignment * alignment;
}

// What moves, addresses and calls come to.

template <class Part>
void pack(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    each_lane(mask, [&](int l) {
        std::uint64_t word = 0;
        for (std::size_t p = 0; p + 1 < static_cast<std::size_t>(i.count); ++p) {
            const auto part = static_cast<Part>(warp.at(i.o[p + 1])[l]);
            word |= std::uint64_t{part} << (8 * sizeof(Part) * p);
        }
        to[l] = word;
    });
}
template <class Part>
void unpack(Warp &warp, const Instruction &i, LaneMask mask) {
    const auto last = static_cast<std::size_t>(i.count - 1);
    each_lane(mask, [&](int l) {
        const std::uint64_t word = warp.at(i.o[last])[l]; // copied: a part may be the same register
        for (std::size_t p = 0; p < last; ++p) {
            warp.at(i.o[p])[l] = static_cast<Part>(word >> (8 * sizeof(Part) * p));
        }
    });
}
void copy_local(Warp &warp, const Instruction &i, LaneMask mask) {
    each_lane(mask, [&](int l) {
        unsigned char *local = warp.local_of(l);
        std::memcpy(local + i.offset, local + i.target, i.bytes);
    });
}
void add_offset(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    const std::uint64_t *from = warp.at(i.o[1]);
    each_lane(mask, [&](int l) { to[l] = from[l] + static_cast<std::uint64_t>(i.offset); });
}
void negate_predicate(Warp &warp, const Instruction &i, LaneMask mask) {
    std::uint64_t *to = warp.at(i.o[0]);
    const std::uint64_t *from = warp.at(i.o[1]);
    each_lane(mask, [&](int l) { to[l] = from[l] != 0 ? 0 : 1; });
}
Control control_of(const Opcode &opcode) {
    return opcode.text.starts_with("barrier.cluster.wait")              ? Control::cluster_wait
           : opcode.text == "bar.arrive"                                ? Control::none
           : opcode.text == "barrier.sync"                              ? Control::block_barrier
           : opcode.words[0] == "bar" && opcode.text != "bar.warp.sync" ? Control::block_barrier
           : opcode.has("sync")                                         ? Control::meet
                                                                        : Control::none;
}

struct Address {
    Slot base;
    std::int64_t offset;
};

// A function's names, in the kernel that it is made part of.
struct Frame {
    std::map<std::string_view, Slot> registers;
    std::map<std::string_view, Variable> locals;
    std::map<std::string_view, std::size_t> local_places;
};

class Translator {
  public:
    Translator(const Module &module, Program &program) : module_(module), program_(program) {}

    void translate(const Function &kernel);

  private:
    struct Label {
        std::string_view name;
        std::vector<int> scopes; // from the outermost
    };
    struct Body {
        Frame *frame = nullptr;
        bool is_kernel = false;
        std::vector<int> scopes{0};
        std::vector<std::map<std::string_view, Slot>> scope_registers{1}; // declared there, whatever they are outside
        int scopes_opened = 0;
        std::map<std::pair<int, std::string_view>, int> labels;
        std::vector<std::pair<std::size_t, Label>> jumps;
        std::vector<std::size_t> returns;
    };

    void put_body(const Function &function, Frame &frame);
    void put(Body &body, const Statement &statement);
    void put_instruction(Body &body, const Statement &statement);
    void put_call(Body &body, const Statement &statement);
    void put_move(Body &body, const Statement &statement);
    void put_access(Body &body, const Statement &statement, const Opcode &opcode);
    void declare(Body &body, std::string_view declaration);
    void resolve(Body &body);
    void copy_between(std::size_t to, std::size_t from, std::size_t bytes);

    Instruction begun(Body &body, const Statement &statement);
    void add_operand(Body &body, Instruction &instruction, std::string_view text);
    Slot slot_of(Body &body, std::string_view text);
    Slot register_of(Frame &frame, std::string_view name);
    Slot special(Special special);
    Slot fresh() { return static_cast<Slot>(program_.registers++); }
    Slot constant(std::uint64_t word);
    std::size_t place_shared(const Variable &variable);
    std::optional<std::size_t> shared_place(std::string_view name);
    std::optional<Address> symbol(Body &body, std::string_view name);
    Address address_of(Body &body, std::string_view text);
    std::size_t local_place(Frame &frame, const Variable &variable);
    void add(const Instruction &instruction) { program_.code.push_back(instruction); }

    const Module &module_;
    Program &program_;
    std::map<std::string_view, std::unique_ptr<Frame>> frames_;
    std::map<std::string_view, std::size_t> shared_places_, argument_places_;
    std::map<std::uint64_t, Slot> constants_;
    std::map<Special, Slot> specials_;
    int line_ = 0;
};

Slot Translator::constant(std::uint64_t word) {
    const auto [found, is_new] = constants_.try_emplace(word, ~static_cast<Slot>(constants_.size()));
    if (is_new) {
        program_.constants.insert(program_.constants.end(), lanes, word);
    }
    return found->second;
}

Slot Translator::special(Special which) {
    const auto found = specials_.find(which);
    if (found != specials_.end()) {
        return found->second;
    }
    const Slot slot = fresh();
    program_.specials.emplace_back(slot, which);
    specials_[which] = slot;
    return slot;
}

Slot Translator::register_of(Frame &frame, std::string_view name) {
    const auto found = frame.registers.find(name);
    if (found != frame.registers.end()) {
        return found->second;
    }
    return frame.registers[name] = fresh();
}

std::size_t Translator::local_place(Frame &frame, const Variable &variable) {
    const auto known = frame.locals.find(variable.name);
    if (known != frame.locals.end() && known->second.bytes >= variable.bytes &&
        known->second.alignment >= variable.alignment) {
        return frame.local_places[variable.name];
    }
    const std::size_t place = rounded_up(program_.local_bytes, 16);
    program_.local_bytes = rounded_up(place + variable.bytes, 16);
    frame.locals[variable.name] = variable;
    frame.local_places[variable.name] = place;
    return place;
}

std::size_t Translator::place_shared(const Variable &variable) {
    const std::size_t place = rounded_up(program_.shared_bytes, std::max<std::size_t>(variable.alignment, 16));
    if (shared_places_.try_emplace(variable.name, place).second) {
        program_.shared_bytes = place + variable.bytes;
    }
    return shared_places_[variable.name];
}

// What a module declares takes place only in the kernels that mention it.
std::optional<std::size_t> Translator::shared_place(std::string_view name) {
    const auto known = shared_places_.find(name);
    if (known != shared_places_.end()) {
        return known->second;
    }
    for (const Variable &variable : module_.shared()) {
        if (variable.name == name) {
            return place_shared(variable);
        }
    }
    return std::nullopt;
}

std::optional<Address> Translator::symbol(Body &body, std::string_view name) {
    const auto local = body.frame->local_places.find(name);
    if (local != body.frame->local_places.end()) {
        return Address{special(Special::local_base), static_cast<std::int64_t>(local->second)};
    }
    const std::optional<std::size_t> shared = shared_place(name);
    if (shared) {
        return Address{special(Special::shared_base), static_cast<std::int64_t>(*shared)};
    }
    const auto argument = argument_places_.find(name);
    if (argument != argument_places_.end()) {
        return Address{special(Special::argument_base), static_cast<std::int64_t>(argument->second)};
    }
    const unsigned char *global = module_.find_global(name);
    if (global != nullptr) {
        return Address{constant(reinterpret_cast<std::uint64_t>(global)), 0};
    }
    return std::nullopt;
}

// "[%rd1+8]", "[name+-4]", "[%r2]".
Address Translator::address_of(Body &body, std::string_view text) {
    const std::string_view inside = trimmed(text.substr(1, text.size() - 2));
    const std::size_t plus = inside.find('+');
    const std::string_view base = trimmed(inside.substr(0, plus));
    std::int64_t offset = 0;
    if (plus != inside.npos) {
        offset = std::strtoll(std::string(trimmed(inside.substr(plus + 1))).c_str(), nullptr, 0);
    }
    if (const auto named = symbol(body, base)) {
        return {named->base, named->offset + offset};
    }
    return {slot_of(body, base), offset};
}

std::optional<std::uint64_t> number_of(std::string_view text) {
    const std::string copy(text);
    if (text.starts_with("0f") || text.starts_with("0d")) {
        return std::strtoull(copy.c_str() + 2, nullptr, 16);
    }
    const bool is_number = text[0] == '-' || (text[0] >= '0' && text[0] <= '9');
    if (!is_number) {
        return std::nullopt;
    }
    return text[0] == '-' ? static_cast<std::uint64_t>(std::strtoll(copy.c_str(), nullptr, 0))
                          : std::strtoull(copy.c_str(), nullptr, 0);
}

Slot Translator::slot_of(Body &body, std::string_view text) {
    if (const auto number = number_of(text)) {
        return constant(*number);
    }
    if (text == "_") {
        return fresh();
    }
    const auto named = special_names().find(text);
    if (named != special_names().end()) {
        return special(named->second);
    }
    for (auto scope = body.scope_registers.rbegin(); scope != body.scope_registers.rend(); ++scope) {
        const auto declared = scope->find(text);
        if (declared != scope->end()) {
            return declared->second;
        }
    }
    if (text[0] != '%') {
        give_up(program_.name + ", line " + std::to_string(line_) + ": what is " + std::string(text) + "?");
    }
    return register_of(*body.frame, text);
}

Instruction Translator::begun(Body &body, const Statement &statement) {
    Instruction i;
    i.line = statement.line;
    i.guarded = statement.guarded;
    i.guard_negated = statement.guard_negated;
    if (i.guarded) {
        i.guard = slot_of(body, statement.guard);
    }
    return i;
}

// One operand may be several slots: a pair of results, or the parts of a vector.
void Translator::add_operand(Body &body, Instruction &instruction, std::string_view text) {
    const auto append = [&](Slot slot) { instruction.o.at(static_cast<std::size_t>(instruction.count++)) = slot; };
    if (text[0] == '[') {
        const Address address = address_of(body, text);
        if (address.offset == 0) {
            append(address.base);
            return;
        }
        Instruction sum;
        sum.line = line_;
        sum.execute = add_offset;
        sum.offset = address.offset;
        sum.o[0] = fresh();
        sum.o[1] = address.base;
        sum.count = 2;
        add(sum);
        append(sum.o[0]);
    } else if (text[0] == '{') {
        for (const std::string_view part : split(text.substr(1, text.size() - 2), ',')) {
            append(slot_of(body, trimmed(part)));
        }
    } else if (text[0] == '!') {
        Instruction opposite;
        opposite.line = line_;
        opposite.execute = negate_predicate;
        opposite.o[0] = fresh();
        opposite.o[1] = slot_of(body, text.substr(1));
        opposite.count = 2;
        add(opposite);
        append(opposite.o[0]);
    } else {
        for (const std::string_view part : split(text, '|')) {
            append(slot_of(body, trimmed(part)));
        }
    }
}

// The address first: its offset is part of the instruction.
void Translator::put_access(Body &body, const Statement &statement, const Opcode &opcode) {
    Instruction i = begun(body, statement);
    i.execute = memory_access_of(opcode);
    i.in_shared = opcode.text.find("shared") != std::string_view::npos;
    i.parts = opcode.has("v4") ? 4 : opcode.has("v2") ? 2 : 1;
    const auto is_address = [](std::string_view operand) { return operand[0] == '['; };
    const auto at = std::find_if(statement.operands.begin(), statement.operands.end(), is_address);
    const Address address = address_of(body, *at);
    i.o[0] = address.base;
    i.is_uniform = address.base < 0 || address.base == special(Special::argument_base);
    i.count = 1;
    i.offset = address.offset;
    if (opcode.words[0] == "red") {
        i.o[static_cast<std::size_t>(i.count++)] = fresh();
    }
    for (const std::string_view operand : statement.operands) {
        if (!is_address(operand)) {
            add_operand(body, i, operand);
        }
    }
    add(i);
}

// Of a register, of a vector's parts, or of the address of what has a name.
void Translator::put_move(Body &body, const Statement &statement) {
    Instruction i = begun(body, statement);
    const std::string_view to = statement.operands[0], from = statement.operands[1];
    const auto named = from[0] == '{' ? std::nullopt : symbol(body, from.substr(0, from.find('+')));
    if (named) {
        const std::size_t plus = from.find('+');
        const std::int64_t more =
            plus == from.npos ? 0 : std::strtoll(std::string(from.substr(plus + 1)).c_str(), nullptr, 0);
        i.execute = add_offset;
        i.offset = named->offset + more;
        add_operand(body, i, to);
        i.o[static_cast<std::size_t>(i.count++)] = named->base;
        add(i);
        return;
    }
    add_operand(body, i, to);
    add_operand(body, i, from);
    const bool packs = from[0] == '{', unpacks = to[0] == '{';
    const int whole = statement.text == "mov.b64" ? 64 : 32;
    const int part_bits = packs || unpacks ? whole / (i.count - 1) : 0;
    i.execute = part_bits == 0    ? bit_operation_of(Opcode(statement.text))
                : part_bits == 32 ? (packs ? pack<std::uint32_t> : unpack<std::uint32_t>)
                : part_bits == 16 ? (packs ? pack<std::uint16_t> : unpack<std::uint16_t>)
                                  : (packs ? pack<std::uint8_t> : unpack<std::uint8_t>);
    add(i);
}

void Translator::copy_between(std::size_t to, std::size_t from, std::size_t bytes) {
    Instruction copy;
    copy.line = line_;
    copy.execute = copy_local;
    copy.offset = static_cast<std::int64_t>(to);
    copy.target = static_cast<int>(from);
    copy.bytes = bytes;
    add(copy);
}

// A called function becomes part of its caller, every time that it is called.
void Translator::put_call(Body &body, const Statement &statement) {
    std::vector<std::string_view> results, arguments;
    std::string_view name;
    for (const std::string_view operand : statement.operands) {
        auto &list = name.empty() ? results : arguments;
        if (operand[0] != '(') {
            name = operand;
            continue;
        }
        for (const std::string_view part : split(operand.substr(1, operand.size() - 2), ',')) {
            list.push_back(trimmed(part));
        }
    }
    const auto found = module_.functions().find(name);
    if (found == module_.functions().end() || statement.guarded) {
        give_up(program_.name + ", line " + std::to_string(line_) + ": a call of " + std::string(name));
    }
    const Function &function = found->second;
    std::unique_ptr<Frame> &frame = frames_[name];
    if (frame == nullptr) {
        frame = std::make_unique<Frame>();
    }
    for (std::size_t p = 0; p < function.parameters.size(); ++p) {
        const Variable &parameter = function.parameters[p];
        copy_between(local_place(*frame, parameter), body.frame->local_places.at(arguments.at(p)), parameter.bytes);
    }
    for (const Variable &result : function.results) {
        local_place(*frame, result);
    }
    put_body(function, *frame);
    for (std::size_t r = 0; r < function.results.size(); ++r) {
        const Variable &result = function.results[r];
        copy_between(body.frame->local_places.at(results.at(r)), local_place(*frame, result), result.bytes);
    }
}

void Translator::declare(Body &body, std::string_view declaration) {
    if (declaration.starts_with(".reg")) {
        for (const std::string_view part : split(declaration, ',')) {
            const std::string_view name = part.substr(part.find_last_of(" \t") + 1);
            body.scope_registers.back()[name] = fresh(); // of a family, "%r<9>", nobody asks by that name
        }
    } else if (declaration.starts_with(".param") || declaration.starts_with(".local")) {
        local_place(*body.frame, variable_of(declaration));
    } else if (declaration.starts_with(".shared")) {
        place_shared(variable_of(declaration));
    } else if (!declaration.starts_with(".pragma")) {
        give_up(program_.name + ": " + std::string(declaration));
    }
}

void Translator::put_instruction(Body &body, const Statement &statement) {
    const Opcode opcode(statement.text);
    const std::string_view name = opcode.words[0];
    if (name == "call") {
        put_call(body, statement);
        return;
    }
    if (name == "mov" && opcode.last() != "pred") {
        put_move(body, statement);
        return;
    }
    if (name == "ld" || name == "atom" || name == "red" || (name == "st" && !opcode.has("async"))) {
        put_access(body, statement, opcode);
        if (program_.code.back().execute == nullptr) {
            give_up("not emulated: " + std::string(statement.text));
        }
        return;
    }
    Instruction i = begun(body, statement);
    if (name == "bra" || name == "ret" || name == "exit") {
        i.control = name == "bra" || !body.is_kernel ? Control::branch : Control::end;
        if (name == "bra") {
            body.jumps.emplace_back(program_.code.size(), Label{statement.operands[0], body.scopes});
        } else if (!body.is_kernel) {
            body.returns.push_back(program_.code.size());
        }
        add(i);
        return;
    }
    for (const std::string_view operand : statement.operands) {
        add_operand(body, i, operand);
        // Instructions that may have a second result always have one here.
        if (i.count == 1 && (name == "setp" || name == "shfl" || opcode.text.starts_with("match.all"))) {
            i.o[static_cast<std::size_t>(i.count++)] = fresh();
        }
    }
    i.control = control_of(opcode);
    i.execute = execution_of(opcode);
    i.of_all = opcode.has("and");
    const bool is_known = i.control == Control::block_barrier ? i.count >= 1 && i.count <= 3 : i.execute != nullptr;
    if (!is_known) {
        give_up("not emulated: " + std::string(statement.text));
    }
    add(i);
}

void Translator::put(Body &body, const Statement &statement) {
    line_ = statement.line;
    switch (statement.kind) {
    case Statement::Kind::open_scope:
        body.scopes.push_back(++body.scopes_opened);
        body.scope_registers.emplace_back();
        break;
    case Statement::Kind::close_scope:
        body.scopes.pop_back();
        body.scope_registers.pop_back();
        break;
    case Statement::Kind::label:
        body.labels[{body.scopes.back(), statement.text}] = static_cast<int>(program_.code.size());
        break;
    case Statement::Kind::declaration:
        declare(body, statement.text);
        break;
    case Statement::Kind::instruction:
        put_instruction(body, statement);
        break;
    }
}

void Translator::resolve(Body &body) {
    for (const auto &[at, label] : body.jumps) {
        auto found = body.labels.end();
        for (auto scope = label.scopes.rbegin(); scope != label.scopes.rend() && found == body.labels.end(); ++scope) {
            found = body.labels.find({*scope, label.name});
        }
        if (found == body.labels.end()) {
            give_up(program_.name + ": no label " + std::string(label.name));
        }
        program_.code[at].target = found->second;
    }
    for (const std::size_t at : body.returns) {
        program_.code[at].target = static_cast<int>(program_.code.size());
    }
}

void Translator::put_body(const Function &function, Frame &frame) {
    Body body;
    body.frame = &frame;
    body.is_kernel = function.is_kernel;
    for (const Statement &statement : statements_of(function)) {
        put(body, statement);
    }
    resolve(body);
}

void Translator::translate(const Function &kernel) {
    program_.name = kernel.name;
    program_.most_threads = kernel.most_threads;
    for (const Variable &argument : kernel.parameters) {
        const std::size_t place = rounded_up(program_.argument_bytes, std::max<std::size_t>(argument.alignment, 1));
        argument_places_[argument.name] = place;
        program_.arguments.push_back(place);
        program_.argument_sizes.push_back(argument.bytes);
        program_.argument_bytes = place + argument.bytes;
    }
    std::vector<Variable> launched;
    std::size_t alignment = 16;
    for (const Variable &variable : module_.shared()) {
        if (variable.bytes == 0) {
            launched.push_back(variable);
            alignment = std::max(alignment, variable.alignment);
        }
    }
    // What the launch adds lies behind what functions declare, which is known only when all of them are read.
    Frame frame;
    for (int pass = 0; pass < 2; ++pass) {
        for (const Variable &variable : launched) {
            shared_places_[variable.name] = rounded_up(program_.shared_bytes, alignment);
        }
        program_.code.clear();
        put_body(kernel, frame);
        Instruction end;
        end.control = Control::end;
        add(end);
    }
    program_.shared_bytes = launched.empty() ? program_.shared_bytes : rounded_up(program_.shared_bytes, alignment);
}

} // namespace

Program program_of(const Module &module, const Function &kernel) {
    Program program;
    Translator(module, program).translate(kernel);
    reuse_registers(program);
    return program;
}

} // namespace emulator
