/* What warp_reduce.h needs of <stddef.h>. bindgen maps the names; no C library has to be installed. */
#ifndef FREESTANDING_STDDEF_H
#define FREESTANDING_STDDEF_H

typedef __SIZE_TYPE__ size_t;
typedef __PTRDIFF_TYPE__ ptrdiff_t;

#endif
