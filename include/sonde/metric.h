/* A metric of your own in tensor mode: one more column in the result of `sonde probe compare`.
 *
 * Build a shared library that defines the three functions below and name it on the command line:
 *
 *   cc -shared -fPIC -o mean_error.so mean_error.c
 *   sonde probe compare ... --metric ./mean_error.so
 *
 * sonde_metric_compare() is called from several threads at once, each time with another pair of
 * tensors, and must not keep the pointers. It runs inside the comparison: a crash ends it.
 */
#ifndef SONDE_METRIC_H_
#define SONDE_METRIC_H_

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#define SONDE_METRIC_VERSION 1

/* One side. Values are in row-major order, converted to double; complex numbers give two each. */
typedef struct {
  const double* values;
  size_t value_count;
  const int64_t* shape;
  size_t dimensions;
} sonde_metric_tensor;

/* SONDE_METRIC_VERSION of the header that the library was built with. */
int sonde_metric_version(void);

/* The column's name; must differ from all other columns. The text must live as long as the library.
 */
const char* sonde_metric_name(void);

/* Writes the cell, a text with a zero at its end, into `text` of `size` bytes and returns 0; any
 * other value makes the cell `unsupported`. */
int sonde_metric_compare(const sonde_metric_tensor* target, const sonde_metric_tensor* golden,
                         char* text, size_t size);

#ifdef __cplusplus
}
#endif

#endif /* SONDE_METRIC_H_ */
