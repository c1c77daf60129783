#include "torch/kernels.h"

#include "library.h"
#include "torch/dimensions.h"
#include "torch/inside.h"
#include "torch/jobs.h"

#include <stdio.h>
#include <string.h>

/* What the general way, in Python, has to say about the job that this thread gave it. */
static _Thread_local char failure[1024];

/* ---- values */

static TorchValue value_of(const void *pointer) { return (TorchValue)(uintptr_t)pointer; }

static TorchTensor *tensor_of(TorchValue value) { return (TorchTensor *)(uintptr_t)value; }

static int truth_of(TorchValue value) { return (uint8_t)value != 0; }

/* What lies behind an option; 0 and `given` 0 where there is nothing. */
static TorchValue take_option(TorchValue option, int *given) {
    TorchValue *place = (TorchValue *)(uintptr_t)option;
    *given = place != NULL;
    if (place == NULL) {
        return 0;
    }
    TorchValue value = *place;
    torch.delete_value(place);
    return value;
}

static int32_t take_type(TorchValue option) {
    int given = 0;
    TorchValue value = take_option(option, &given);
    return given ? (int32_t)value : NO_TYPE;
}

/* ---- dimensions */

static TorchList *list_of(TorchValue value) { return (TorchList *)(uintptr_t)value; }

/* An empty list is all of them, as PyTorch has it. */
static Dimensions listed_dimensions(TorchValue list, int given, int rank) {
    Dimensions found = {0, 0, 0, 0};
    size_t size = 0;
    if (given) {
        (void)torch.list_size(list_of(list), &size);
    }
    for (size_t i = 0; i < size && !found.wrong; ++i) {
        TorchValue item = 0;
        (void)torch.list_item(list_of(list), i, &item);
        add_one_dimension(&found, rank, (int64_t)item);
    }
    found.chosen = size == 0 ? all_dimensions(rank).chosen : found.chosen & all_dimensions(rank).chosen;
    return found;
}

static Dimensions take_list(TorchValue list, int given, int rank) {
    Dimensions found = listed_dimensions(list, given, rank);
    if (given) {
        (void)torch.delete_list(list_of(list));
    }
    return found;
}

/* ---- endings */

/* Nothing of ours is held when PyTorch's exceptions go through these frames. */
static void fail(const char *message) {
    char text[sizeof failure + 32];
    (void)snprintf(text, sizeof text, "warp_reduce: %s", message);
    torch.fail("warp_reduce", __FILE__, __LINE__, text);
}

/* An operator in Python, which takes over the values' tensors; what it gives is the first of them. */
static void call_python(const char *name, const char *overload, TorchValue *values) {
    failure[0] = 0;
    if (torch.call(name, overload, values, TORCH_INTERFACE) != 0) {
        fail("the general way is not there; is the package whole?");
    }
    if (failure[0] != 0) {
        (void)torch.delete_tensor(tensor_of(values[0]));
        torch.fail("warp_reduce", __FILE__, __LINE__, failure);
    }
}

/* Gives a job to Python, with the arguments' tensors. */
static void go_the_general_way(const char *operator_name, TorchValue *stack, const TorchValue *arguments,
                               size_t count) {
    TorchValue values[8];
    memcpy(values, arguments, count * sizeof *values);
    call_python(operator_name, "", values);
    stack[0] = values[0];
}

/* 1: the outcome is on the stack, or thrown. 0: the general way is left, and the tensors are still held. */
static int is_settled(Outcome outcome, TorchValue *stack, TorchTensor *first, TorchTensor *second) {
    let_arguments_go();
    if (outcome.tensor == NULL && outcome.message == NULL) {
        return 0;
    }
    (void)torch.delete_tensor(first);
    if (second != NULL) {
        (void)torch.delete_tensor(second);
    }
    if (outcome.message != NULL) {
        fail(outcome.message);
    }
    stack[0] = value_of(outcome.tensor);
    return 1;
}

/* Why a tensor could not be viewed. */
static const char *no_view(TorchTensor *x) {
    int64_t rank = 0;
    return torch.get_dim(x, &rank) == 0 && rank > MOST_DIMENSIONS ? "only tensors with up to 64 dims are supported"
                                                                  : "PyTorch does not say where the tensor is";
}

