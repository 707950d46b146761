/*
 * The figures of the project's goals, and what they are made of. A value is one number that a probe finds out, once in
 * every repetition; a figure is computed from the values of one repetition, so that what disturbed both sides of a
 * comparison cancels out.
 *
 *	goals.c            the run: repetition by repetition, probe by probe
 *	goals_probes.c     the table of values and the table of probes
 *	goals_figures.c    the table of figures
 *	goals_report.c     the figures as a table and as JSON; goals_chart.c as a picture
 *	probe_*.c          how each value is found out
 */
#ifndef BENCH_GOALS_H
#define BENCH_GOALS_H

#include <stdbool.h>
#include <stddef.h>

#include "core_report.h"
#include "mounts.h"

/* Rates are per second, times in microseconds, sizes in bytes. */
enum value {
	CYCLE_FLOOR_1,
	CYCLE_FLOOR_8,
	CYCLE_FLOOR_16,
	CYCLE_KEPT_1, /* the floor with cache lifetimes */
	CYCLE_KEPT_8,
	CYCLE_OFF_1,
	CYCLE_OFF_8,
	CYCLE_OFF_16,
	CYCLE_COMMIT_1,
	CYCLE_COMMIT_16,
	LMDB_PAIR,
	REDIS_1,
	REDIS_16,
	ETCD_1,
	ETCD_16,
	SHELL_COMMIT,
	SHELL_OFF,
	SHELL_EXT4,
	SHELL_TMPFS,
	SHELL_REDIS,
	SHELL_ETCD,
	FLOCK_EXT4,
	FLOCK_COMMIT,
	FLOCK_ETCD,
	ROUND_TRIP,
	ROUND_TRIP_P99,
	HAND_OFF_P50,
	HAND_OFF_P99,
	HAND_COMMIT_P50,
	HAND_COMMIT_P99,
	CAT_FLOOR,
	CAT_OFF,
	LS_FLOOR,
	LS_KEPT,
	LS_OFF,
	EMPTY_MOUNT,
	EMPTY_CYCLE,
	EMPTY_ANON,
	HELD_MOUNT,
	HELD_CYCLE,
	HELD_ANON,
	HELD_BYTES,
	GRANT_ONE,
	GRANT_MANY,
	JOIN,
	JOIN_CHECK,
	JOIN_CHECK_FAR,
	PARKED_ANON,
	CACHED_ANON,
	VALUES
};

/* How much of everything. */
struct scale {
	const char *name;
	unsigned int repetitions; /* at most REPETITIONS */
	unsigned int turns;       /* in which rates are taken, within a repetition */
	double seconds;           /* for each rate and turn */
	unsigned int shells;      /* rounds of a shell's loop */
	unsigned int handovers;
	unsigned int files; /* in the directory that is listed */
	unsigned int lists; /* times that it is */
	unsigned int held;
	unsigned int waiters;
	unsigned int parked;
};

/* The run: what probes may look at. */
struct run {
	const struct scale *scale;
	const char *build; /* where the programs are */
	const char *dir;   /* scratch, on the disk that is measured */
	unsigned int redis_port;
	unsigned int etcd_port; /* both 0: no peers in this run */
};

extern struct run run;

struct probe {
	enum value into; /* the first of its values; the others follow */
	unsigned int values;
	void (*measure)(const struct probe *probe, double *out); /* exits if it cannot */
	bool peers;                                              /* needs them */
	bool once;                                               /* in a repetition: not in turns with the others */
	enum place place;
	unsigned int processes;
	const char *script;
};

extern const struct probe probes[];
extern const size_t probes_count;

struct value_name {
	const char *name;
	const char *unit;
};

extern const struct value_name value_names[VALUES];

struct figure {
	const char *number; /* in the list of goals */
	const char *what;
	const char *unit;
	struct goal goal;
	double (*from)(const double *values, const enum value *of);
	enum value of[3];
};

extern const struct figure figures[];
extern const size_t figures_count;

/* What was measured: NAN where it was not. */
struct repetition {
	double values[VALUES];
};

struct series figure_series(const struct figure *figure, const struct repetition *done, unsigned int repetitions);
struct series value_series(enum value value, const struct repetition *done, unsigned int repetitions);

/* How far the figure is above (1 and more) or below its goal; 0 without a goal. */
double figure_reach(const struct figure *figure, double median);

/* "12.3 ×". */
#define NUMBER_TEXT 32
const char *number_unit(double value, const char *unit, char out[NUMBER_TEXT]);

/* Prints both tables in Markdown. */
void goals_print(const struct repetition *done, unsigned int repetitions);

/* Writes them as JSON, and the figures as a chart. Exits if it cannot. */
void goals_save(const char *path, const struct repetition *done, unsigned int repetitions);
void goals_draw(const char *path, const struct repetition *done, unsigned int repetitions);

#endif
