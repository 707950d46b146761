#include "core_bare.h"

#include "txn_run.h"

#include <err.h>
#include <stdlib.h>
#include <string.h>

#define MAP_SIZE ((size_t)1 << 32)
#define VALUE_SIZE 144 /* about what the record of a lock takes */

enum step { STEP_PUT, STEP_DELETE, STEP_COMMIT };

struct step_head {
	uint32_t step; /* enum step */
	uint32_t key_len;
	uint32_t value_len;
};

static void check(int rc)
{
	if (rc != 0)
		errx(1, "LMDB: %s", mdb_strerror(rc));
}

void bare_open(struct bare *bare, const char *dir, bool sync)
{
	MDB_txn *txn;

	check(mdb_env_create(&bare->env));
	check(mdb_env_set_mapsize(bare->env, MAP_SIZE));
	check(mdb_env_open(bare->env, dir, sync ? 0 : MDB_NOSYNC, 0600));
	check(mdb_txn_begin(bare->env, NULL, 0, &txn));
	check(mdb_dbi_open(txn, NULL, 0, &bare->dbi));
	check(mdb_txn_commit(txn));
}

void bare_close(struct bare *bare)
{
	mdb_env_close(bare->env);
}

void bare_pair(void *arg, unsigned int thread, uint64_t turn)
{
	struct bare *bare = arg;
	unsigned char bytes[VALUE_SIZE];
	MDB_val key = { sizeof(thread), &thread };
	MDB_val value = { sizeof(bytes), bytes };
	MDB_txn *txn;

	memset(bytes, (int)(turn & UINT8_MAX), sizeof(bytes));
	check(mdb_txn_begin(bare->env, NULL, 0, &txn));
	check(mdb_put(txn, bare->dbi, &key, &value, 0));
	check(mdb_txn_commit(txn));
	check(mdb_txn_begin(bare->env, NULL, 0, &txn));
	check(mdb_del(txn, bare->dbi, &key, NULL));
	check(mdb_txn_commit(txn));
}

/* --- Recording --- */

static struct tape *recording;

static void tape_add(struct tape *tape, const void *data, size_t len)
{
	if (tape->len + len > tape->cap) {
		tape->cap = 2 * tape->cap + len;
		tape->data = realloc(tape->data, tape->cap);
		if (tape->data == NULL)
			err(1, "realloc");
	}
	if (data != NULL)
		memcpy(tape->data + tape->len, data, len);
	tape->len += len;
}

static int tape_write(void *arg, const struct txn_write *write)
{
	struct tape *tape = arg;
	struct step_head head = {
		.step = write->value.data != NULL ? STEP_PUT : STEP_DELETE,
		.key_len = (uint32_t)write->key.len,
		.value_len = (uint32_t)write->value.len,
	};

	tape_add(tape, &head, sizeof(head));
	tape_add(tape, write->key.data, write->key.len);
	tape_add(tape, write->value.data, write->value.len);
	tape->bytes += write->key.len + write->value.len;
	return 0;
}

struct recorded_call {
	store_fn *fn;
	void *arg;
};

static int recorded_run(struct store_txn *txn, void *arg)
{
	const struct recorded_call *call = arg;
	const struct step_head commit = { .step = STEP_COMMIT };
	int rc = call->fn(txn, call->arg);

	if (rc >= 0 && recording != NULL) {
		const struct writes *writes = txn_commit(txn).writes;

		for (size_t i = 0; i < writes->count; i++)
			tape_write(recording, writes->list[i]);
		tape_add(recording, &commit, sizeof(commit));
		recording->commits++;
	}
	return rc;
}

static int recorded_update(struct engine *engine, store_fn *fn, void *arg)
{
	struct recorded_call call = { fn, arg };

	return store_lmdb.update(engine, recorded_run, &call);
}

const struct store_engine *tape_engine(void)
{
	static struct store_engine engine;

	engine = store_lmdb;
	engine.update = recorded_update;
	return &engine;
}

void tape_record(struct tape *tape)
{
	recording = tape;
}

void tape_free(struct tape *tape)
{
	free(tape->data);
	*tape = (struct tape){ .data = NULL };
}

/* --- Replaying --- */

static void replay_commit(struct replay *replay)
{
	struct step_head head;
	MDB_txn *txn;

	if (replay->at == replay->tape->len)
		replay->at = 0;
	check(mdb_txn_begin(replay->bare->env, NULL, 0, &txn));
	for (;;) {
		unsigned char *bytes = replay->tape->data + replay->at + sizeof(head);

		memcpy(&head, bytes - sizeof(head), sizeof(head));
		replay->at += sizeof(head) + head.key_len + head.value_len;
		if (head.step == STEP_COMMIT)
			break;
		MDB_val key = { head.key_len, bytes };
		MDB_val value = { head.value_len, bytes + head.key_len };
		if (head.step == STEP_PUT)
			check(mdb_put(txn, replay->bare->dbi, &key, &value, 0));
		else
			check(mdb_del(txn, replay->bare->dbi, &key, NULL));
	}
	check(mdb_txn_commit(txn));
}

void replay_pair(void *arg, unsigned int thread, uint64_t turn)
{
	(void)thread;
	(void)turn;
	replay_commit(arg);
	replay_commit(arg);
}