static void throw_dimension(Dimensions found, int rank, TorchTensor *x) {
    (void)torch.delete_tensor(x);
    if (found.wrong) {
        (void)torch.wrap_dimension(found.dimension, rank, 1);
    }
    fail("a dimension appears multiple times in the list of dims");
}

static void reduce(TorchValue *stack, wr_op op, Dimensions found, int keepdim, int32_t type) {
    TorchTensor *handle = tensor_of(stack[0]);
    Reduction job = {op, found.chosen, keepdim, type};
    Tensor x;
    if (view_tensor(handle, &x) != 0) {
        const char *why = no_view(handle);
        (void)torch.delete_tensor(handle);
        fail(why);
    }
    if (found.wrong || found.twice) {
        throw_dimension(found, x.shape.rank, handle);
    }
    hold_arguments(handle, NULL);
    if (!is_settled(reduce_tensor(&x, &job), stack, handle, NULL)) {
        TorchValue arguments[] = {stack[0], (TorchValue)op, found.chosen, (TorchValue)(keepdim != 0),
                                  (TorchValue)(int64_t)type};
        go_the_general_way("warp_reduce::_general_reduce", stack, arguments, 5);
    }
}

static int rank_of(TorchValue tensor) {
    int64_t rank = 0;
    (void)torch.get_dim(tensor_of(tensor), &rank);
    return (int)rank;
}

/* ---- kernels by what their arguments are */

/* (self, *, dtype?) */
static void reduce_whole(TorchValue *stack, wr_op op) {
    int32_t type = take_type(stack[1]);
    reduce(stack, op, one_dimension(0, 0, rank_of(stack[0])), 0, type);
}

/* (self, dims?, keepdim, *, dtype?) */
static void reduce_some(TorchValue *stack, wr_op op) {
    int given = 0;
    TorchValue list = take_option(stack[1], &given);
    Dimensions found = take_list(list, given, rank_of(stack[0]));
    reduce(stack, op, found, truth_of(stack[2]), take_type(stack[3]));
}

/* (self, dims, keepdim) */
static void reduce_listed(TorchValue *stack, wr_op op) {
    reduce(stack, op, take_list(stack[1], 1, rank_of(stack[0])), truth_of(stack[2]), NO_TYPE);
}

/* (self, dim, keepdim, *, dtype?) */
static void reduce_one(TorchValue *stack, wr_op op) {
    Dimensions found = one_dimension((int64_t)stack[1], 1, rank_of(stack[0]));
    reduce(stack, op, found, truth_of(stack[2]), take_type(stack[3]));
}

/* (self, dim?, keepdim) */
static void reduce_one_or_whole(TorchValue *stack, wr_op op) {
    int given = 0;
    int64_t dimension = (int64_t)take_option(stack[1], &given);
    reduce(stack, op, one_dimension(dimension, given, rank_of(stack[0])), truth_of(stack[2]), NO_TYPE);
}

/* (self, ord, dims?, keepdim, *, dtype?), ord being 1, 2 or infinity */
static void norm(TorchValue *stack) {
    double order = 0;
    int given = 0;
    memcpy(&order, &stack[1], sizeof order);
    TorchValue list = take_option(stack[2], &given);
    Dimensions found = take_list(list, given, rank_of(stack[0]));
    wr_op op = order == 2 ? WR_NORM_L2 : order == 1 ? WR_NORM_L1 : WR_NORM_MAX;
    reduce(stack, op, found, truth_of(stack[3]), take_type(stack[4]));
}

static Tensor view_rows(TorchValue value, TorchTensor *other, Dimensions *found, int64_t dimension) {
    Tensor x;
    int known = view_tensor(tensor_of(value), &x) == 0;
    *found = one_dimension(dimension, 1, known ? x.shape.rank : 0);
    if (!known || found->wrong) {
        if (other != NULL) {
            (void)torch.delete_tensor(other);
        }
        throw_dimension(*found, known ? x.shape.rank : 0, tensor_of(value));
    }
    return x;
}

