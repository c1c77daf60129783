/* What warp_reduce.h needs of <stdint.h>. bindgen maps the names; no C library has to be installed. */
#ifndef FREESTANDING_STDINT_H
#define FREESTANDING_STDINT_H

typedef __UINT8_TYPE__ uint8_t;
typedef __INT32_TYPE__ int32_t;
typedef __UINT32_TYPE__ uint32_t;
typedef __INT64_TYPE__ int64_t;
typedef __UINT64_TYPE__ uint64_t;

#endif
