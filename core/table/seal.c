#include "seal.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "meta.h"
#include "table.h"
#include "why.h"

/*
 * A sealed value: version (1), id of the key (8), nonce (24), the encrypted text, its tag (16). Version, id and the key
 * in the store are authenticated with the text. No plain text begins with a control byte.
 */
#define SEAL_VERSION 1
#define SEAL_HEADER (1 + SEAL_ID)
#define SEAL_NONCE crypto_aead_xchacha20poly1305_ietf_NPUBBYTES

_Static_assert(SEAL_BYTES == crypto_aead_xchacha20poly1305_ietf_KEYBYTES, "the cipher's key");
_Static_assert(SEAL_OVERHEAD == SEAL_HEADER + SEAL_NONCE + crypto_aead_xchacha20poly1305_ietf_ABYTES, "as described");

bool seal_is(struct slice value)
{
	return value.len > 0 && *(const unsigned char *)value.data < ' ';
}

struct slice seal_value_id(struct slice value)
{
	if (!seal_is(value) || value.len < SEAL_OVERHEAD)
		return (struct slice){ NULL, 0 };
	return (struct slice){ (const unsigned char *)value.data + 1, SEAL_ID };
}

/* Additional authenticated data. */
struct seal_context {
	size_t len;
	unsigned char data[SEAL_HEADER + STORE_KEY_MAX];
};

static struct seal_context context_of(const unsigned char *header, struct slice at)
{
	struct seal_context context = { .len = SEAL_HEADER + at.len };

	memcpy(context.data, header, SEAL_HEADER);
	memcpy(context.data + SEAL_HEADER, at.data, at.len);
	return context;
}

int seal_wrap(const struct seal_key *key, struct slice at, struct slice text, unsigned char **out, size_t *len)
{
	struct seal_context context;
	unsigned char *value;

	if (at.len > STORE_KEY_MAX)
		return -EINVAL;
	value = malloc(SEAL_OVERHEAD + text.len);
	if (value == NULL)
		return -ENOMEM;
	value[0] = SEAL_VERSION;
	memcpy(value + 1, key->id, SEAL_ID);
	randombytes_buf(value + SEAL_HEADER, SEAL_NONCE);
	context = context_of(value, at);
	crypto_aead_xchacha20poly1305_ietf_encrypt(value + SEAL_HEADER + SEAL_NONCE, NULL, text.data, text.len,
						   context.data, context.len, NULL, value + SEAL_HEADER, key->bytes);
	*out = value;
	*len = SEAL_OVERHEAD + text.len;
	return 0;
}

static const struct seal_key *key_find(const struct seal *seal, struct slice id)
{
	for (size_t i = 0; seal != NULL && i < seal->count; i++)
		if (memcmp(seal->keys[i].id, id.data, SEAL_ID) == 0)
			return &seal->keys[i];
	return NULL;
}

int seal_unwrap(const struct seal *seal, struct slice at, struct slice value, char **out, size_t *len)
{
	const unsigned char *bytes = value.data;
	const struct seal_key *key;
	struct seal_context context;
	char *text;

	if (!seal_is(value) || at.len > STORE_KEY_MAX)
		return -EBADMSG;
	if (bytes[0] != SEAL_VERSION)
		return -EPROTONOSUPPORT;
	if (value.len < SEAL_OVERHEAD)
		return -EBADMSG;
	key = key_find(seal, seal_value_id(value));
	if (key == NULL)
		return -ENOKEY;
	text = malloc(value.len - SEAL_OVERHEAD + 1);
	if (text == NULL)
		return -ENOMEM;
	context = context_of(bytes, at);
	if (crypto_aead_xchacha20poly1305_ietf_decrypt((unsigned char *)text, NULL, NULL,
						       bytes + SEAL_HEADER + SEAL_NONCE,
						       value.len - SEAL_HEADER - SEAL_NONCE, context.data, context.len,
						       bytes + SEAL_HEADER, key->bytes) != 0) {
		free(text);
		return -EBADMSG;
	}
	*out = text;
	*len = value.len - SEAL_OVERHEAD;
	text[*len] = '\0';
	return 0;
}

int seal_get(struct op *op, const struct record_key *key, struct seal_text *out)
{
	struct slice at = record_key_slice(key);
	struct slice value = { NULL, 0 };
	int rc = store_get(op->txn, at, &value);

	*out = (struct seal_text){ .text = value };
	if (rc != 0 || !seal_is(value))
		return rc;
	out->text = (struct slice){ NULL, 0 };
	rc = seal_unwrap(op->al->seal, at, value, &out->opened, &out->text.len);
	if (rc < 0)
		return rc == -ENOMEM ? rc : op_corrupt(op, at, rc);
	out->text.data = out->opened;
	return 0;
}

void seal_text_free(struct seal_text *text)
{
	if (text->opened != NULL)
		sodium_memzero(text->opened, text->text.len);
	free(text->opened);
	*text = (struct seal_text){ .opened = NULL };
}

int seal_put(struct op *op, const struct record_key *key, struct slice text)
{
	const struct seal *seal = op->al->seal;
	struct slice at = record_key_slice(key);
	unsigned char *sealed;
	size_t len;
	int rc;

	if (text.len == 0) {
		rc = store_del(op->txn, at);
		return rc < 0 ? rc : 0;
	}
	if (seal == NULL || !seal->writes)
		return store_put(op->txn, at, text);
	rc = seal_wrap(&seal->keys[0], at, text, &sealed, &len);
	if (rc < 0)
		return rc;
	rc = store_put(op->txn, at, (struct slice){ sealed, len });
	free(sealed);
	return rc;
}

int seal_merge(struct op *op, const struct record_key *key, struct slice lines, bool replace)
{
	struct seal_text old = { .opened = NULL };
	char *merged = NULL;
	size_t len = 0;
	int rc = replace ? 0 : seal_get(op, key, &old);

	if (rc >= 0)
		rc = meta_merge(old.text.data, old.text.len, lines.data, lines.len, &merged, &len, op->why);
	if (rc >= 0) {
		rc = seal_put(op, key, (struct slice){ merged, len });
		sodium_memzero(merged, len);
		free(merged);
	}
	seal_text_free(&old);
	return rc;
}

int seal_move(struct op *op, const struct record_key *from, const struct record_key *to)
{
	struct seal_text text;
	struct slice value;
	int rc = seal_get(op, from, &text);

	if (rc >= 0) {
		rc = seal_put(op, to, text.text);
	} else if (rc == -EIO && store_get(op->txn, record_key_slice(from), &value) == 0) {
		why_clear(op->why);
		rc = store_put(op->txn, record_key_slice(to), value);
	}
	seal_text_free(&text);
	return rc;
}

int seal_check(struct op *op, struct slice key, struct slice value)
{
	struct seal_text text = { .opened = NULL };
	int rc = seal_is(value) ? seal_unwrap(op->al->seal, key, value, &text.opened, &text.text.len) : 0;

	seal_text_free(&text);
	return rc;
}