static void softmax_rows(TorchValue *stack, int log, int32_t type) {
    Dimensions found;
    Tensor x = view_rows(stack[0], NULL, &found, (int64_t)stack[1]);
    Rows job = {log, index_of(found), type};
    hold_arguments(x.handle, NULL);
    if (!is_settled(softmax_tensor(&x, &job), stack, x.handle, NULL)) {
        TorchValue arguments[] = {stack[0], (TorchValue)(log != 0), (TorchValue)job.dimension,
                                  (TorchValue)(int64_t)type};
        go_the_general_way("warp_reduce::_general_softmax", stack, arguments, 4);
    }
}

/* (self, dim, half_to_float) */
static void aten_softmax_rows(TorchValue *stack, int log) {
    enum { FLOAT32 = 6 };
    softmax_rows(stack, log, truth_of(stack[2]) ? FLOAT32 : NO_TYPE);
}

/* (self, dim, dtype?) */
static void own_softmax_rows(TorchValue *stack, int log) { softmax_rows(stack, log, take_type(stack[2])); }

/* The operator `name` of `values`, whose tensors it takes over; what it gives is the first of them. */
static void call_operator(const char *name, const char *overload, TorchValue *values) {
    failure[0] = 0;
    if (torch.call(name, overload, values, TORCH_INTERFACE) != 0) {
        fail(failure[0] != 0 ? failure : "PyTorch refused an operator");
    }
}

/* Puts the tensor on the stack into another type, without the dispatcher; 0 where it is needed. */
static int is_converted(TorchValue *stack, int32_t type) {
    Tensor x;
    TorchTensor *made = NULL;
    if (torch.copy != NULL && dtype_of_type(type) != 0 && view_tensor(tensor_of(stack[0]), &x) == 0 && x.dtype != 0) {
        hold_arguments(x.handle, NULL);
        made = new_result(x.shape.rank, x.sizes, type, &x);
        let_arguments_go();
    }
    if (made == NULL) {
        return 0;
    }
    hold_arguments(x.handle, made);
    (void)torch.copy(made, x.handle, 0);
    let_arguments_go();
    (void)torch.delete_tensor(x.handle);
    stack[0] = value_of(made);
    return 1;
}

/* (self, dim, dtype?) above the gradients. PyTorch converts there first, but for f16 and a result of f32, which GPUs
 * have in one step. */
static void softmax_above(TorchValue *stack, int log) {
    enum { FLOAT16 = 5, FLOAT32 = 6, COPY_OPTIONS = 5 };
    int32_t own = 0, type = take_type(stack[2]);
    TorchTensor *x = tensor_of(stack[0]);
    int rank = rank_of(stack[0]);
    Dimensions found = one_dimension((int64_t)stack[1], 1, rank);
    (void)torch.get_dtype(x, &own);
    if (found.wrong) {
        throw_dimension(found, rank, x);
    }
    int in_one_step = type == FLOAT32 && own == FLOAT16;
    int dtype = dtype_of_type(own);
    if (type == NO_TYPE && dtype >= WR_I8 && dtype <= WR_U64) {
        TorchValue arguments[] = {stack[0], (TorchValue)(log != 0), (TorchValue)index_of(found), (TorchValue)NO_TYPE};
        go_the_general_way("warp_reduce::_general_softmax", stack, arguments, 4); /* for PyTorch's refusal */
        return;
    }
    int converts = type != NO_TYPE && type != own && !in_one_step;
    if (goes_at_once(x) && (!converts || is_converted(stack, type))) {
        softmax_rows(stack, log, type);
        return;
    }
    if (converts) {
        TorchValue conversion[COPY_OPTIONS] = {stack[0], (TorchValue)type, 0, 0, 0};
        call_operator("aten::to", "dtype", conversion);
        stack[0] = conversion[0];
    }
    stack[2] = (TorchValue)in_one_step;
    call_operator(log ? "aten::_log_softmax" : "aten::_softmax", "", stack);
}

/* ---- above the gradients */

/* A reduction that has a gradient of ours: where its dimensions and its type stand among the arguments. */
typedef enum Place { NOWHERE, ONE, LIST, OPTION } Place;

typedef struct Above {
    const char *aten, *own, *overload; /* PyTorch's operator, and ours of the same arguments with the gradient */
    Place dimensions;                  /* the second argument */
    int type_at;                       /* 0: there is none */
    TorchKernel kernel;                /* of PyTorch's operator below the gradients */
} Above;

