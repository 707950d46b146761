#include "chains.h"

#include <bsd/string.h>
#include <errno.h>
#include <jansson.h>

#include "source.h"

struct walk {
	chain_fn *fn;
	void *arg;
};

static int line_take(void *arg, char *line, size_t len)
{
	const struct walk *walk = arg;
	json_t *object = json_loadb(line, len, 0, NULL);
	struct chain chain = {
		.chain = (unsigned int)json_integer_value(json_object_get(object, "chain")),
		.own = json_is_true(json_object_get(object, "own")),
		.last = (uint64_t)json_integer_value(json_object_get(object, "last")),
	};
	int rc = 0;

	if (object != NULL) {
		(void)strlcpy(chain.host, source_text(object, "host"), sizeof(chain.host));
		(void)strlcpy(chain.anchor, source_text(object, "anchor"), sizeof(chain.anchor));
		rc = walk->fn(walk->arg, &chain);
	}
	json_decref(object);
	return rc;
}

int chains_each(const struct mount *mount, chain_fn *fn, void *arg)
{
	struct walk walk = { fn, arg };
	int rc = mount_lines(mount, "events/chains", line_take, &walk);

	return rc == -ENOENT ? 1 : rc < 0 ? rc : 0;
}

static int own_take(void *arg, const struct chain *chain)
{
	unsigned int *own = arg;

	if (chain->own)
		*own = chain->chain;
	return 0;
}

unsigned int chains_own(const struct mount *mount)
{
	unsigned int own = 0;

	(void)chains_each(mount, own_take, &own);
	return own;
}
