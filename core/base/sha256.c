#include "sha256.h"

#include <sha2.h>

void sha256(const void *data, size_t len, unsigned char out[SHA256_BYTES])
{
	SHA2_CTX sha;

	SHA256Init(&sha);
	SHA256Update(&sha, data, len);
	SHA256Final(out, &sha);
}