static uint64_t keys_of_gradients;

static Dimensions dimensions_above(const Above *above, const TorchValue *stack, int rank) {
    const TorchValue *option = NULL;
    switch (above->dimensions) {
    case ONE:
        return one_dimension((int64_t)stack[1], 1, rank);
    case LIST:
        return listed_dimensions(stack[1], 1, rank);
    case OPTION:
        option = (const TorchValue *)(uintptr_t)stack[1];
        return listed_dimensions(option == NULL ? 0 : *option, option != NULL, rank);
    default:
        return one_dimension(0, 0, rank);
    }
}

static void drop_arguments(const Above *above, TorchValue *stack) {
    int given = above->dimensions == LIST;
    TorchValue list = above->dimensions == OPTION ? take_option(stack[1], &given) : stack[1];
    if (given) {
        (void)torch.delete_list(list_of(list));
    }
    if (above->type_at != 0) {
        (void)take_type(stack[above->type_at]);
    }
}

static int has_gradient(int32_t type) {
    int dtype = dtype_of_type(type);
    return dtype == WR_F32 || dtype == WR_F64 || dtype == WR_F16 || dtype == WR_BF16;
}

/* Whether PyTorch's operator below the gradients will do, and takes the arguments. */
static int goes_below(const Above *above, const TorchValue *stack) {
    TorchTensor *x = tensor_of(stack[0]);
    int32_t type = NO_TYPE;
    const TorchValue *wanted = above->type_at == 0 ? NULL : (const TorchValue *)(uintptr_t)stack[above->type_at];
    return !has_derivative(x) && torch.get_dtype(x, &type) == 0 && has_gradient(type) &&
           (wanted == NULL || has_gradient((int32_t)*wanted));
}

/* PyTorch's own gradients of these differ from device to device, and once they are compiled. */
static void reduce_above(TorchValue *stack, const Above *above) {
    TorchTensor *x = tensor_of(stack[0]);
    int rank = rank_of(stack[0]);
    Dimensions found = dimensions_above(above, stack, rank);
    if (found.wrong || found.twice) {
        drop_arguments(above, stack);
        throw_dimension(found, rank, x);
    }
    if (!goes_below(above, stack)) {
        call_python(above->own, above->overload, stack);
        return;
    }
    if (is_plain(x)) {
        above->kernel(stack, 0, 0);
        return;
    }
    TorchExclusion exclusion;
    torch.exclude(&exclusion, keys_of_gradients);
    int32_t error = torch.call(above->aten, above->overload, stack, TORCH_INTERFACE);
    torch.include(&exclusion);
    if (error != 0) {
        fail("PyTorch refused an operator");
    }
}

/* (grad_output, output, dim, input_dtype) */
static void softmax_backward_rows(TorchValue *stack, int log) {
    Dimensions found;
    Tensor gradient;
    Tensor output = view_rows(stack[1], tensor_of(stack[0]), &found, (int64_t)stack[2]);
    Rows job = {log, index_of(found), (int32_t)stack[3]};
    Outcome outcome = {NULL, "PyTorch does not say where the gradient is"};
    if (view_tensor(tensor_of(stack[0]), &gradient) == 0) {
        hold_arguments(output.handle, gradient.handle);
        outcome = softmax_backward_tensor(&output, &gradient, &job);
    }
    if (!is_settled(outcome, stack, output.handle, tensor_of(stack[0]))) {
        TorchValue arguments[] = {stack[0], stack[1], (TorchValue)(log != 0), (TorchValue)job.dimension,
                                  (TorchValue)(int64_t)job.type};
        go_the_general_way("warp_reduce::_general_softmax_backward", stack, arguments, 5);
    }
}

/* (x, y, *, dtype?) */
static void dot(TorchValue *stack, int exact) {
    Tensor x, y;
    int32_t type = take_type(stack[2]);
    Outcome outcome = {NULL, "PyTorch does not say where the tensors are"};
    if (view_tensor(tensor_of(stack[0]), &x) == 0 && view_tensor(tensor_of(stack[1]), &y) == 0) {
        hold_arguments(x.handle, y.handle);
        outcome = dot_tensors(&x, &y, exact, type);
    }
    if (!is_settled(outcome, stack, tensor_of(stack[0]), tensor_of(stack[1]))) {
        TorchValue arguments[] = {stack[0], stack[1], (TorchValue)(exact != 0), (TorchValue)(int64_t)type};
        go_the_general_way("warp_reduce::_general_dot", stack, arguments, 4);
    }
}

