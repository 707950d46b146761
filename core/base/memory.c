#include "memory.h"

#include <inttypes.h>
#include <stdio.h>
#include <unistd.h>

/* The second number of statm is the resident set in pages. */
uint64_t memory_resident(void)
{
	FILE *statm = fopen("/proc/self/statm", "re");
	uint64_t pages = 0;

	if (statm == NULL)
		return 0;
	if (fscanf(statm, "%*u %" SCNu64, &pages) != 1)
		pages = 0;
	(void)fclose(statm);
	return pages * (uint64_t)sysconf(_SC_PAGESIZE);
}

uint64_t memory_available(void)
{
	FILE *meminfo = fopen("/proc/meminfo", "re");
	uint64_t kib = 0;
	char line[128];

	if (meminfo == NULL)
		return 0;
	while (fgets(line, sizeof(line), meminfo) != NULL)
		if (sscanf(line, "MemAvailable: %" SCNu64, &kib) == 1)
			break;
	(void)fclose(meminfo);
	return kib << 10;
}
