/* Memory as the system counts it. Private to core/. */
#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H

#include <stdint.h>

/* Bytes of this process that are in memory, and bytes the host could still give to processes. 0: not known. */
uint64_t memory_resident(void);
uint64_t memory_available(void);

#endif