/* ---- the operators */

#define KERNEL(name, ...)                                                                                              \
    static void name(TorchValue *stack, uint64_t arguments, uint64_t results) {                                        \
        (void)arguments;                                                                                               \
        (void)results;                                                                                                 \
        __VA_ARGS__;                                                                                                   \
    }

KERNEL(sum, reduce_whole(stack, WR_SUM))
KERNEL(sum_dims, reduce_some(stack, WR_SUM))
KERNEL(sum_exact, reduce_some(stack, WR_SUM_EXACT))
KERNEL(mean, reduce_whole(stack, WR_MEAN))
KERNEL(mean_dims, reduce_some(stack, WR_MEAN))
KERNEL(prod, reduce_whole(stack, WR_PRODUCT))
KERNEL(prod_dim, reduce_one(stack, WR_PRODUCT))
KERNEL(prod_dims, reduce_some(stack, WR_PRODUCT))
KERNEL(amax, reduce_listed(stack, WR_MAX))
KERNEL(amin, reduce_listed(stack, WR_MIN))
KERNEL(argmax, reduce_one_or_whole(stack, WR_ARGMAX))
KERNEL(argmin, reduce_one_or_whole(stack, WR_ARGMIN))
KERNEL(logsumexp, reduce_listed(stack, WR_LOGSUMEXP))
KERNEL(vector_norm, norm(stack))
KERNEL(own_dot, dot(stack, 0))
KERNEL(own_dot_exact, dot(stack, 1))
KERNEL(aten_softmax, aten_softmax_rows(stack, 0))
KERNEL(aten_log_softmax, aten_softmax_rows(stack, 1))
KERNEL(softmax_int, softmax_above(stack, 0))
KERNEL(log_softmax_int, softmax_above(stack, 1))
#define REDUCE_ABOVE(name, overload, dimensions, type_at, kernel)                                                      \
    reduce_above(stack, &(Above){"aten::" name, "warp_reduce::_above_" name, overload, dimensions, type_at, kernel})

KERNEL(mean_above, REDUCE_ABOVE("mean", "", NOWHERE, 1, mean))
KERNEL(mean_dims_above, REDUCE_ABOVE("mean", "dim", OPTION, 3, mean_dims))
KERNEL(prod_above, REDUCE_ABOVE("prod", "", NOWHERE, 1, prod))
KERNEL(prod_dim_above, REDUCE_ABOVE("prod", "dim_int", ONE, 3, prod_dim))
KERNEL(logsumexp_above, REDUCE_ABOVE("logsumexp", "", LIST, 0, logsumexp))
KERNEL(own_softmax, own_softmax_rows(stack, 0))
KERNEL(own_log_softmax, own_softmax_rows(stack, 1))
KERNEL(softmax_backward, softmax_backward_rows(stack, 0))
KERNEL(log_softmax_backward, softmax_backward_rows(stack, 1))

typedef struct Operator {
    const char *space, *name;
    TorchKernel kernel;
} Operator;

/* Spaces that are no namespace of PyTorch's: aten's operators above the gradients, and those that PyTorch makes of
 * others on every device. */
#define ABOVE "aten above"
#define MADE_OF_OTHERS "aten above, made of others"

