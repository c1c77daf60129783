/* Each way of calling a function wrongly is refused with the status of its cause, and nothing is written. */
#include "arguments/bad_arguments.h"

static void check_all(void) {
    check_bad_reductions();
    check_bad_dots();
    check_bad_segments();
    check_bad_softmax();
    check_bad_gradients();
    check_bad_states();
    check_bad_tiles();
}

int main(int argc, char **argv) { return try_refusals(argc, argv, check_all, "every_bad_argument_has_its_code"); }
