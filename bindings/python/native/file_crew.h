/* Pieces of files on their way through a GPU: threads that read them, copy them there and call the library, for none of
 * which Python's lock is needed. Python says what is to be done with each piece and takes the results, in order. */
#pragma once

#include "python_abi.h"

/* crew_open(library, driver, context, threads, part_bytes, piece_bytes, output_bytes, room): a capsule, or what failed
 * and its number, as crew_take tells it. driver: the addresses of the functions of crew_work.h, in its order. A piece's
 * inputs are read and copied in parts of part_bytes, by any thread each. piece_bytes: of its arrays, each rounded up to
 * 256, and its workspace at most; output_bytes: of its outputs. At most `room` pieces are put and not yet taken; the
 * GPU has memory for each. */
PyObject *crew_open(PyObject *module, PyObject *arguments);

/* crew_put(crew, call, fields, inputs, outputs, workspace): inputs are (field, file, offset, bytes), outputs (field,
 * address, bytes), two of each at most, workspace is its bytes; the addresses are written before the piece can be
 * taken. */
PyObject *crew_put(PyObject *module, PyObject *arguments);

/* crew_take(crew): of the piece that was put first ("", 0), or what failed and its number: "call" and a wr_status,
 * "read" and an errno (0: the file has ended), a function of the driver and its result. None where it is not done
 * within a short time, so that signals are seen. */
PyObject *crew_take(PyObject *module, PyObject *arguments);

/* crew_close(crew): waits for the threads, and gives all memory back. */
PyObject *crew_close(PyObject *module, PyObject *arguments);
