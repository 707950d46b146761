/*
 * How often a test repeats what is alike each time. ThreadSanitizer makes a repetition twenty times as slow, and finds no more in it
 * than in the first ones; the other builds make all of them.
 */
#ifndef TESTS_UNIT_ROUNDS_H
#define TESTS_UNIT_ROUNDS_H

/* STRIDE: from one place to the next, where places are tried one after the other. */
#if defined(__SANITIZE_THREAD__)
#define ROUNDS(n) (((n) + 9) / 10)
enum { STRIDE = 4 };
#else
#define ROUNDS(n) (n)
enum { STRIDE = 1 };
#endif

#endif
