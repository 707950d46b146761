/* Memory figures from the kernel. Private to core/. */
#ifndef CORE_MEMORY_H
#define CORE_MEMORY_H

#include <stdint.h>

/* Resident bytes of this process, and bytes that the host can still give to processes. 0: unknown. */
uint64_t memory_resident(void);
uint64_t memory_available(void);

#endif
