/*
 * A fuzz target is one file: fuzz_<parser>.c gives bytes to a parser and checks what must hold of the outcome, whatever they are.
 * Built by clang it is explored by coverage (libFuzzer, `make fuzz`); built by gcc, replay.c gives it the seeds and changed copies
 * of them (`make check`). tests/fuzz/seeds/<parser>/ has one input a file.
 */
#ifndef FUZZ_H
#define FUZZ_H

#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* libFuzzer's own names. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What must hold. abort() is what both drivers report, with the input that led to it. */
#define MUST(condition)                                                                 \
	do {                                                                            \
		if (!(condition)) {                                                     \
			fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
			abort();                                                        \
		}                                                                       \
	} while (0)

/* A copy with a NUL behind it, in memory of just that size, so that reading past its end is found. Exits without memory. */
char *fuzz_text(const uint8_t *data, size_t size);

/* The path of a file in memory with these bytes, which every call replaces. */
const char *fuzz_file(const uint8_t *data, size_t size);

#endif
