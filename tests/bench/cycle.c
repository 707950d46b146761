/*
 * Locks taken and given back as often as fits.
 *
 *	bench_cycle [-p PROCESSES] [-t SECONDS | -n CYCLES] [-a] DIRECTORY
 *
 * DIRECTORY may have a '%' for the number of the process; with -a locks are named by their whole path (work_cycle.h).
 * Prints the cycles a second of all processes together.
 */
#include <bsd/stdlib.h>
#include <err.h>
#include <stdio.h>
#include <stdlib.h>
#include <unistd.h>

#include "work_cycle.h"

static long long number_option(const char *text, long long max)
{
	const char *wrong = NULL;
	long long value = strtonum(text, 1, max, &wrong);

	if (wrong != NULL)
		errx(2, "%s: %s", text, wrong);
	return value;
}

int main(int argc, char **argv)
{
	struct cycle cycle = { .directory = NULL };
	unsigned int processes = 1;
	double seconds = 1;
	uint64_t cycles = 0;
	int c;

	while ((c = getopt(argc, argv, "p:t:n:a")) != -1) {
		switch (c) {
		case 'p': processes = (unsigned int)number_option(optarg, PROCS_MAX); break;
		case 'n': cycles = (uint64_t)number_option(optarg, LLONG_MAX); break;
		case 't': seconds = strtod(optarg, NULL); break;
		case 'a': cycle.absolute = true; break;
		default: return 2;
		}
	}
	if (argc - optind != 1 || seconds <= 0) {
		fputs("usage: bench_cycle [-p PROCESSES] [-t SECONDS | -n CYCLES] [-a] DIRECTORY\n", stderr);
		return 2;
	}
	cycle.directory = argv[optind];
	printf("%.1f\n", procs_rate(&work_cycle, &cycle, processes, seconds, cycles));
	return 0;
}