static const Operator operators[] = {
    {"aten", "sum", sum},
    {"aten", "sum.dim_IntList", sum_dims},
    {"aten", "mean", mean},
    {"aten", "mean.dim", mean_dims},
    {"aten", "prod", prod},
    {"aten", "prod.dim_int", prod_dim},
    {"aten", "amax", amax},
    {"aten", "amin", amin},
    {"aten", "argmax", argmax},
    {"aten", "argmin", argmin},
    {"aten", "logsumexp", logsumexp},
    {"aten", "_softmax", aten_softmax},
    {"aten", "_log_softmax", aten_log_softmax},
    {"aten", "_softmax_backward_data", softmax_backward},
    {"aten", "_log_softmax_backward_data", log_softmax_backward},
    {MADE_OF_OTHERS, "softmax.int", softmax_int},
    {MADE_OF_OTHERS, "log_softmax.int", log_softmax_int},
    {ABOVE, "mean", mean_above},
    {ABOVE, "mean.dim", mean_dims_above},
    {ABOVE, "prod", prod_above},
    {ABOVE, "prod.dim_int", prod_dim_above},
    {ABOVE, "logsumexp", logsumexp_above},
    {"warp_reduce", "sum", sum_dims},
    {"warp_reduce", "sum_exact", sum_exact},
    {"warp_reduce", "mean", mean_dims},
    {"warp_reduce", "prod", prod_dims},
    {"warp_reduce", "amax", amax},
    {"warp_reduce", "amin", amin},
    {"warp_reduce", "argmax", argmax},
    {"warp_reduce", "argmin", argmin},
    {"warp_reduce", "logsumexp", logsumexp},
    {"warp_reduce", "norm", vector_norm},
    {"warp_reduce", "dot", own_dot},
    {"warp_reduce", "dot_exact", own_dot_exact},
    {"warp_reduce", "softmax", own_softmax},
    {"warp_reduce", "log_softmax", own_log_softmax},
    {"warp_reduce", "softmax_backward", softmax_backward},
    {"warp_reduce", "log_softmax_backward", log_softmax_backward},
};

/* ---- from Python */

enum { MOST_REGISTRATIONS = 64 };
static TorchLibrary *registrations[MOST_REGISTRATIONS];

PyObject *torch_open(PyObject *module, PyObject *arguments) {
    const char *cpu = NULL, *cuda = NULL;
    (void)module;
    unsigned long long keys = 0;
    if (!PyArg_ParseTuple(arguments, "szK", &cpu, &cuda, &keys)) {
        return NULL;
    }
    keys_of_gradients = keys;
    const char *missing = find_torch(cpu, cuda);
    return missing == NULL ? Py_BuildValue("") : PyUnicode_FromString(missing);
}

static int register_in(TorchLibrary *library, const char *space) {
    for (size_t i = 0; i < sizeof operators / sizeof *operators; ++i) {
        const Operator *each = &operators[i];
        if (strcmp(each->space, space) == 0 &&
            torch.implement(library, each->name, each->kernel, TORCH_INTERFACE) != 0) {
            return -1;
        }
    }
    return 0;
}

PyObject *torch_register(PyObject *module, PyObject *arguments) {
    const char *space = NULL, *key = NULL;
    int number = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "ss", &space, &key)) {
        return NULL;
    }
    while (number < MOST_REGISTRATIONS && registrations[number] != NULL) {
        ++number;
    }
    TorchLibrary *library = NULL;
    if (torch.new_library == NULL || wr_library == NULL || number == MOST_REGISTRATIONS ||
        torch.new_library(strncmp(space, ABOVE, strlen(ABOVE)) == 0 ? "aten" : space, key, __FILE__, __LINE__,
                          &library) != 0) {
        PyErr_SetString(PyExc_ValueError, "PyTorch's dispatcher takes no kernels now");
        return NULL;
    }
    if (register_in(library, space) != 0) {
        (void)torch.delete_library(library);
        PyErr_Format(PyExc_ValueError, "PyTorch's operators of %s are not those that this package knows", space);
        return NULL;
    }
    registrations[number] = library;
    return PyLong_FromLong(number);
}

PyObject *torch_unregister(PyObject *module, PyObject *arguments) {
    int number = 0;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "i", &number)) {
        return NULL;
    }
    if (number < 0 || number >= MOST_REGISTRATIONS || registrations[number] == NULL) {
        PyErr_SetString(PyExc_ValueError, "no such registration");
        return NULL;
    }
    (void)torch.delete_library(registrations[number]);
    registrations[number] = NULL;
    return Py_BuildValue("");
}

PyObject *torch_failed(PyObject *module, PyObject *arguments) {
    const char *message = NULL;
    (void)module;
    if (!PyArg_ParseTuple(arguments, "s", &message)) {
        return NULL;
    }
    (void)snprintf(failure, sizeof failure, "%s", message[0] == 0 ? "the general way failed" : message);
    return Py_BuildValue("");
}
